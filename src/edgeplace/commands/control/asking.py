"""What `approve`, `reject`, `freeze` and `back` share: leave a request, show the loop's answer."""

import argparse
import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.commands.control.running import request_files
from edgeplace.model import InvalidInputError

_LOOK_S = 0.1


def add_loop(parser: argparse.ArgumentParser) -> None:
    """Add which loop is meant."""
    parser.epilog = EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("control", metavar="CONTROL", help="control file of the loop that runs")


def ask(
    args: argparse.Namespace, console: Console, what: str, proposal: str = "", for_s: float = 0.0
) -> ExitStatus:
    """Ask the loop that runs, and show what it says."""
    from edgeplace.commands.control.running.driver import read_files
    from edgeplace.control.loop.journal_file import NAME, led

    files = read_files(args.control)
    if not led(files.folder):
        raise InvalidInputError(
            f"no loop leads in {files.folder}",
            f"start it: edgeplace control run {shlex.quote(args.control)}",
        )
    journal = files.folder / NAME
    size = journal.stat().st_size if journal.exists() else 0
    request = request_files.put(files.folder, what, proposal, for_s)
    # A loop that moves the job answers after that.
    deadline_s = time.monotonic() + 4 * files.settings.apply_s + 60
    while time.monotonic() < deadline_s:
        for entry in _since(journal, size):
            if entry.get("event", {}).get("request") == request:
                console.text(str(entry.get("says")))
                done = entry.get("effects") or what in ("freeze", "reject")
                refused = " refused" in str(entry.get("says")) or not done
                return ExitStatus.NOT_APPLIED if refused else ExitStatus.OK
        if not led(files.folder):
            break
        time.sleep(_LOOK_S)
    request_files.take_away(files.folder / "requests" / f"{request}.json")
    console.problem(f"edgeplace control {what}: the loop has not answered; it was withdrawn")
    return ExitStatus.NOT_APPLIED


def _since(journal: Path, size: int) -> Iterator[dict[str, Any]]:
    try:
        with journal.open("rb") as f:
            f.seek(size)
            for line in f:
                if line.endswith(b"\n"):
                    yield json.loads(line)
    except (OSError, ValueError):
        return
