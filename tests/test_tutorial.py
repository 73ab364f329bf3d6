"""The commands of docs/tutorial.md that need no Flink, run in order."""

import shutil
from io import StringIO
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.instances import path
from tests.support.markdown import blocks, commands

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
if not PAGE.exists():
    pytest.skip(f"{PAGE} is not there", allow_module_level=True)


def run(words):
    out, err = StringIO(), StringIO()
    assert main(words, Console(out, err)) is ExitStatus.OK, err.getvalue() or out.getvalue()
    return out.getvalue()


def section(number):
    """The commands of edgeplace in the section with that number."""
    lines = PAGE.read_text().splitlines()
    first, last = (
        next((i for i, line in enumerate(lines, 1) if line.startswith(f"## {n}.")), len(lines))
        for n in (number, number + 1)
    )
    found = [c for c in commands(PAGE) if first < c.line < last]
    return [list(c.words[1:]) for c in found if c.words[0] == "edgeplace"]


def test_a_first_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = section(2)
    assert [words[0] for words in asked[:3]] == ["init", "validate", "solve"]
    told = [run(words) for words in asked]
    # What the page shows is what the command says.
    (shown,) = (b.text for b in blocks(PAGE) if b.language == "text")
    assert [line for line in shown.splitlines() if line.rstrip() not in told[2]] == []
    assert Path("report.html").exists()
    assert Path("front.svg").exists()


@pytest.mark.slow
def test_measured_instead_of_guessed(tmp_path, monkeypatch, needs_spark):
    shutil.copytree(path("demo"), tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    for words in section(3):
        run([w.replace("/tmp/", f"{tmp_path}/") for w in words])
    assert "sensors (1/4); " in (tmp_path / "demo.schedulercfg").read_text()
