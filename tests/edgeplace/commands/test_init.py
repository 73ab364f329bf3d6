"""`edgeplace init`: a first project, which is valid and overwrites nothing (docs/project.md)."""

import json
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


def job_of(*sources, name="job", classes=("pi", "vm"), **more):
    """Return a job with sources of given parallelism and places, and one operator behind them."""
    each = [{"node_class": c, "true_rate_per_s": 100} for c in classes]
    first = [
        {
            "id": f"s{k}",
            "name": f"s{k}",
            "parallelism": parallelism,
            "born_at": born_at,
            "cost": {"demand": {"rates_per_s": [1]}, "classes": each},
        }
        for k, (parallelism, born_at) in enumerate(sources)
    ]
    last = {"id": "sum", "name": "sum", "parallelism": 2, "cost": {"classes": each}}
    streams = [
        {
            "source": op["id"],
            "target": "sum",
            "ship_strategy": "HASH",
            "cost": {"bytes_per_record": 10},
        }
        for op in first
    ]
    return parse({"name": name, "operators": [*first, last], "streams": streams}, JobGraph, name)


def assert_it_is_solved(edgeplace):
    for command in ("validate", "solve"):
        ran = edgeplace(command)
        assert ran.status is ExitStatus.OK, ran.err + ran.out


@pytest.mark.parametrize(
    "jobs",
    [
        [job_of((2, ["north", "south"]), (3, ["east", "north", "south"]))],
        [job_of((4, ["depot-*"]), (1, ["depot-2"]))],
        [job_of((12, ["depot-*"]), (2, ["depot-02", "depot-west"]))],
        [job_of((8, ["depot-*", "hub-*"]), (2, ["hub-*"]))],
        [job_of((4, ["north", "south", "east", "west"]), (3, ["nor*", "sou*", "wes*"]))],
        [job_of((4, ["*"]), (2, ["hub-*"]))],
        [job_of((4, ["depot-*"]), name="a"), job_of((4, ["depot-*"]), (2, ["hub-*"]), name="b")],
        [job_of((6, ["north"]), (1, ["anywhere"]))],
        [job_of((2, ["north", "south"]), (2, ["north"]), name=f"j{k}") for k in range(6)],
        [job_of((1, ["x"]), name="a"), job_of((1, ["x"]), name="b", classes=("arm", "x86"))],
    ],
)
def test_all_sources_of_all_jobs_are_born_in_the_example_cluster(edgeplace, folder, jobs):
    for job in jobs:
        write(job, folder / f"{job.name}.yaml")
    assert edgeplace("init").status is ExitStatus.OK
    assert_it_is_solved(edgeplace)


def test_the_example_cluster_has_the_classes_of_costs_files(edgeplace, folder):
    job = job_of((1, ["north"]), classes=("arm",))
    bare = job.revised(
        operators=tuple(op.model_copy(update={"cost": None}) for op in job.operators)
    )
    operators = [
        {"operator": op.id, **op.cost.model_dump(exclude_defaults=True)} for op in job.operators
    ]
    costs = parse({"job": "job", "operators": operators}, Costs, "costs")
    write(bare, folder / "job.yaml")
    write(costs, folder / "costs.yaml")
    assert edgeplace("init").status is ExitStatus.OK
    assert {node.node_class for node in read("cluster.yaml", Cluster).nodes} == {"arm"}


def test_files_stand_in_place_of_those_of_their_kind(edgeplace, folder):
    (folder / "my jobs").mkdir()
    write(job_of((1, ["north"]), name="a"), folder / "my jobs" / "a b.yaml")
    write(job_of((1, ["north"]), name="b"), folder / "b.yaml")
    write(job_of((1, ["north"]), name="c"), folder / "c.yaml")
    ran = edgeplace("init", "my jobs/a b.yaml", "b.yaml")
    assert ran.status is ExitStatus.OK, ran.err
    assert read("edgeplace.yaml", Project).jobs == ("my jobs/a b.yaml", "b.yaml")
    assert_it_is_solved(edgeplace)


def test_a_metric_log_and_its_costs(edgeplace, folder):
    log = path("demo/metrics.jsonl.gz")
    (folder / "cluster.yaml").write_text(path("demo/cluster.yaml").read_text())
    assert edgeplace("costs", log, "--cluster", "cluster.yaml", "-o", "costs.json").status == 0
    assert edgeplace("init", log).status is ExitStatus.OK
    project = read("edgeplace.yaml", Project)
    assert (project.jobs, project.costs) == ((str(log),), ("costs.json",))
    assert_it_is_solved(edgeplace)


