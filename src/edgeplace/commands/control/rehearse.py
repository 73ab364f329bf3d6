"""`edgeplace control rehearse`: let failures happen on the testbed, predicted against seen."""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.signals import ended_like_ctrl_c

_TOOLS = {
    "javac": "a JDK (11 or later), such as openjdk-17-jdk-headless",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Run a schedule of failures on the testbed: a real Flink on three machines with CPU "
        "quotas and a WAN between, `control run` beside it with `mode: apply`. Prints for each "
        "event what the model predicts and what was seen. Needs root, a JDK and a checkout of "
        "edgeplace; nothing of yours is touched."
    )
    parser.epilog = (
        "a schedule (YAML, or CSV with the fields of events as columns):\n"
        "  format: edgeplace/rehearsal\n"
        "  duration_s: 240\n"
        "  events:\n"
        "    - {at_s: 20, do: rate, factor: 3}\n"
        "    - {at_s: 90, do: link, site: field, other: cloud, bandwidth_bytes_per_s: 2 Mbit/s}\n"
        "    - {at_s: 130, do: cut, site: hall, for_s: 60}\n"
        "    - {at_s: 150, do: kill, node: hall-1, for_s: 20}\n"
        "    - {at_s: 180, do: slow, node: pi-1, cores: 0.25}\n"
        "  policy: edgeplace   # or static, hpa, autoscaler, ds2, thesis, demeter, to compare\n\n"
        "sites: field (pi-1, where the data is born), hall (hall-1), cloud (server-1)\n\n"
        "example:\n  edgeplace control rehearse schedule.yaml -o rehearsal\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("schedule", metavar="SCHEDULE", help="what happens when (YAML or CSV)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        default="rehearsal",
        help="for the journal, the costs and rehearsal.json (default: rehearsal)",
    )
    parser.add_argument(
        "--check", action="store_true", help="only say whether it could run, and what it would do"
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Run it in a process of the testbed's own."""
    from edgeplace.control.rehearsal import read_rehearsal

    schedule = read_rehearsal(args.schedule)
    lacking = list(_lacking())
    for what in lacking:
        console.problem(f"edgeplace control rehearse: {what}")
    if args.check:
        for event in sorted(schedule.events, key=lambda e: e.at_s):
            span = f" for {event.for_s:g} s" if event.for_s else ""
            console.text(f"{event.at_s:6.0f} s  {event.said}{span}")
        console.text(f"{schedule.duration_s:6.0f} s  end, and some two minutes to set up")
    if lacking:
        return ExitStatus.MISSING_EXTRA
    if args.check:
        return ExitStatus.OK
    command = [sys.executable, "-m", "testbed", "rehearse", str(Path(args.schedule).resolve())]
    command += ["--out", str(Path(args.output).resolve())]
    with ended_like_ctrl_c(), subprocess.Popen(command, cwd=_testbed()) as testbed:
        try:
            status = testbed.wait()
        except KeyboardInterrupt:
            testbed.terminate()
            testbed.wait()
            raise
    if status == 0:
        journal = f"{args.output}/control/journal.jsonl"
        console.command("the journal: ", ["edgeplace", "control", "replay", journal])
        return ExitStatus.OK
    return ExitStatus.INVALID_INPUT if status == ExitStatus.INVALID_INPUT else ExitStatus.HINDERED


def _testbed() -> Path | None:
    """Return the folder that the testbed's package is in; None: it is not there."""
    found = importlib.util.find_spec("testbed")
    if found is None or not found.origin:
        beside = Path(__file__).resolve().parents[4]
        return beside if (beside / "testbed" / "__main__.py").is_file() else None
    return Path(found.origin).parents[1]


def _lacking() -> Iterator[str]:
    """Yield what this machine lacks, each with its cure."""
    if _testbed() is None:
        yield (
            "there is no testbed here: it is not in the wheel; get a checkout of edgeplace, and "
            "run it there"
        )
    if os.geteuid() != 0:
        yield "root is needed, for network namespaces and CPU quotas; run it with sudo"
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            yield f"no {tool} found; install {package}"
