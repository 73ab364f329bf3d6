"""`edgeplace help`."""

import argparse

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.registry import parser as command_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = "Show the help of a command: `edgeplace help flink apply`."
    parser.add_argument(
        "words", nargs="*", metavar="COMMAND", help="a command, such as flink apply"
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Ask the command for its help."""
    try:
        command_line().parse_args([*args.words, "--help"])
    except SystemExit as e:
        return ExitStatus.INVALID_INPUT if e.code else ExitStatus.OK
    raise RuntimeError("--help ends the parsing")
