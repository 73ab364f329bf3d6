"""Cordons, by `flink drain | uncordon | apply`, against a Flink of memory."""

import json
import time

import pytest

from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_agent import FakeAgent
from tests.support.fake_job import wordcount
from tests.support.flink_case import FORMER, SRC, START, write_plan


@pytest.fixture
def run(edgeplace, flink):
    def ran(command, *more):
        where = ("--jobmanager", flink.url, "--timeout", 3)
        return edgeplace("flink", command, *more, *where)

    return ran


def cordon_files(plans):
    return {p.name: p.read_text() for p in plans.glob("*.cordon")}


def test_a_drain_puts_up_a_cordon_that_ends_with_it(run, plans):
    ran = run("drain", "pi-1", "--for", "30m")
    assert ran.status is ExitStatus.OK, ran.err
    assert "nothing new is put on pi-1 until" in ran.out
    (until,) = (p.name for p in plans.glob("*.until-*"))
    expires_s = until.removeprefix("wordcount.until-").removesuffix(".schedulercfg")
    # To the second: the job's own plan is judged when the other ends.
    assert cordon_files(plans) == {"pi-1.cordon": f"# until: {expires_s}\n10.0.0.1\npi-1\n"}

    assert run("drain", "pi-1", "--undo").status is ExitStatus.OK
    assert cordon_files(plans) == {}


def test_uncordon_lifts_it_and_moves_nothing(run, flink, plans):
    run("drain", "pi-1")
    where = flink.jobs[0].placement
    ran = run("uncordon", "10.0.0.1", "--json")
    assert ran.status is ExitStatus.OK, ran.err
    document = json.loads(ran.out)
    assert (document["end"], document["node"]) == ("applied", "10.0.0.1")
    assert document["cordons"] == [str(plans / "pi-1.cordon")]
    assert cordon_files(plans) == {}
    assert flink.jobs[0].placement == where
    again = run("uncordon", "pi-1")
    assert again.status is ExitStatus.OK
    assert "nothing to do: no cordon is on pi-1" in again.out


def test_uncordon_says_which_jobs_stay_away(run):
    run("drain", "pi-1")
    assert "wordcount stays away until" in run("uncordon", "pi-1").out


def test_uncordon_of_an_unknown_node(run):
    ran = run("uncordon", "pi-9")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "registered: pi-1, pi-2, pi-3, server" in ran.err


def test_a_cordon_that_holds_longer_is_not_shortened(run, plans):
    text = "pi-3\n10.0.0.3\n"
    (plans / "pi-3.cordon").write_text(text)
    assert run("drain", "pi-3", "--for", "10m").status is ExitStatus.OK
    assert cordon_files(plans) == {"pi-3.cordon": text}
    (plans / "pi-3.cordon").write_text(f"# until: {int(time.time()) + 60}\npi-3\nold\n")
    assert run("drain", "pi-3", "--for", "10m").status is ExitStatus.OK
    assert set(cordon_files(plans)["pi-3.cordon"].split("\n")[1:]) == {
        "",
        "10.0.0.3",
        "old",
        "pi-3",
    }


@pytest.mark.parametrize("node", ["pi-1", "pi-3"])
def test_an_agent_that_keeps_no_cordons(run, flink, plans, node):
    flink.agent.keeps_cordons = False
    ran = run("drain", node)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert f"has not seen the change of {node}.cordon within 3 s" in ran.err
    assert cordon_files(plans) == {}
    assert flink.jobs[0].placement == START


def test_a_drain_that_fails_takes_its_cordon_back(run, flink, plans):
    flink.agent.judge = lambda job, text: ("rejected", ["no"]) if "pi-1" not in text else None
    ran = run("drain", "pi-1")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert cordon_files(plans) == {}


def test_jobs_are_not_drained_to_a_node_that_takes_nothing_new(run, flink, plans):
    (plans / "x.cordon").write_text("pi-3\n")
    assert run("drain", "pi-1").status is ExitStatus.OK
    used = {tm for row in flink.jobs[0].placement.values() for tm in row}
    assert used == {"pi-2", "server"}


def test_apply_puts_nothing_new_there(run, flink, plans, tmp_path):
    (plans / "x.cordon").write_text("10.0.0.3\n")
    plan = write_plan(tmp_path / "plan.json", START | {SRC: ("pi-1", "pi-3")})
    ran = run("apply", plan)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-3' takes nothing new until it is lifted (x.cordon)" in ran.err
    assert "`edgeplace flink uncordon pi-3`" in ran.err
    # What is there already may stay.
    (plans / "x.cordon").write_text("10.0.0.1\n")
    plan = write_plan(tmp_path / "plan.json", START | {SRC: ("pi-1", "pi-1")})
    assert run("apply", plan).status is ExitStatus.NOT_APPLIED
    plan = write_plan(tmp_path / "plan.json", START | {SRC: ("pi-1", "server")})
    assert run("apply", plan).status is ExitStatus.OK


@pytest.mark.parametrize(
    "text", ["", "\n", "# until: soon\npi-3\n", " pi-3\n", "pi-3\n# until: 9\n", "\xff"]
)
def test_a_file_that_is_no_cordon_closes_nothing(run, plans, tmp_path, text):
    (plans / "x.cordon").write_bytes(text.encode("latin-1"))
    (plans / "y.cordon").symlink_to("x.cordon")
    plan = write_plan(tmp_path / "plan.json", START | {SRC: ("pi-1", "pi-3")})
    assert run("apply", plan).status is ExitStatus.OK


@pytest.fixture
def stranded(flink, plans):
    """A job that waits for pi-1, which is gone."""
    (plans / "wordcount.schedulercfg").write_text(FORMER.replace("pi-2", "10.0.0.2"))
    flink.task_managers = flink.task_managers[1:]
    job = flink.jobs[0]
    job.waiting_for, job.vertex_state = ["pi-1"], "SCHEDULED"
    for vertex in job.vertices:
        vertex.places = [None if place == "pi-1" else place for place in vertex.places]
    flink.agent.judge = lambda job, text: ("waiting", []) if "pi-1" in text else None
    # It says of the job what it is.
    FakeAgent.report(flink.agent, job, "waiting", None, None, [])
    return job


def test_a_node_that_is_gone_is_drained(run, flink, plans, stranded):
    ran = run("drain", "pi-1")
    assert ran.status is ExitStatus.OK, ran.err
    used = [tm for row in stranded.placement.values() for tm in row]
    assert "pi-1" not in used
    assert None not in used
    assert stranded.placement[SRC][1] == "pi-2"
    assert set(cordon_files(plans)) == {"pi-1.cordon"}
    # The host stays in the plan until it returns.
    (until,) = plans.glob("*.until-*.schedulercfg")
    assert "; 10.0.0.2\n" in until.read_text()


def test_a_job_that_waits_for_another_node_is_in_nobodys_way(run, flink, stranded):
    flink.jobs.append(wordcount("second", "d" * 32))
    flink.task_managers[0].slots = flink.task_managers[2].slots = 9
    for vertex in flink.jobs[1].vertices:
        vertex.places = ["pi-3"] * len(vertex.places)
    ran = run("drain", "pi-3")
    assert ran.status is ExitStatus.OK, ran.err
    assert stranded.waiting_for == ["pi-1"]
