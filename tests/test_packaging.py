"""What is on disk is what pyproject.toml finds, and what is installed."""

import re
import tomllib
from importlib.metadata import entry_points, metadata, version
from importlib.resources import files
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest
import yaml

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


def test_all_has_every_extra_but_java():
    extras = PROJECT["project"]["optional-dependencies"]
    (every,) = extras["all"]
    # A Java of its own is for machines that have none: docs/install.md.
    assert every == f"edgeplace[{','.join(sorted(extras.keys() - {'all', 'java'}))}]"


def test_the_page_of_the_release_has_no_relative_link():
    page = metadata("edgeplace").get_payload()
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert len(targets) > 20
    assert [t for t in targets if not re.match(r"https://|#", t)] == []
    blob = f"https://github.com/edgeplace/edgeplace/blob/v{edgeplace.__version__}/"
    ours = {t.removeprefix(blob).partition("#")[0] for t in targets if t.startswith(blob)}
    assert [path for path in sorted(ours) if not (ROOT / path).exists()] == []


ARM64 = re.compile(r"-(any|manylinux_2_(\d+)_aarch64|manylinux2014_aarch64)\b")
SOURCES_ONLY = {"pyspark"}
"""Python and jars, published without a wheel."""


def locked_for_users():
    """Return what uv.lock has for users with all extras, by name; a name may have versions."""
    locked = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        locked.setdefault(package["name"], []).append(package)
    found, waiting = {}, ["edgeplace"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = locked[name]
            for package in locked[name]:
                extras = package.get("optional-dependencies", {}) if name == "edgeplace" else {}
                needed = [*package.get("dependencies", []), *chain(*extras.values())]
                waiting += [d["name"] for d in needed]
    del found["edgeplace"]
    return found


@pytest.mark.parametrize("name", sorted(locked_for_users().keys() - SOURCES_ONLY))
def test_a_64_bit_raspberry_pi_finds_a_wheel(name):
    """Debian 12 has glibc 2.36, and wheels for 2.28 are the newest kind in use."""
    for package in locked_for_users()[name]:
        tags = [ARM64.search(wheel["url"]) for wheel in package.get("wheels", [])]
        assert any(tag and int(tag[2] or 0) <= 28 for tag in tags), package["version"]


WORKFLOWS = {p.name: p for p in (ROOT / ".github" / "workflows").glob("*.yml")}


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_pins_actions_by_commit_and_may_do_only_what_it_says(name):
    text = WORKFLOWS[name].read_text()
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [
        u for u in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", u)
    ] == []
    for job in workflow["jobs"].values():
        assert job["permissions"].keys() <= {"attestations", "contents", "id-token"}
        assert job["permissions"].get("contents", "read") == "read"
        # What others may write into a branch or a title never becomes a command.
        assert not any("${{" in step.get("run", "") for step in job["steps"])


def test_only_the_job_that_publishes_meets_the_registry():
    jobs = yaml.safe_load(WORKFLOWS["release.yml"].read_text())["jobs"]
    publishing = [n for n, job in jobs.items() if "gh-action-pypi-publish" in str(job)]
    assert publishing == ["publish"]
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in WORKFLOWS["release.yml"].read_text()


def test_ci_runs_what_developers_run():
    steps = yaml.safe_load(WORKFLOWS["ci.yml"].read_text())["jobs"]["run"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]


def test_the_image_is_small_and_not_run_by_root():
    lines = [i for i in (ROOT / "Dockerfile").read_text().splitlines() if i and i[0] != "#"]
    stages = [line for line in lines if line.startswith("FROM ")]
    assert len(lines) <= 14
    assert len(stages) == 2
    assert all(re.match(r"FROM python:3\.\d+-slim-\w+( AS \w+)?$", stage) for stage in stages)
    assert "ARG EXTRA=solve" in lines
    last = lines[lines.index(stages[1]) :]
    (user,) = (line.split()[1] for line in last if line.startswith("USER "))
    assert int(user) > 0
    assert not any(line.startswith(("RUN", "COPY")) for line in last[last.index(f"USER {user}") :])
    assert all(line.split(" ", 1)[1][0] == "[" for line in last if line[:3] in ("CMD", "ENT"))
