"""The job of the Flink of memory, a plan for it, and what is to be seen of both."""

import json
from pathlib import Path

SRC, MAP, SINK = (f"{i:032x}" for i in (1, 2, 3))
START = {SRC: ("pi-1", "pi-2"), MAP: ("pi-1", "pi-2"), SINK: ("server",)}
GOAL = {SRC: ("pi-1", "pi-2"), MAP: ("server", "pi-3"), SINK: ("server",)}
FORMER = """\
Source: lines (1/2); pi-1
Source: lines (2/2); pi-2
map (1/2); pi-1
map (2/2); pi-2
Sink: out (1/1); server
"""


def write_plan(path: Path, places=GOAL, job="wordcount") -> Path:
    document = {"format": "edgeplace/plan", "version": 1, "jobs": {job: places}}
    path.write_text(json.dumps(document))
    return path


def files(plans: Path) -> dict[str, str]:
    """Return the plan files, and whatever hidden files were left behind."""
    return {
        p.name: p.read_text()
        for p in plans.iterdir()
        if p.name.endswith(".schedulercfg") or p.name.startswith(".plan-")
    }


def assert_untouched(flink, plans, former=None):
    assert flink.jobs[0].placement == START
    assert flink.jobs[0].moves == 0
    assert files(plans) == ({"wordcount.schedulercfg": former} if former else {})
