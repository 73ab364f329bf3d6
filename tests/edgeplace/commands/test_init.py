"""`edgeplace init`: a first project, which is valid and overwrites nothing (docs/project.md)."""

from io import StringIO

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.case.starter import example_cluster, example_job
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.instances import path
from edgeplace.model import Cluster, Costs, JobGraph, Project, Rules, parse, read, write
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.seeds import filter_cluster, filter_job


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("paid", ["yes", "no"])
def test_three_commands_lead_from_an_empty_folder_to_a_plan(edgeplace, folder, paid):
    ran = edgeplace("init", "--paid", paid)
    assert (ran.status, ran.err) == (ExitStatus.OK, "")
    assert sorted(contents(folder)) == ["cluster.yaml", "edgeplace.yaml", "job.yaml"]
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err
    ran = edgeplace("solve", "-o", "plan.json")
    assert ran.status is ExitStatus.OK, ran.err
    assert ("EUR/month" in ran.out) == (paid == "yes")


def test_free_bytes_put_latency_first(edgeplace):
    edgeplace("init", "--paid", "no")
    assert read("edgeplace.yaml", Project).optimise == "latency"


@pytest.mark.parametrize(
    "given",
    [
        {"mine.yaml": filter_job(5e4)},
        {"net.json": filter_cluster()},
        {"mine.yaml": filter_job(5e4), "net.json": filter_cluster()},
        {"a.yaml": parcels(4), "b.yaml": forklifts(4)},
        {"a.yaml": parcels(4), "b.yaml": forklifts(4), "c.yaml": depots_cluster(4)},
    ],
    ids=lambda given: ",".join(given),
)
def test_what_is_there_is_taken_and_stays(edgeplace, folder, given):
    for name, document in given.items():
        write(document, folder / name)
    before = contents(folder)
    ran = edgeplace("init")
    assert ran.status is ExitStatus.OK, ran.err
    assert contents(folder).items() >= before.items()
    project = read("edgeplace.yaml", Project)
    named = {*project.jobs, project.cluster}
    assert named >= set(given)
    assert named <= set(contents(folder))
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err


def test_a_table_and_two_jobs_need_three_commands(edgeplace, folder):
    """Issue 18: from a spreadsheet to a plan without a line of YAML about the cluster."""
    lines = ["site,tier,node_class,count,cores,slots,to,bandwidth_bytes_per_s,delay_ms"]
    lines += ["cloud,cloud,vm,2,16,24,,,"]
    lines += [f"depot-{d},,pi4,{2 + d % 3},4,4,cloud,50 Mbit/s,20 ms" for d in range(4)]
    (folder / "sites.csv").write_text("\n".join(lines))
    video, lifts = parcels(4), forklifts(4)
    for job, pattern in ((video, "depot-*-pi4-*"), (lifts, "depot-*")):
        source, *rest = job.operators
        born = source.model_copy(update={"born_at": (pattern,)})
        write(job.model_copy(update={"operators": (born, *rest)}), folder / f"{job.name}.yaml")
    assert edgeplace("init").status is ExitStatus.OK
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err
    ran = edgeplace("solve", "-o", "plan.json")
    assert ran.status is ExitStatus.OK, ran.err


def test_a_pattern_makes_a_group_of_sites(edgeplace, folder):
    lifts = forklifts(4)
    source, *rest = lifts.operators
    born = source.model_copy(update={"born_at": ("depot-*",)})
    write(lifts.model_copy(update={"operators": (born, *rest)}), folder / "job.yaml")
    edgeplace("init")
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err


def test_costs_and_rules_are_taken(edgeplace, folder):
    write(filter_job(5e4), folder / "job.json")
    write(Costs(job="filter", operators=()), folder / "costs.json")
    write(Costs(job="another", operators=()), folder / "others.json")
    (folder / "my-rules.yaml").write_text("rules: []\n")
    edgeplace("init")
    project = read("edgeplace.yaml", Project)
    assert (project.costs, project.rules) == (("costs.json",), "my-rules.yaml")


