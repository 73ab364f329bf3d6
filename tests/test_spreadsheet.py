"""docs/spreadsheet.md: its commands in a folder with the three files, and what it says of them."""

import re
import shutil
from io import StringIO
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.instances import path
from tests.support.markdown import blocks, commands

PAGE = Path(__file__).parents[1] / "docs" / "spreadsheet.md"
if not PAGE.exists():
    pytest.skip(f"{PAGE} is not there", allow_module_level=True)
pytestmark = pytest.mark.slow


def test_three_commands_lead_from_a_table_to_what_flink_reads(tmp_path, monkeypatch):
    files = [path(f"depots/{name}") for name in ("sites.csv", "parcels.yaml", "forklifts.yaml")]
    for file in files:
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("plans").mkdir()
    told = []
    for command in (c for c in commands(PAGE) if c.words[0] == "edgeplace"):
        out, err = StringIO(), StringIO()
        status = main(list(command.words[1:]), Console(out, err))
        assert status is ExitStatus.OK, err.getvalue() or out.getvalue()
        told.append(out.getvalue())
    _, solved, explained, sweep, faster = told
    (shown,) = (b.text for b in blocks(PAGE) if b.language == "text")
    assert [line for line in shown.splitlines() if line.rstrip() not in solved] == []
    (table,) = (b.text for b in blocks(PAGE) if b.language == "csv")
    assert set(table.splitlines()) <= set(files[0].read_text().splitlines())
    assert sorted(p.name for p in Path("plans").iterdir()) == [
        "forklifts.schedulercfg",
        "parcels.schedulercfg",
    ]
    assert "The map" in Path("report.html").read_text()
    # The prose: files and rows, the limits, the reason, the sweep, the other class.
    lines = [len(file.read_text().splitlines()) for file in files]
    assert (lines[0] - 1, sum(lines[1:]), lines[1:]) == (46, 46, [27, 19])
    assert re.search(
        r"fullest: slots region-\S+ and 4 more 100 %; link bandwidth west-7 -> region-west 79.5 %; "
        r"slots \S+ and \d+ more 50 %",
        solved,
    )
    assert "a subtask of detect gets 5 records/s, and a pi4 carries 2.5" in explained
    assert "74,713" in explained
    assert sweep.count("decode, detect: 5 vm -> mini") == 1
    assert re.search(r"edgeplace +\S+ Mbit/s +6,636 ", faster)
