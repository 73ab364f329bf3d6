"""The man pages: one for each command, with all that its --help has."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from edgeplace.cli.registry import parser, walk

TOOL = Path(__file__).parents[3] / ".ci" / "man_pages.py"
PAGES = dict(runpy.run_path(str(TOOL))["man_pages"]())
HELPS = {f"{c.prog.replace(' ', '-')}.1": c.format_help() for c, _ in walk(parser())}
OPTION = re.compile(r"--[a-z][a-z-]+")


def test_each_command_has_a_page():
    assert PAGES.keys() == HELPS.keys()
    assert {"edgeplace.1", "edgeplace-solve.1", "edgeplace-flink-apply.1"} <= PAGES.keys()


@pytest.mark.parametrize("name", HELPS)
def test_a_page_has_the_options_of_the_help_and_a_line_for_apropos(name):
    text = PAGES[name].replace("\\-", "-")
    assert set(OPTION.findall(HELPS[name])) - {"--help"} <= set(OPTION.findall(text))
    assert re.search(rf"^{name.removesuffix('.1')} - \w", text, re.MULTILINE)


@pytest.mark.slow
def test_the_formatter_has_nothing_against_the_pages(tmp_path):
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text)
    command = ["groff", "-man", "-ww", "-Tutf8", *sorted(PAGES)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0
    assert [line for line in ran.stderr.splitlines() if "can't break line" not in line] == []
