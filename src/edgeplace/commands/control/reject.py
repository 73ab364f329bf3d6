"""`edgeplace control reject`: do not make a change that the loop proposes."""

import argparse

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control.asking import add_loop, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Do not make a change that the loop proposes; the plan is not proposed again for a day."
    )
    add_loop(parser)
    parser.add_argument("id", metavar="ID", help="of the proposal, as `status` shows it")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Ask the loop, and show what it says."""
    return ask(args, console, "reject", args.id)
