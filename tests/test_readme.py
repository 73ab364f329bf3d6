"""The README's commands run in order, then those of docs/explain.md, then the README's Python."""

import json
import re
import shutil
import tomllib
from io import StringIO
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.cli.registry import parser
from edgeplace.instances import path
from edgeplace.model import Cluster, parse
from tests.support.markdown import blocks, commands

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
HEADLINE = ROOT / "benchmarks" / "headline"
ONLY_CHECKED = ("apt-get", "cd", "curl", "git", "make", "pip", "pipx", "uvx")
if not README.exists():
    pytest.skip(f"{README} is not there", allow_module_level=True)

BLOCKS = blocks(README)
EXPLAIN = commands(ROOT / "docs" / "explain.md")
COMMANDS = [*commands(README), *EXPLAIN]
FLINK = [c for c in COMMANDS if c.words[:2] == ("edgeplace", "flink")]
OURS = [c for c in COMMANDS if c.words[0] == "edgeplace" and c not in FLINK]
PYTHON = [b for b in BLOCKS if b.language == "python"]


def test_in_each_row_the_best_figure_is_bold():
    """Whoever it belongs to; figures such as `32.3 k/s` and `5.65 /s`."""
    rows = re.findall(r"^\| (?!job|-)([^|]+)((?:\| [\d.*k /s]+)+)\|$", README.read_text(), re.M)
    assert len(rows) >= 6
    for name, cells in rows:
        texts = [c.strip() for c in cells.split("|")[1:]]
        figures = [
            float(re.search(r"[\d.]+", t).group()) * (1000 if "k/s" in t else 1) for t in texts
        ]
        best = [t.startswith("**") for t in texts]
        assert best == [f == max(figures) for f in figures], name


def test_it_says_in_how_many_rows_another_placement_is_better():
    cells = [json.loads(line) for line in (HEADLINE / "cells.jsonl").read_text().splitlines()]
    sustained: dict[tuple[str, float], dict[str, float]] = {}
    for cell in cells:
        row = sustained.setdefault((cell["workload"], cell["mbit_per_s"]), {})
        row |= dict.fromkeys(cell["policies"], cell["full"]["per_subtask"])
    behind = [max(row.values()) / row["edgeplace"] - 1 for row in sustained.values()]
    less = [share for share in behind if share > 0]
    said = re.search(
        r"In (\d+) of the (\d+) rows another placement sustains more than edgeplace's, "
        r"by ([\d.]+) %",
        README.read_text(),
    )
    assert said
    assert said.groups() == (str(len(less)), str(len(behind)), f"{100 * max(less):.1f}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the demo's files where the README says they are."""
    home = tmp_path_factory.mktemp("readme")
    shutil.copytree(path("demo"), home / "instances" / "demo")
    return home


@pytest.fixture(scope="module")
def ran(needs_spark, folder):
    """Run all commands in order; return the status and the messages of each."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in OURS:
            out, err = StringIO(), StringIO()
            status = main(command.words[1:], Console(out, err))
            found[command] = (status, err.getvalue(), out.getvalue())
    return found


def test_it_shows_commands_and_python():
    assert OURS
    assert PYTHON
    assert any(c.words[:2] == ("make", "demo") for c in COMMANDS)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_a_command_runs(command, ran):
    status, said, out = ran[command]
    assert status is ExitStatus.OK, said or out


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block, ran, folder, monkeypatch):
    monkeypatch.chdir(folder)
    # Blank lines before, so that a traceback shows the line of the README.
    code = compile("\n" * (block.line - 1) + block.text, str(README), "exec")
    exec(code, {"__name__": "readme"})  # noqa: S102


@pytest.mark.parametrize("command", FLINK, ids=str)
def test_a_command_for_flink_is_understood(command):
    """They run in tests/live; here, the arguments are only read."""
    parser().parse_args(command.words[1:])


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in OURS + FLINK], ids=str)
def test_other_commands_are_known(command):
    first, *rest = command.words
    assert first in ONLY_CHECKED, f"this test does not know how to check {first!r}"
    if first == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in rest if "=" not in word} <= targets


def test_extras_to_install_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = set(re.findall(r"(?:edgeplace|\.)\[(\w+)\]", README.read_text()))
    assert named <= set(extras["optional-dependencies"])


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "yaml"], ids=str)
def test_yaml_is_a_cluster(block):
    import yaml

    parse(yaml.safe_load(block.text), Cluster, f"README.md:{block.line}")


@pytest.mark.parametrize("target", re.findall(r"make ([a-z-]+)`", README.read_text()))
def test_a_make_target_in_the_text_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
