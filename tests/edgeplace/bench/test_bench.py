"""`edgeplace bench`: each run in a process of its own, judged by the evaluator."""

import json

import pytest

from edgeplace.bench import processes
from edgeplace.bench import run as bench_run
from edgeplace.bench.instances import named
from edgeplace.bench.processes import Processes
from edgeplace.bench.record import Request, RunAnswer, RunOutcome
from edgeplace.bench.user_case import compared, verdict
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.instances.families import generate
from edgeplace.instances.index import BestKnown, Index, index
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Limit,
    Node,
    Plan,
    Site,
    TaskManager,
    read,
    write,
)
from edgeplace.solver import evaluate
from edgeplace.views.terms import Terms
from tests.support.seeds import filter_cluster, filter_job

pytestmark = pytest.mark.slow

SMALL = "seed-pis-2-1"
ALL_SERVER = Plan(
    jobs={
        "filter": {
            "source": tuple(f"pi-{i}" for i in range(4)),
            "filter": ("server",) * 4,
            "sink": ("server",),
        }
    }
)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def request(tmp_path, instance, **changes):
    write(instance, tmp_path / "instance.json")
    asked = Request(
        instance=str(tmp_path / "instance.json"),
        answer=str(tmp_path / "answer.json"),
        backend="milp",
        objective=("wan",),
        time_limit_s=10.0,
        gap=0.0,
        seed=0,
        memory_bytes=None,
    )
    return asked.model_copy(update=changes)


def answer_to(asked):
    found = []
    Processes(1).run([asked], lambda _, answer: found.append(answer))
    (answer,) = found
    return answer


def test_back_ends_are_compared_and_written_down(edgeplace, tmp_path):
    out = tmp_path / "new" / "out"
    backends = "milp,cp-sat,pulp:CBC"
    ran = edgeplace("bench", SMALL, "infeasible-2-0", "--backends", backends, "--out", out)
    assert ran.status is ExitStatus.OK, ran.out + ran.err
    first, *runs = lines(out / "results.jsonl")
    assert first["kind"] == "environment"
    assert {"cpu", "cores", "releases", "settings"} <= set(first)
    assert [(r["instance"], r["backend"], r["status"]) for r in runs] == [
        (SMALL, "milp", "optimal"),
        (SMALL, "cp-sat", "optimal"),
        (SMALL, "pulp:CBC", "optimal"),
        ("infeasible-2-0", "milp", "infeasible"),
        ("infeasible-2-0", "cp-sat", "infeasible"),
        ("infeasible-2-0", "pulp:CBC", "infeasible"),
    ]
    solved = runs[0]
    assert solved["holds"] is True
    assert solved["gap"] == pytest.approx(0.0, abs=1e-9)
    assert solved["subtasks"] == 8
    assert solved["memory_bytes"] > 1e6
    assert 0 < solved["first_s"] <= solved["best_s"] <= solved["run_s"]
    assert solved["first_s"] <= solved["primal_integral_s"] <= solved["best_s"]
    assert (out / "profile.svg").read_text().startswith("<svg")
    kept = {e.name: e.best for e in read(out / "index.yaml", Index).instances}
    assert kept[SMALL].wan == pytest.approx(solved["wan"])
    assert kept["infeasible-2-0"].infeasible
    assert "over the instances that the back end solved" in ran.out


def test_published_methods_take_part(edgeplace):
    ran = edgeplace("bench", SMALL, "--backends", "all-server,odp,greedy-first-fit", "--json")
    found = json.loads(ran.out)
    assert ran.status is ExitStatus.OK, ran.out
    by_name = {r["backend"]: r for r in found["runs"]}
    assert by_name["odp"]["status"] == "optimal"
    assert by_name["greedy-first-fit"]["wan"] >= by_name["odp"]["wan"]
    assert [s["backend"] for s in found["by_backend"]] == list(by_name)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (BestKnown(wan=1.0, bound=1.0, by="a test", day="2026-11-21"), "its bound"),
        (BestKnown(wan=1e9, bound=1e9, by="a test", day="2026-11-21"), "WRONG: the record"),
    ],
)
def test_a_wrong_answer_is_named_and_ends_with_a_status_of_its_own(
    edgeplace, monkeypatch, known, said
):
    monkeypatch.setattr(bench_run, "best_known", lambda instance: known)
    ran = edgeplace("bench", SMALL, "--backends", "milp")
    assert ran.status is ExitStatus.WRONG_ANSWER
    assert said in ran.out