@pytest.mark.parametrize("name", ["edgeplace.yaml", "cluster.yaml", "job.yaml"])
def test_nothing_is_overwritten(edgeplace, folder, name):
    (folder / name).write_text("mine\n")
    ran = edgeplace("init")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert contents(folder) == {name: "mine\n"}
    assert f"{name} is there" in ran.err


def test_rules_of_options(edgeplace, folder):
    write(filter_job(5e4), folder / "job.json")
    ran = edgeplace("init", "--stay-on-site", "filter, sink")
    assert ran.status is ExitStatus.OK, ran.err
    (rule,) = read("rules.yaml", Rules).rules
    assert (rule.kind, rule.operators) == ("stay_on_site", ("filter", "sink"))
    assert edgeplace("validate").status is ExitStatus.OK


def test_what_never_moves_has_to_run_somewhere(edgeplace, folder):
    write(filter_job(5e4), folder / "job.json")
    ran = edgeplace("init", "--never-move", "filter")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert list(contents(folder)) == ["job.json"]
    placement = {"filter": ("pi-0", "pi-1", "pi-2", "pi-3")}
    write(Costs(job="filter", operators=(), placement=placement), folder / "costs.json")
    write(filter_cluster(), folder / "cluster.yaml")
    ran = edgeplace("init", "--never-move", "filter")
    assert ran.status is ExitStatus.OK, ran.err
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err


def test_an_operator_that_is_not_there(edgeplace, folder):
    write(filter_job(5e4), folder / "job.json")
    ran = edgeplace("init", "--stay-on-site", "fliter")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "did you mean 'filter'?" in ran.err


class _Keyboard(StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_asked(on_terminal, folder, monkeypatch):
    write(filter_job(5e4), folder / "job.json")
    monkeypatch.setattr("sys.stdin", _Keyboard("perhaps\nn\nfliter\nfilter\n"))
    ran = on_terminal("init")
    assert ran.status is ExitStatus.OK, ran.err
    assert "Are the bytes between sites paid for?" in ran.err
    assert "did you mean 'filter'?" in ran.err
    assert read("edgeplace.yaml", Project).optimise == "latency"
    assert read("rules.yaml", Rules).rules[0].operators == ("filter",)


@pytest.mark.parametrize("argv", [("--defaults",), ("--paid", "yes", "--stay-on-site", "")])
def test_a_terminal_is_not_asked_for_what_is_known(on_terminal, folder, monkeypatch, argv):
    write(filter_job(5e4), folder / "job.json")
    monkeypatch.setattr("sys.stdin", _Keyboard(""))
    ran = on_terminal("init", *argv)
    assert ran.status is ExitStatus.OK
    assert "?" not in ran.err
    assert "rules.yaml" not in contents(folder)


def test_the_end_of_the_input_means_the_defaults(on_terminal, folder, monkeypatch):
    write(filter_job(5e4), folder / "job.json")
    monkeypatch.setattr("sys.stdin", _Keyboard(""))
    assert on_terminal("init").status is ExitStatus.OK
    assert read("edgeplace.yaml", Project).optimise == "money"


def test_the_example_job_is_born_where_no_other_site_hangs_on():
    text = example_job(read(path("depots/sites.csv"), Cluster))
    job = parse(yaml.safe_load(text), JobGraph, "job")
    assert job.operators[0].born_at == ("north-1", "north-2", "north-3")
    assert job.operators[0].cost.demand.rates_per_s == (200,)


NAMES = st.text("abyz01-_.: #'\"é", min_size=1, max_size=8).filter(lambda t: t.strip() == t)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    node_class=NAMES,
    paid=st.booleans(),
)
def test_examples_fit_whatever_the_names(places, node_class, paid):
    cluster = {
        "sites": [{"id": p} for p in places],
        "nodes": [
            {"id": f"n{i}", "site": p, "cores": 1, "slots": 1, "node_class": node_class}
            for i, p in enumerate(places)
        ],
    }
    job = parse(yaml.safe_load(example_job(parse(cluster, Cluster, "cluster"))), JobGraph, "job")
    assert set(job.operators[0].born_at) <= set(places)
    made = parse(yaml.safe_load(example_cluster([job], paid)), Cluster, "example")
    for place in job.operators[0].born_at:
        assert made.task_managers_at(place)
    assert {n.node_class for n in made.nodes} == {node_class}
