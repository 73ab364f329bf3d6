"""`edgeplace flink discover`, as a user sees it, and that its files are of use."""

import json
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from edgeplace.adapters.flink.plans.plan_file import Schedulercfg, planned_places
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Plan, read
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeTaskManager, now_ms, wordcount

SITES = """\
sites:
  - {id: lyon, hosts: ["10.0.0.[123]"], node_class: pi}
  - {id: cloud, hosts: [server], node_class: server, tier: cloud}
links:
  - {source: lyon, target: cloud, bandwidth_bytes_per_s: 500000, delay_ms: 25, both_ways: true}
"""


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


@pytest.fixture
def discover(edgeplace, flink):
    def run(*more: object):
        return edgeplace("flink", "discover", "--jobmanager", flink.url, *more)

    return run


@pytest.fixture
def sites(tmp_path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(SITES)
    return path


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_machines_and_the_job_are_shown(discover, flink):
    ran = discover()
    assert ran.status is ExitStatus.OK
    assert ran.err == ""
    assert rows(ran.out)[0][:4] == ["Flink", "2.3.0", "at", flink.url]
    assert ["site-1", "pi-1", "default", "4", "pi-1", "10.0.0.1", "2", "1", "GB"] in rows(ran.out)
    assert ["map", "2", "REBALANCE", "Source:", "lines", "pi-1,", "pi-2"] in rows(ran.out)
    assert "note: default: Flink does not know sites" in ran.out


def test_files_are_written_and_understood(discover, edgeplace, sites, tmp_path):
    cluster, job = tmp_path / "cluster.yaml", tmp_path / "job.json"
    ran = discover("--sites", sites, "-o", cluster, "--job-out", job)
    assert ran.status is ExitStatus.OK, ran.err
    assert f"written to {cluster}" in ran.out and f"written to {job}" in ran.out
    assert {s.id for s in read(cluster, Cluster).sites} == {"lyon", "cloud"}

    solved = edgeplace("solve", job, cluster)
    # What is missing is what only a measurement can tell.
    assert solved.status is ExitStatus.INVALID_INPUT
    assert "costs are incomplete" in solved.err and "edgeplace costs" in solved.err


def test_the_same_answer_is_not_written_again(discover, tmp_path):
    files = tmp_path / "cluster.yaml", tmp_path / "job.json"
    discover("-o", files[0], "--job-out", files[1])
    before = [p.stat().st_ino for p in files]
    ran = discover("-o", files[0], "--job-out", files[1])
    assert ran.status is ExitStatus.OK
    assert f"{files[0]} says so already" in ran.out
    assert [p.stat().st_ino for p in files] == before


def test_what_was_filled_in_is_not_overwritten(discover, tmp_path):
    cluster, job = tmp_path / "cluster.yaml", tmp_path / "job.json"
    cluster.write_text("mine")
    ran = discover("-o", cluster, "--job-out", job)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "there already" in ran.err and "cure: " in ran.err
    assert cluster.read_text() == "mine"
    assert not job.exists()


INVENTORY = """\
[sites:children]
lyon
cloud
[sites:vars]
edgeplace_to=cloud
edgeplace_price_per_byte="4 EUR/GB"
edgeplace_cores=2
edgeplace_slots=2
[lyon]
pi-[1:4]
[cloud]
server edgeplace_cores=8 edgeplace_slots=6 edgeplace_price_per_core_hour="0.04 EUR/h"
[cloud:vars]
edgeplace_tier=cloud
"""


def test_an_inventory_says_what_flink_does_not_know(discover, tmp_path):
    (tmp_path / "hosts").write_text(INVENTORY)
    ran = discover("--inventory", tmp_path / "hosts", "-o", tmp_path / "cluster.yaml")
    assert ran.status is ExitStatus.OK, ran.err
    cluster = read(tmp_path / "cluster.yaml", Cluster)
    assert {s.id: s.tier for s in cluster.sites} == {"lyon": "edge", "cloud": "cloud"}
    # Cores by the inventory, slots and memory by Flink.
    assert {n.id: n.cores for n in cluster.nodes} == {
        "pi-1": 2,
        "pi-2": 2,
        "pi-3": 2,
        "pi-4": 2,
        "server": 8,
    }
    known = {t.id: (t.slots, t.memory_bytes) for t in cluster.task_managers}
    assert known == {
        "pi-1": (2, 1e9),
        "pi-2": (2, 1e9),
        "pi-3": (2, 1e9),
        "server": (4, 1e9),
    }
    assert cluster.currency == "EUR"
    assert cluster.node("server").price_per_core_hour == 0.04
    (link,) = cluster.links
    assert (link.source, link.target) == ("lyon", "cloud")
    notes = " ".join(cluster.notes)
    assert "TaskManager 'pi-4' is not registered with Flink: not used" in notes
    assert "slots is 4 in Flink and 6 in the cluster file; Flink's is used" in notes
    assert "node 'server' has 8 cores in the inventory, and its JVM sees 4" in notes
    assert "nodes without a registered TaskManager: pi-4" in notes
    assert "note: nodes without a registered TaskManager: pi-4" in ran.out


def test_a_task_manager_that_the_inventory_lacks_is_an_error(discover, tmp_path):
    (tmp_path / "hosts").write_text(INVENTORY.replace("pi-[1:4]", "pi-[1:2]"))
    ran = discover("--kubernetes", tmp_path / "hosts")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "pi-3 is registered, but the cluster file does not have it" in ran.err


def test_json_has_everything(discover, flink):
    said = json.loads(discover("--json").out)
    assert said["flink"] == "2.3.0"
    assert Cluster.model_validate(said["cluster"]).nodes[0].id == "pi-1"
    assert JobGraph.model_validate(said["job"]).name == "wordcount"
    assert said["placement"][f"{3:032x}"] == ["server"]
    assert said["round_trip_from_here_ms"] is None


def test_ping_says_from_where(discover, flink):
    for tm in flink.task_managers:
        tm.host = "127.0.0.1"
    ran = discover("--ping")
    # Nothing listens there.
    assert "from here" in ran.out and "not between sites" in ran.out


def test_no_job_and_several_jobs(discover, flink, tmp_path):
    flink.submit(wordcount("other", "b" * 32))
    several = discover()
    assert several.status is ExitStatus.OK
    assert "--job says which" in several.out
    assert discover("--job-out", tmp_path / "job.json").status is ExitStatus.INVALID_INPUT
    assert "job other" in discover("--job", "other").out
    unknown = discover("--job", "unknown")
    assert unknown.status is ExitStatus.INVALID_INPUT
    assert "'unknown' does not run" in unknown.err
    flink.jobs.clear()
    assert "Flink runs no job" in discover().out


def test_a_wrong_file_of_sites(discover, tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text("sites: [{id: lyon}]")
    ran = discover("--sites", path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "hosts" in ran.err


def test_the_placement_of_now_is_a_plan_that_moves_nothing(edgeplace, discover, tmp_path, plans):
    plan = tmp_path / "now.schedulercfg"
    with FakeFlink(plans) as flink:
        where = ("--jobmanager", flink.url)
        ran = edgeplace("flink", "discover", *where, "--plan-out", plan)
        assert ran.status is ExitStatus.OK, ran.err
        assert f"edgeplace flink apply {plan} --jobmanager {flink.url}" in ran.out
        assert plan.read_text().splitlines() == [
            "Source: lines (1/2); pi-1",
            "Source: lines (2/2); pi-2",
            "map (1/2); pi-1",
            "map (2/2); pi-2",
            "Sink: out (1/1); server",
        ]
        before = flink.jobs[0].placement
        done = edgeplace("flink", "apply", plan, *where, "--timeout", 3)
        assert done.status is ExitStatus.OK, done.err
        assert (flink.jobs[0].placement, flink.jobs[0].moves) == (before, 0)
        plan.write_text(plan.read_text().replace("map (2/2); pi-2", "map (2/2); pi-3"))
        moved = edgeplace("flink", "apply", plan, *where, "--timeout", 3)
        assert moved.status is ExitStatus.OK, moved.err
        assert flink.jobs[0].placement[f"{2:032x}"] == ("pi-1", "pi-3")


def test_a_name_that_cannot_stand_in_a_plan_goes_by_its_id(discover, flink, tmp_path):
    plan = tmp_path / "now.schedulercfg"
    flink.jobs[0].vertices[1].name = "a; b"
    ran = discover("--plan-out", plan)
    assert f"{2:032x} (1/2); pi-1" in plan.read_text()
    assert f"{2:032x} is task 'a; b'" in ran.out
    # The file of a user who has typed the name is told what to write.
    plan.write_text("a; b (1/2); pi-1\n")
    with FlinkClient(flink.url) as client, pytest.raises(InvalidInputError) as e:
        live = LiveFlink(client)
        graph = live.job_graph("a" * 32)
        planned_places(Schedulercfg(plan.read_text()), graph, live.task_managers(), None, str(plan))
    assert f"write `{2:032x} (1/2); pi-1`" in e.value.what


@pytest.mark.parametrize("place", [None, "gone"])
def test_no_plan_of_subtasks_without_a_place(discover, flink, tmp_path, place):
    plan = tmp_path / "now.schedulercfg"
    flink.jobs[0].vertices[1].places[1] = place
    ran = discover("--plan-out", plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "map (2/2) is " in ran.err and "cure: wait" in ran.err
    assert not plan.exists()


def test_a_plan_has_a_name_that_apply_takes_for_one(discover, tmp_path):
    ran = discover("--plan-out", tmp_path / "now.json")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "end the name in .schedulercfg" in ran.err


class Counting:
    """A counter that is higher each time it is read."""

    def __str__(self) -> str:
        return str(100 * now_ms())


def example_of_sites() -> str:
    """The file of sites that docs/collect.md shows."""
    page = Path(__file__).parents[4] / "docs" / "collect.md"
    if not page.exists():
        pytest.skip(f"{page} is not there")
    return re.search(r"```yaml\n(sites:\n.*?)```", page.read_text(), re.DOTALL)[1]


def test_the_help_shows_the_same_file_of_sites(edgeplace):
    shown = edgeplace("flink", "discover", "--help").out
    told = shown.partition("a file of sites:\n")[2].partition("\n\n")[0]
    assert yaml.safe_load(textwrap.dedent(told)) == yaml.safe_load(example_of_sites())


def test_the_first_day_by_the_docs(needs_spark, edgeplace, flink, tmp_path):
    """Stock Flink has put each operator on one class of machine only."""
    names = ("sites.yaml", "cluster.yaml", "job.json", "log.jsonl.gz", "costs.json", "plan.json")
    sites, cluster, job, log, costs, plan = (tmp_path / name for name in names)
    sites.write_text(example_of_sites())
    flink.task_managers = [
        FakeTaskManager("pi-1", "10.0.1.1", 4),
        FakeTaskManager("pi-2", "10.0.1.2", 4),
        FakeTaskManager("server", "10.0.0.5", 8),
    ]
    flink.configuration["metrics.fetcher.update-interval"] = "1 ms"
    flink.metrics |= {"numBytesIn": Counting(), "numBytesOut": Counting()}
    where = ("--jobmanager", flink.url)
    for command in (
        ("flink", "discover", *where, "--sites", sites, "-o", cluster, "--job-out", job),
        ("flink", "collect", *where, "--duration", "10s", "--interval", "0.6", "-o", log),
        ("costs", log, "--cluster", cluster, "-o", costs),
        ("solve", job, cluster, "--costs", costs, "-o", plan),
    ):
        ran = edgeplace(*command)
        assert ran.status is ExitStatus.OK, ran.out + ran.err
    assert "on 'server' is an estimate: never seen there" in ran.out
    assert set(read(plan, Plan).of("wordcount")) == {f"{i:032x}" for i in (1, 2, 3)}