def test_saved_answers_of_flink_are_jobs(edgeplace, folder):
    """A job as Flink's REST API says it, which does not know where data is born."""
    nodes = [
        {"id": "a", "description": "a", "parallelism": 1},
        {
            "id": "b",
            "description": "b",
            "parallelism": 1,
            "inputs": [{"id": "a", "ship_strategy": "HASH"}],
        },
    ]
    vertices = [{"id": v, "name": v, "parallelism": 1, "maxParallelism": 128} for v in "ab"]
    answer = {"jid": "1" * 32, "name": "flows", "state": "RUNNING", "vertices": vertices}
    answer["plan"] = {"jid": "1" * 32, "name": "flows", "nodes": nodes}
    (folder / "answer.json").write_text(json.dumps(answer))
    ran = edgeplace("init")
    assert ran.status is ExitStatus.OK, ran.err
    assert read("edgeplace.yaml", Project).jobs == ("answer.json",)


@pytest.mark.parametrize("names", [("parcels", "forklifts"), ("a.yaml",), tuple("abcdef")])
def test_names_of_jobs_become_examples(edgeplace, folder, names):
    ran = edgeplace("init", *names)
    assert ran.status is ExitStatus.OK, ran.err
    jobs = [read(file, JobGraph).name for file in read("edgeplace.yaml", Project).jobs]
    assert jobs == [name.removesuffix(".yaml") for name in names]
    assert_it_is_solved(edgeplace)


def test_an_example_beside_a_job_that_is_there(edgeplace, folder):
    write(job_of((1, ["hall"]), name="mine"), folder / "mine.yaml")
    ran = edgeplace("init", "mine.yaml", "another")
    assert ran.status is ExitStatus.OK, ran.err
    assert read("another.yaml", JobGraph).operators[0].born_at == ("hall",)
    assert_it_is_solved(edgeplace)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("parcles.yaml",), "did you mean 'parcels.yaml'?"),
        (("jobs/x.yaml",), "there is no file 'jobs/x.yaml'"),
        (("sites.csv",), "there is no file 'sites.csv'"),
        (("plan.json",), "plan.json is no file of a job, a cluster, costs or rules"),
        (("c1.yaml", "c2.yaml"), "c2.yaml: c1.yaml is given, too"),
        (("parcels.yaml", "again.yaml"), "again.yaml: parcels.yaml has a job named 'job', too"),
    ],
)
def test_files_that_do_not_fit(edgeplace, folder, argv, said):
    write(job_of((1, ["north"])), folder / "parcels.yaml")
    write(job_of((1, ["north"])), folder / "again.yaml")
    write(filter_cluster(), folder / "c1.yaml")
    write(filter_cluster(), folder / "c2.yaml")
    (folder / "plan.json").write_text('{"jobs": {"job": {"sum": ["n"]}}}')
    before = contents(folder)
    ran = edgeplace("init", *argv)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err
    assert contents(folder) == before


def test_what_is_left_out_is_said(edgeplace, folder):
    write(job_of((1, ["north"])), folder / "a.yaml")
    write(job_of((1, ["north"])), folder / "b.yaml")
    (folder / "c.yaml").write_text("name: c\noperators: [{id: x}]\n")
    (folder / "d.yaml").write_text("sites: [\n")
    ran = edgeplace("init")
    assert ran.status is ExitStatus.OK
    assert "left out: b.yaml (a.yaml has a job named 'job', too)" in ran.err
    assert "left out: c.yaml (operators.0.name (id 'x'): Field required, line 2)" in ran.err
    assert "left out: d.yaml (not valid YAML" in ran.err
    assert read("edgeplace.yaml", Project).jobs == ("a.yaml",)


def test_a_rule_on_an_operator_of_several_jobs_is_a_rule_of_each(edgeplace, folder):
    write(job_of((1, ["north"]), name="a"), folder / "a.yaml")
    write(job_of((1, ["north"]), name="b"), folder / "b.yaml")
    assert edgeplace("init", "--stay-on-site", "sum").status is ExitStatus.OK
    rules = [(r.kind, r.job, r.operators) for r in read("rules.yaml", Rules).rules]
    assert rules == [("stay_on_site", "a", ("sum",)), ("stay_on_site", "b", ("sum",))]
    assert_it_is_solved(edgeplace)


def test_what_never_moves_is_of_the_jobs_that_run(edgeplace, folder):
    write(job_of((1, ["cloud"]), name="a"), folder / "a.yaml")
    write(job_of((1, ["cloud"]), name="b"), folder / "b.yaml")
    placement = {"sum": ("server-1", "server-2")}
    write(Costs(job="a", operators=(), placement=placement), folder / "costs.json")
    assert edgeplace("init", "--never-move", "sum").status is ExitStatus.OK
    (rule,) = read("rules.yaml", Rules).rules
    assert (rule.kind, rule.job) == ("never_move", "a")


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


def test_a_terminal_is_asked_for_the_jobs(on_terminal, folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Keyboard("parcels, forklifts\n\n"))
    ran = on_terminal("init")
    assert ran.status is ExitStatus.OK, ran.err
    assert read("edgeplace.yaml", Project).jobs == ("parcels.yaml", "forklifts.yaml")


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
