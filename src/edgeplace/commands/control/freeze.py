"""`edgeplace control freeze`: no changes for a time."""

import argparse

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.options import duration_s
from edgeplace.commands.control.asking import add_loop, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = "Let the loop make no changes for a time; it watches and recommends on."
    add_loop(parser)
    parser.add_argument(
        "--for",
        dest="for_s",
        type=duration_s,
        default=3600,
        metavar="TIME",
        help="such as 30m, 2h, 1d (default: 1h)",
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Ask the loop, and show what it says."""
    return ask(args, console, "freeze", for_s=args.for_s)
