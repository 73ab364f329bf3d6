"""`edgeplace flink doctor`."""

import argparse
import dataclasses
import textwrap
import time
from collections import Counter
from collections.abc import Sequence

from edgeplace import __version__
from edgeplace.adapters.flink.doctor import Finding, Severity, examine, look
from edgeplace.adapters.flink.rest import FlinkClient, find_credentials
from edgeplace.cli.console import Console, visible
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_connection
from edgeplace.model import Cluster, read

_STYLES = {
    Severity.PROBLEM: "red",
    Severity.WARNING: "yellow",
    Severity.NOTE: "",
    Severity.OK: "green",
}
_INDENT = max(map(len, Severity)) + 2
"""Column of a finding's text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Look at a running Flink: is the agent there, and what would keep plans from "
        "being obeyed. Changes nothing."
    )
    parser.epilog = (
        "example:\n  edgeplace flink doctor --jobmanager http://localhost:8081 "
        "--cluster cluster.yaml\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_connection(parser)
    parser.add_argument(
        "--cluster", metavar="FILE", help="cluster file: checks links and cores too"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Examine a cluster and show the findings, the worst first."""
    cluster = read(args.cluster, Cluster) if args.cluster else None
    credentials = find_credentials(args.credentials)
    with FlinkClient(args.jobmanager, credentials, args.ca_file) as client:
        seen = look(client, time.time(), args.plans)
    found = examine(seen, version=__version__, cluster=cluster)
    hindered = any(f.severity is Severity.PROBLEM for f in found)
    if args.json:
        answer = {
            "jobmanager": args.jobmanager,
            "flink": seen.release,
            "hindered": hindered,
            "findings": [dataclasses.asdict(f) for f in found],
        }
        console.json(answer)
    else:
        console.text(
            f"Flink {seen.release} at {args.jobmanager}: "
            f"{_number(len(seen.task_managers), 'TaskManager')}, {_number(len(seen.jobs), 'job')}"
        )
        for finding in found:
            _show(finding, console)
        console.text(_verdict(found, lacks_agent=seen.lacks_agent), style="bold")
    return ExitStatus.HINDERED if hindered else ExitStatus.OK


def _show(finding: Finding, console: Console) -> None:
    severity = finding.severity
    text = f"{severity.value:<{_INDENT}}{finding.check}: {finding.what}"
    console.text(_wrapped(text, console), style=_STYLES[severity])
    if finding.cure:
        console.text(_wrapped(f"{'':<{_INDENT}}cure: {finding.cure}", console))


def _wrapped(text: str, console: Console) -> str:
    """Return text on lines that fit a terminal; a name or path is never split."""
    return textwrap.fill(
        visible(text),
        console.out.width,
        subsequent_indent=" " * (_INDENT + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _verdict(found: Sequence[Finding], *, lacks_agent: bool) -> str:
    count = Counter(f.severity for f in found)
    problems, warnings = count[Severity.PROBLEM], count[Severity.WARNING]
    if not problems and not warnings:
        return "nothing hinders placement"
    counted = f"{_number(problems, 'problem')}, {_number(warnings, 'warning')}"
    if lacks_agent:
        return f"{counted}: no plan is obeyed until the agent is there"
    if problems:
        return f"{counted}: plans are not obeyed in full until problems are cured"
    return f"{counted}: read them first"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
