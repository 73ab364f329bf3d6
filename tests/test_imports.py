"""What an import loads, and which rooms may import which."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import highspy
import pytest

HEAVY = ("highspy", "numpy", "ortools", "pandas", "pulp", "pyspark")
ROOMS = ("model", "solver", "spark_stats", "adapters", "instances")


def run(code, cwd):
    """Run Python in a process of its own, away from the folders of the sources."""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("statement", "none_of"),
    [
        ("import edgeplace", HEAVY),
        ("import edgeplace.cli.main", HEAVY),
        ("import edgeplace.model", HEAVY),
        ("import edgeplace.adapters.flink", HEAVY),
        ("import edgeplace.instances", HEAVY),
        ("from edgeplace import solve", ("highspy", "ortools", "pandas", "pulp", "pyspark")),
        ("import edgeplace.spark_stats", ("pyspark",)),
    ],
)
def test_an_import_loads_nothing_heavy(statement, none_of, tmp_path):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    assert sorted(set(run(code, tmp_path)) & set(none_of)) == []


@pytest.mark.parametrize(
    "statements",
    [
        "import highspy; from ortools.sat.python import cp_model",
        "from ortools.sat.python import cp_model; import highspy",
    ],
)
def test_both_solver_libraries_load_in_either_order(statements, tmp_path):
    use = "print(highspy.Highs().version(), cp_model.CpModel().Name() or 'model')"
    assert len(run(f"{statements}; {use}", tmp_path)) == 2


def test_the_highs_in_use_presolves_rightly():
    # 1.14.0 answers 15, as "optimal": https://github.com/ERGO-Code/HiGHS/issues/3043
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    x, z = highs.addVariable(0, 10), highs.addIntegral(0, 10)
    highs.addConstr(x + z >= 4.5)
    highs.minimize(2 * x + 3 * z)
    assert highs.getInfo().objective_function_value == pytest.approx(9.0)


def files(room):
    spec = find_spec(f"edgeplace.{room}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    return sorted(p for p in folder.rglob("*.py") if "__pycache__" not in p.parts)


def imported(file):
    """Return what a file imports of ours, with `from a import b` as `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] in ("edgeplace", *ROOMS)}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_itself_and_the_model(room):
    allowed = {f"edgeplace.{room}", "edgeplace.model"}
    assert files(room)
    strays = {
        f"{file.name}: {name}"
        for file in files(room)
        for name in imported(file)
        if ".".join(name.split(".")[:2]) not in allowed
    }
    assert strays == set()


def test_the_command_line_does_not_reach_into_private_names():
    folder = Path(find_spec("edgeplace").origin).parent
    strays = {
        f"{file.name}: {name}"
        for file in folder.glob("*.py")
        for name in imported(file)
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    }
    assert strays == set()
