"""What pyproject.toml lists is what is on disk, and what is installed."""

import tomllib
from importlib.metadata import entry_points, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

import edgeplace
from edgeplace.cli import entry

ROOT = Path(__file__).parents[1]
PYPROJECT = ROOT / "pyproject.toml"
ROOMS = ("model", "solver", "spark_stats", "adapters", "instances")
NOT_SHIPPED = {".md", ".pyc", ".java"}

if not PYPROJECT.exists():
    pytest.skip(f"{PYPROJECT} is not there", allow_module_level=True)

PROJECT = tomllib.loads(PYPROJECT.read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def folder(package):
    """Return the folder of a package in this repository."""
    mapped = SETUPTOOLS["package-dir"]
    parts = package.split(".")
    for n in range(len(parts), 0, -1):
        if ".".join(parts[:n]) in mapped:
            return ROOT.joinpath(mapped[".".join(parts[:n])], *parts[n:])
    raise AssertionError(f"{package} is not mapped to a folder")


def test_every_package_on_disk_is_listed_and_every_listed_one_is_on_disk():
    found = set()
    for top, where in SETUPTOOLS["package-dir"].items():
        for file in (ROOT / where).rglob("*.py"):
            found.add(".".join([top, *file.parent.relative_to(ROOT / where).parts]))
    assert found == set(SETUPTOOLS["packages"])


def test_every_room_is_mapped():
    expected = {"edgeplace": "src/edgeplace"} | {f"edgeplace.{room}": room for room in ROOMS}
    assert SETUPTOOLS["package-dir"] == expected


@pytest.mark.parametrize("package", SETUPTOOLS["packages"])
def test_a_listed_package_has_an_init_and_is_installed(package):
    assert (folder(package) / "__init__.py").is_file()
    assert find_spec(package) is not None


def data():
    """Return the data files on disk: (package, path in it)."""
    listed = {folder(p): p for p in SETUPTOOLS["packages"]}
    found = []
    for top in ("edgeplace", *(f"edgeplace.{room}" for room in ROOMS)):
        for file in sorted(folder(top).rglob("*")):
            if not file.is_file() or file.suffix in {*NOT_SHIPPED, ".py"}:
                continue
            home = next(f for f in file.parents if f in listed)
            found.append((listed[home], str(file.relative_to(home))))
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
    globs = SETUPTOOLS["package-data"].get(package, [])
    home = folder(package)
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
