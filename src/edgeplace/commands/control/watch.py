"""`edgeplace control run`: watch a job for weeks, and say or do what would be better."""

import argparse
import contextlib
import sys

from edgeplace.adapters.flink.rest import FlinkClient, find_credentials
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import duration_s
from edgeplace.cli.signals import ended_like_ctrl_c, on_hangup

LOADS = ("edgeplace.control.loop.journal_file",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Watch a running job: poll Flink, guard every 30 s, decide every 15 min where "
        "its subtasks run best, and keep a journal that says for each cycle what was done, or why "
        "nothing was. Changes nothing unless the control file says `mode: approve` or `apply`."
    )
    parser.epilog = (
        "a control file:\n"
        "  jobmanager: http://localhost:8081\n"
        "  job: telemetry\n"
        "  cluster: cluster.yaml\n"
        "  costs: costs.json        # edgeplace costs control/metrics --cluster cluster.yaml "
        "-o costs.json\n"
        "  mode: recommend\n\n"
        "example:\n  edgeplace control run control.yaml --duration 10m\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("control", metavar="CONTROL", help="control file (YAML)")
    parser.add_argument(
        "--duration",
        dest="duration_s",
        type=duration_s,
        metavar="TIME",
        help="such as 30m, 1h, 2d (default: until Ctrl-C)",
    )
    parser.add_argument(
        "--i-know",
        action="store_true",
        help="`mode: apply` acts without 20 recommendations or a week on record, and a loop that "
        "fell back to recommending goes on",
    )
    parser.add_argument(
        "--strict", action="store_true", help="end with 12 when only a person can go on"
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Run the loop until Ctrl-C."""
    import logging

    from edgeplace.commands.control.running.driver import Driver, checked, read_files
    from edgeplace.control.loop.journal_file import Journal, NotLeaderError

    files = checked(read_files(args.control))
    # Our errors say what its warnings about retries would.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    credentials = find_credentials(str(files.credentials) if files.credentials else None)
    client = FlinkClient(files.settings.jobmanager, credentials, files.ca_file)
    try:
        with (
            client,
            contextlib.closing(Journal(files.folder)) as journal,
            ended_like_ctrl_c(),
            contextlib.ExitStack() as stack,
        ):
            driver = Driver(files, client, journal, console, args.strict)
            if not _at_a_terminal():
                stack.enter_context(on_hangup(driver.reread))
            if driver.run(args.duration_s, args.i_know):
                console.problem(f"edgeplace control run: {journal.memory.fallen}")
                return ExitStatus.NEEDS_A_PERSON
    except NotLeaderError as e:
        console.problem(f"edgeplace control run: {e}")
        return ExitStatus.LED_ELSEWHERE
    return ExitStatus.OK


def _at_a_terminal() -> bool:
    """Return whether a hangup means that a terminal was closed."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
