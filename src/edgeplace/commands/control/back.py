"""`edgeplace control back`: undo the last change."""

import argparse

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control.asking import add_loop, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = "Bring the job back to where it ran before the loop's last change."
    add_loop(parser)


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Ask the loop, and show what it says."""
    return ask(args, console, "back")
