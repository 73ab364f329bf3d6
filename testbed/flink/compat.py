"""Check the agent against every release of Flink it is for, and write the result as a table.

Run as ``python -m testbed.flink.compat`` (``make flink-compat``). The JVM loads the classes the
agent hooks into, with the hooks in them, and verifies their byte code; each member of Flink's that
the agent uses is looked up. Nothing is run: the live tests do that.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink import split_jar
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home

RELEASES = ("1.18.1", "1.19.3", "1.20.3", "2.0.1", "2.1.1", "2.2.0", "2.3.0")
TOO_OLD = "1.17.2"
TABLE = Path(__file__).parents[2] / "docs" / "flink-compat.md"
_CHECK_SECONDS = 120
_HEAD = """# Flink releases

Made by `make flink-compat`: every place in Flink's byte code into which the agent hooks is there,
every member of Flink's that it uses exists, and the JVM has verified the hooked classes
(`-Xverify:all`). Every build also runs all live tests on 2.3.0, and on 1.20.3 one to three each
of placement (of streams, SQL and regions), rescaling, rescaled state, split aggregates, `apply`
and `doctor`. `EDGEPLACE_FLINK=1.20.3 .venv/bin/pytest tests/live` runs all of them there. The last
row is a release that the agent must refuse.

A release that the agent fits and that does not rescale is one in which it places jobs only. The
jar of split aggregates is built against 2.3.0, and compiles against the others.

| Flink | agent | rescales | split aggregates | what the check said |
|---|---|---|---|---|
"""
_NO_RESCALING = "no rescaling: "


def problems_with(home: Path) -> tuple[list[str], list[str]]:
    """Return the hooks that the agent misses in a Flink: for placement, and for rescaling."""
    with tempfile.TemporaryDirectory(prefix="edgeplace-compat-") as plans:
        command = ["java", f"-javaagent:{JAR}=plans={plans}", "-Xverify:all"]
        command += ["-cp", f"{home}/lib/*", "dev.edgeplace.flink.FlinkCheck"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_SECONDS)
    said = (ran.stdout + ran.stderr).splitlines()
    if ran.returncode == 0:
        return [], [x.removeprefix(_NO_RESCALING) for x in said if x.startswith(_NO_RESCALING)]
    return [line.strip() for line in said if line.startswith("  ")] or said[-3:], []


def split_compiles(home: Path) -> bool:
    """Return whether the sources of split aggregates compile against a Flink."""
    with tempfile.TemporaryDirectory(prefix="edgeplace-compat-") as scratch:
        try:
            split_jar.build(home, Path(scratch) / "split.jar")
        except TestbedError as error:
            print(error, file=sys.stderr)
            return False
    return True


def main() -> int:
    """Check all releases, write the table and return the exit code."""
    rows = []
    wrong = False
    for release in (*RELEASES, TOO_OLD):
        problems, for_rescaling = problems_with(flink_home(release))
        wrong |= bool(problems or for_rescaling) == (release != TOO_OLD)
        word = "refuses" if problems else "fits"
        rescales = "no" if problems or for_rescaling else "yes"
        splits = "compile" if split_compiles(flink_home(release)) else "no"
        wrong |= splits == "no" and release != TOO_OLD
        said = (*problems, *for_rescaling, "nothing is missing")[0]
        rows.append(f"| {release} | {word} | {rescales} | {splits} | {said} |")
        print(rows[-1], flush=True)
    TABLE.write_text(_HEAD + "\n".join(rows) + "\n")
    return int(wrong)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TestbedError as error:
        sys.exit(f"testbed: {error}")
