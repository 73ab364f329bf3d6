"""`edgeplace control explain`: all that the journal says of one proposal or change."""

import argparse
import json
import re
from typing import Any

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.quantities import percent, size
from edgeplace.control.amounts import by_time
from edgeplace.model import InvalidInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Show what the journal says of one proposal or change: the figures of what ran "
        "and of the plan, the three numbers, the gates, and what came of it."
    )
    parser.epilog = EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("control", metavar="CONTROL", help="control file")
    parser.add_argument("id", metavar="ID", help="such as c17, as `status` and the journal have it")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show it."""
    from edgeplace.adapters.flink.plans import clock
    from edgeplace.commands.control.running.driver import read_files
    from edgeplace.control.loop.journal_file import NAME

    path = read_files(args.control).folder / NAME
    named = re.compile(rf"\b{re.escape(args.id)}(-back)*\b")
    found: list[dict[str, Any]] = []
    try:
        with path.open() as f:
            for number, line in enumerate(f, 1):
                if args.id in line or '"kind":"solved"' in line:
                    found.append(_entry(line, f"{path}:{number}"))
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e.strerror}", "start the loop: edgeplace control run"
        ) from e
    about = [e for e in found if named.search(e["says"]) or e["event"].get("id") == args.id]
    if not about:
        raise InvalidInputError(
            f"{path} says nothing of {args.id!r}", "see the ids that `edgeplace control status` has"
        )
    solved = [e["event"] for e in about if e["event"]["kind"] == "solved"]
    if solved:
        _show_figures(console, solved[-1])
    for entry in _without_repeats(about):
        console.text(f"{clock(entry['event']['at_s'])}  {entry['says']}")
    return ExitStatus.OK


def _entry(line: str, where: str) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError as e:
        raise InvalidInputError(f"{where} is no line of a journal", "mend the line") from e
    return entry


def _without_repeats(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries without those that say what the one before says."""
    return [e for i, e in enumerate(entries) if not i or e["says"] != entries[i - 1]["says"]]


def _show_figures(console: Console, solved: dict[str, Any]) -> None:
    currency = solved.get("currency", "")
    rows = [
        (
            title,
            "yes" if figures["fits"] else f"no: {figures.get('broken', '')}",
            percent(figures["headroom"]),
            f"{size(figures['wan_bytes_per_s'])}/s",
            *([by_time(figures["wan_cost"], currency)] if currency else []),
            f"{figures['latency_ms']:.0f} ms",
            f"{figures['server_cores']:.2f}",
        )
        for title, figures in (("what ran", solved.get("stay")), ("the plan", solved.get("best")))
        if figures
    ]
    money = [">WAN cost"] if currency else []
    columns = ("", "fits", ">bears", ">WAN", *money, ">latency", ">server cores")
    console.table(columns, rows)
    console.text(
        f"{solved.get('moves', 0)} subtasks move; {size(solved.get('restore_bytes', 0.0))} of "
        "state are read back over the WAN"
    )
    for op, places in solved.get("places", {}).items():
        console.text(f"  {op}: {', '.join(places)}")
