"""What is on disk is what pyproject.toml finds, and what is installed."""

import tomllib
from importlib.metadata import entry_points, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

import edgeplace
from edgeplace.cli.main import entry

ROOT = Path(__file__).parents[1]
PYPROJECT = ROOT / "pyproject.toml"
ROOMS = ("model", "solver", "control", "spark_stats", "adapters", "instances")
NOT_SHIPPED = {".md", ".pyc", ".java"}

if not PYPROJECT.exists():
    pytest.skip(f"{PYPROJECT} is not there", allow_module_level=True)

PROJECT = tomllib.loads(PYPROJECT.read_text())
COMMAND_LINE = ROOT / "src" / "edgeplace"


def folders():
    """Yield what is a folder of Python, with its name as a package."""
    for name, top in {
        "edgeplace": COMMAND_LINE,
        **{f"edgeplace.{r}": ROOT / r for r in ROOMS},
    }.items():
        for folder in sorted({file.parent for file in top.rglob("*.py")}):
            yield ".".join([name, *folder.relative_to(top).parts]), folder


PACKAGES = dict(folders())


def test_a_link_leads_to_every_folder_beside_the_face():
    links = {p.name: p.readlink().as_posix() for p in COMMAND_LINE.iterdir() if p.is_symlink()}
    assert links == {room: f"../../{room}" for room in ROOMS}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_of_python_has_an_init_and_is_installed(package):
    assert (PACKAGES[package] / "__init__.py").is_file()
    assert find_spec(package) is not None


def data():
    """Return the data files on disk: (package, path in it)."""
    names = {folder: package for package, folder in PACKAGES.items()}
    found = []
    for top in (COMMAND_LINE, *(ROOT / room for room in ROOMS)):
        for file in sorted(top.rglob("*")):
            if not file.is_file() or file.suffix in {*NOT_SHIPPED, ".py"}:
                continue
            home = next(f for f in file.parents if f in names)
            found.append((names[home], str(file.relative_to(home))))
    return found


def test_the_demo_and_the_type_marker_are_among_the_data():
    assert {
        ("edgeplace", "py.typed"),
        ("edgeplace.instances", "demo/cluster.yaml"),
        ("edgeplace.instances", "demo/rules.yaml"),
        ("edgeplace.instances", "demo/metrics.jsonl.gz"),
    } <= set(data())


@pytest.mark.parametrize(("package", "name"), data())
def test_a_data_file_is_matched_by_a_glob_and_installed(package, name):
    globs = PROJECT["tool"]["setuptools"]["package-data"].get(package, [])
    home = PACKAGES[package]
    assert home / name in {file for glob in globs for file in home.glob(glob)}
    assert files(package).joinpath(name).is_file()


def test_there_is_one_version():
    assert PROJECT["project"]["version"] == edgeplace.__version__ == version("edgeplace")


def test_the_command_is_installed():
    (found,) = entry_points(group="console_scripts", name="edgeplace")
    assert found.load() is entry


def test_the_changelog_speaks_of_this_version():
    changelog = ROOT / "CHANGELOG.md"
    assert f"## {edgeplace.__version__} " in changelog.read_text()
