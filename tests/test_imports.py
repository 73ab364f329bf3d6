"""What an import loads, and how full a folder may be; .importlinter has what may import what."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import highspy
import pytest

from edgeplace.cli.registry import COMMANDS
from edgeplace.commands.control import COMMANDS as CONTROL_COMMANDS
from edgeplace.commands.flink import COMMANDS as FLINK_COMMANDS
from edgeplace.model import LimitKind

HEAVY = ("highspy", "networkx", "numpy", "ortools", "pandas", "pulp", "pyspark")
ROOT = Path(__file__).parents[1]
ROOMS = ("model", "solver", "control", "spark_stats", "adapters", "instances")
MOST_MODULES = 16
HELP = """
import io
from contextlib import redirect_stdout
from edgeplace.cli.main import main
with redirect_stdout(io.StringIO()): """
HELPS = [
    ["--help"],
    *([name, "--help"] for name in COMMANDS),
    *(["flink", name, "--help"] for name in FLINK_COMMANDS),
    *(["control", name, "--help"] for name in CONTROL_COMMANDS),
]
DOORS = re.compile(
    r"""edgeplace\.(
        model | solver | spark_stats(\.parquet)?
        | solver\.(arrays | baselines | clock | fleet | tolerances | worker_load)
        | adapters\.flink(\.\w+)?
        | control(\.\w+)*
        | instances(\.\w+)*
    )""",
    re.VERBOSE,
)
"""What the command line may import of the rooms: each has its names in `__all__`."""
CATALOGUES = {"solver/baselines", "spark_stats", "spark_stats/readers"}
"""One method, step or format a file: these may be longer."""


def run(code, cwd):
    """Run Python in a process of its own, away from the folders of the sources."""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.slow
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


EACH_HELP = f"""
import io, json, os, sys
from contextlib import redirect_stdout
from edgeplace.cli.main import main
def show(argv):
    with redirect_stdout(io.StringIO()):
        main(argv)
# What all of them load is loaded once.
show(["--help"])
for argv in json.loads(sys.argv[1]):
    # In a process of its own, which has loaded no other help.
    if os.fork() == 0:
        show(argv)
        print(json.dumps([" ".join(argv), sorted(set(sys.modules) & set({HEAVY}))]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""


@pytest.fixture(scope="module")
def loaded_by(tmp_path_factory):
    """The heavy modules that each help loads."""
    command = [sys.executable, "-c", EACH_HELP, json.dumps(HELPS)]
    home = tmp_path_factory.mktemp("away")
    ran = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(line) for line in ran.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("argv", HELPS, ids=" ".join)
def test_a_help_loads_nothing_heavy(argv, loaded_by):
    assert loaded_by[" ".join(argv)] == []


@pytest.mark.parametrize(
    ("argv", "loaded"),
    [
        (["--help"], set()),
        (["solve", "--help"], {"solve"}),
        (["flink", "--help"], {"flink"}),
        (["flink", "install", "--help"], {"flink", "flink.install"}),
    ],
)
def test_only_the_command_that_is_asked_for_loads(argv, loaded, tmp_path):
    found = run(f"{HELP}main({argv!r})\nimport sys\nprint(*sys.modules)", tmp_path)
    room = "edgeplace.commands."
    assert {name.removeprefix(room) for name in found if name.startswith(room)} == loaded


@pytest.mark.slow
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


def modules(*folders):
    """Yield the Python files in folders of the repository and below, links not followed."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imported(file):
    """Return what a file imports of ours, with `from a import b` as `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "edgeplace"}


@pytest.mark.slow
def test_every_import_of_ours_leads_to_a_file():
    """As an editor sees it: without installing, by the folders and links below src/ alone."""
    homes = {"edgeplace": ROOT / "src", "testbed": ROOT, "tests": ROOT}
    strays = set()
    for file in modules("src/edgeplace", *ROOMS, "testbed", "tests", "benchmarks"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for parts in (str(name).split(".") for name in names):
                home = homes.get(parts[0])
                path = home and home.joinpath(*parts)
                if path and not (path.with_suffix(".py").is_file() or path.is_dir()):
                    strays.add(f"{file.relative_to(ROOT)}: {'.'.join(parts)}")
    assert strays == set()


def test_the_command_line_does_not_reach_into_private_names():
    strays = {
        f"{file.name}: {name}"
        for file in modules("src/edgeplace")
        for name in imported(file)
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    }
    assert strays == set()


def test_the_command_line_enters_rooms_by_their_doors():
    rooms = re.compile(rf"edgeplace\.({'|'.join(ROOMS)})\b.*")
    strays = {
        f"{file.relative_to(ROOT)}: {node.module}"
        for file in modules("src/edgeplace")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and rooms.fullmatch(str(node.module))
        if not DOORS.fullmatch(str(node.module))
    }
    assert strays == set()


def test_no_folder_is_too_full_to_be_read_at_a_glance():
    sizes = Counter(
        file.parent.relative_to(ROOT).as_posix()
        for file in modules("src/edgeplace", *ROOMS, "testbed")
        if file.name != "__init__.py"
    )
    assert {f: n for f, n in sizes.items() if n > MOST_MODULES and f not in CATALOGUES} == {}


def rooms():
    """Yield the files of each room, and of the command line, by the name of the room."""
    own = [*ROOMS[:-2], "adapters/flink", "instances", "src/edgeplace", "testbed"]
    for room in own:
        yield room, [f for f in modules(room) if f.name != "__init__.py"]


def test_a_module_name_stands_once_in_a_room():
    doubled = {
        f"{room}: {name}"
        for room, files in rooms()
        for name, n in Counter(file.stem for file in files).items()
        if n > 1
    }
    assert doubled == set()


@pytest.mark.slow
def test_a_class_name_means_one_thing():
    """Private classes stay in their file; others may be imported beside one another."""
    scripts = ("benchmarks", list(modules("benchmarks")))
    names = Counter(
        node.name
        for _, files in (*rooms(), scripts)
        for file in files
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, n in names.items() if n > 1] == []


@pytest.mark.slow
def test_kinds_of_limits_are_spelled_in_one_file():
    kinds = {kind.value for kind in LimitKind if " " in kind.value}
    spelled = {
        file.relative_to(ROOT).as_posix()
        for _, files in rooms()
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and node.value in kinds
    }
    assert spelled == {"model/limits.py"}


def test_a_limit_of_task_managers_touches_three_files():
    """The worked example of CONTRIBUTING: GPUs."""
    files = [file for _, files in rooms() for file in files]
    naming = {f.relative_to(ROOT).as_posix() for f in files if "gpus" in f.read_text().lower()}
    assert naming == {"model/cluster.py", "model/job.py", "model/limits.py"}