def test_what_beats_the_best_known_is_said_and_written(edgeplace, monkeypatch, tmp_path):
    known = BestKnown(wan=1e9, by="a test", day="2020-01-01")
    monkeypatch.setattr(bench_run, "best_known", lambda instance: known)
    ran = edgeplace("bench", SMALL, "--backends", "milp", "--out", tmp_path)
    assert ran.status is ExitStatus.OK, ran.out
    assert f"beats the best known of {SMALL}: milp: a plan with" in ran.out
    (entry,) = read(tmp_path / "index.yaml", Index).instances
    assert entry.best.wan < 1e6
    assert entry.best.by.startswith("milp of edgeplace")


def test_a_record_that_holds_is_kept(edgeplace, tmp_path):
    edgeplace("bench", SMALL, "--backends", "all-server", "--out", tmp_path)
    (entry,) = read(tmp_path / "index.yaml", Index).instances
    assert "milp" in entry.best.by


def test_words_name_families_files_and_folders(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    write(generate("seed-pis-1-7"), folder / "one.json")
    write(generate("seed-pis-1-8"), folder / "two.yaml")
    names = ["seed-pis-1-7", "seed-pis-1-8"]
    assert [i.name for i in named([str(folder)])] == names
    assert [i.name for i in named([str(folder / "one.json"), "seed-pis-1-8"])] == names
    shipped = [e.name for e in index().instances]
    assert [i.name for i in named([])] == shipped
    assert [i.name for i in named(["tree"])] == [n for n in shipped if n.startswith("tree-")]


def test_two_instances_of_one_name_are_refused(tmp_path):
    other = generate("seed-pis-1-7").model_copy(update={"name": SMALL})
    write(other, tmp_path / "other.json")
    with pytest.raises(InvalidInputError, match="two different instances are named"):
        named([SMALL, str(tmp_path / "other.json")])


def test_a_network_makes_an_instance(edgeplace, tmp_path):
    (tmp_path / "rtt.csv").write_text("0,10,20\n12,0,40\n20,40,0\n")
    ran = edgeplace(
        "bench", "--topology", tmp_path / "rtt.csv", "--sites", 2, "--backends", "milp", "--json"
    )
    (run,) = json.loads(ran.out)["runs"]
    assert (run["instance"], run["status"]) == ("latency-rtt-2-0", "optimal")


def test_all_policies_on_a_case_of_ones_own(edgeplace, job, wide):
    ran = edgeplace("bench", job, wide, "--backends", "all-server,caps,milp")
    assert ran.status is ExitStatus.OK, ran.out
    rows = ran.out.splitlines()[1:4]
    assert rows[0].startswith("edgeplace (milp)  168 kB/s")
    assert sorted(row.split()[0] for row in rows[1:]) == ["all-server", "caps"]
    assert "proofs and times" in ran.out
    (said,) = (line for line in ran.out.splitlines() if line.startswith("best: "))
    assert said.startswith(
        "best: edgeplace (milp), with the least WAN of all valid ones, 168 kB/s; "
    )
    assert "30 % less than all-server" in said
    assert ran.out.count("\nedgeplace (milp) ") == 2


def judged(wan, feasible=True, weighted=None):
    found = evaluate(filter_job(50_000.0), filter_cluster(1e7), ALL_SERVER)
    broken = Limit(kind="rule", where="r", used=1, capacity=0, unit="subtasks")
    return found.model_copy(
        update={
            "wan_bytes_per_s": wan,
            "wan_cost": wan if weighted is None else weighted,
            "violations": () if feasible else (broken,),
        }
    )


def test_placements_are_ordered_by_whether_they_hold_then_by_the_objectives_wan(filter_model):
    model, cluster = filter_model
    case = Instance(name="case", jobs=(model,), cluster=cluster)
    found = {
        "broken": judged(1.0, feasible=False),
        "most": judged(10.0, weighted=90.0),
        "all-server": judged(60.0),
        "milp": judged(45.0),
        "noise": judged(45.0, weighted=45.0 - 1e-12),
    }
    rows = compared(
        case, {n: RunAnswer(outcome=RunOutcome.NONE, evaluation=e) for n, e in found.items()}
    )
    names = [name for name, _ in rows]
    assert names == ["edgeplace (milp)", "noise", "all-server", "most", "broken"]
    assert verdict(rows, [], Terms()) == (
        "best: edgeplace (milp), with the least WAN of all valid ones, 45 B/s; as much as noise, "
        "25 % less than all-server"
    )
    assert verdict([rows[0], rows[2]], [], Terms()).endswith("45 B/s; 25 % less than all-server")
    broken = [rows[0], ("all-server", judged(1.0, feasible=False))]
    assert verdict(broken, [], Terms()).endswith("45 B/s; all-server does not hold")
    assert "least weighted WAN cost of all valid ones, 45/s; " in verdict(
        rows, [], Terms(priced=True)
    )


def test_where_the_job_runs_now_is_compared_too(edgeplace, job, wide, tmp_path):
    graph = read(job, JobGraph)
    everywhere = {
        op.id: tuple(f"pi-{i % 4}" for i in range(op.parallelism)) for op in graph.operators
    }
    write(Costs(job=graph.name, operators=(), placement=everywhere), tmp_path / "costs.json")
    ran = edgeplace(
        "bench", job, wide, "--costs", tmp_path / "costs.json", "--backends", "all-server"
    )
    assert {row.split()[0] for row in ran.out.splitlines()[1:3]} == {"current", "all-server"}


def test_a_case_without_a_plan_shows_what_breaks(edgeplace, job, narrow):
    ran = edgeplace("bench", job, narrow, "--backends", "milp,all-server")
    assert ran.status is ExitStatus.OK, ran.out
    assert "all-server does not hold: link bandwidth" in ran.out
    assert "infeasible" in ran.out
    assert "it is proved that no valid placement exists: `edgeplace solve JOB CLUSTER`" in ran.out
    ran = edgeplace("bench", job, narrow, "--backends", "all-server")
    assert "no policy found a valid placement: `edgeplace solve JOB CLUSTER`" in ran.out


def test_more_jobs_than_cores_is_warned_of(edgeplace, monkeypatch):
    monkeypatch.setattr("edgeplace.commands.bench.cores", lambda: 1)
    ran = edgeplace("bench", SMALL, "--backends", "all-server", "--jobs", 2)
    assert "2 jobs of one worker each on 1 cores" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-thing"], "there is no instance 'no-such-thing'"),
        (["missing.json"], "missing.json: no such file"),
        (["--backends", "milp,magic"], "there is no back end 'magic'"),
        (["--backends", "pulp:magic"], "PuLP does not find that solver on this machine"),
        (["--time-limit", "0"], "time limit above 0"),
        (["--jobs", "0"], "1 job or more"),
        (["--costs", "costs.json"], "belong to a job of your own"),
        (["--sites", "3"], "cure: give the network too: --topology FILE"),
        (["--topology", "net.txt"], "neither .graphml nor .csv"),
        ([SMALL, "--out", "/proc/no/folder"], "cannot be written"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(edgeplace, words, said, monkeypatch):
    monkeypatch.setattr(Processes, "run", lambda *args: pytest.fail("something ran"))
    ran = edgeplace("bench", *words)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err


def test_a_run_that_ignores_its_time_limit_is_ended(tmp_path, monkeypatch):
    # Python alone takes longer to start than this allows.
    monkeypatch.setattr(processes, "GRACE_S", 0.0)
    answer = answer_to(request(tmp_path, generate(SMALL), time_limit_s=0.001))
    assert answer.outcome is RunOutcome.KILLED
    assert "the time limit is 0.001 s" in answer.message


def test_a_run_that_asks_for_too_much_memory_is_ended(tmp_path):
    answer = answer_to(request(tmp_path, generate("scale-3000-1"), memory_bytes=10_000_000))
    assert answer.outcome is RunOutcome.MEMORY


def test_a_crash_is_an_error_and_says_what_happened(tmp_path, edgeplace):
    instance = generate(SMALL)
    job = instance.jobs[0]
    placeless = tuple(o.model_copy(update={"born_at": ()}) for o in job.operators)
    bad = instance.model_copy(update={"jobs": (job.model_copy(update={"operators": placeless}),)})
    answer = answer_to(request(tmp_path, bad))
    assert answer.outcome is RunOutcome.ERROR
    assert "has no place where its data is born" in answer.message
    write(bad, tmp_path / "bad.json")
    ran = edgeplace("bench", tmp_path / "bad.json", "--backends", "milp")
    assert ran.status is ExitStatus.INTERNAL_ERROR
    assert "has no place" in ran.out


def test_a_job_of_caps_can_be_a_case(edgeplace, tmp_path):
    common = {"parallelism": 2, "state": 10.0, "compute": 100.0}
    source = {"id": "a", "name": "source", "network": 2.0, "outboundtype": "HASH"}
    sink = {"id": "b", "name": "sink", "network": 0.0, "outboundtype": ""}
    job = [
        {**common, **source, "downNode": ["b"], "upNode": []},
        {**common, **sink, "downNode": [], "upNode": ["a"]},
    ]
    (tmp_path / "caps.json").write_text(json.dumps(job))
    cluster = Cluster(
        sites=(Site(id="here", tier="cloud"),),
        nodes=tuple(Node(id=f"w{i}", site="here", cores=4) for i in range(2)),
        task_managers=tuple(TaskManager(id=f"w{i}", node=f"w{i}", slots=8) for i in range(2)),
    )
    write(cluster, tmp_path / "cluster.yaml")
    ran = edgeplace(
        "bench", tmp_path / "caps.json", tmp_path / "cluster.yaml", "--backends", "caps,milp"
    )
    assert ran.status is ExitStatus.OK, ran.out + ran.err
