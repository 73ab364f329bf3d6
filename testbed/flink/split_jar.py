"""Build the jar of split aggregates, as the agent's: the same sources give the same bytes.

Run as ``python -m testbed.flink.split_jar`` (``make agent``).
"""

import sys
import tempfile
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink import agent_jar
from testbed.flink.home import flink_home

SPLIT = Path(__file__).parents[2] / "adapters" / "flink" / "split"
JAR = SPLIT / "edgeplace-flink-split.jar"
SHARED = ("Json", "PlanFile", "PlanSettings", "PlansFolder", "Problems", "Quote", "Schedulercfg")
"""Classes of the agent that this jar has, too, in its own package.

A job may bring the jar of another release of edgeplace than the JobManager's agent, and both are
in one JVM.
"""
_MANIFEST = "Manifest-Version: 1.0\r\n\r\n"
_PACKAGE = "package dev.edgeplace.flink;"
_OWN_PACKAGE = "package dev.edgeplace.flink.split;"


def build(home: Path, jar: Path = JAR) -> Path:
    """Compile the sources and write the jar; see `agent_jar.build_jar`."""
    folder = Path("dev") / "edgeplace" / "flink"
    with tempfile.TemporaryDirectory(prefix="edgeplace-split-") as scratch:
        copies = Path(scratch)
        for name in SHARED:
            text = (agent_jar.AGENT / "src" / folder / f"{name}.java").read_text(encoding="utf-8")
            copy = copies / folder / "split" / f"{name}.java"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace(_PACKAGE, _OWN_PACKAGE, 1), encoding="utf-8")
        return agent_jar.build_jar([SPLIT / "src", copies], _MANIFEST, home, jar)


if __name__ == "__main__":
    try:
        print(build(flink_home()))
    except TestbedError as error:
        sys.exit(f"testbed: {error}")
