"""`edgeplace control`: the commands about a job's load over time, one a file."""

import argparse

from edgeplace.cli.exit_status import EXIT_CODES
from edgeplace.cli.registry import add_commands

COMMANDS = {
    "simulate": "run scaling policies on a recorded load: how late, what in use, how many changes",
}
"""Command, which is also the name of its module here -> summary."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group, and its help."""
    parser.description = (
        "Compare what scaling policies would do with a load that was recorded. Nothing is asked of "
        "a Flink and nothing is changed."
    )
    parser.epilog = (
        "example:\n  edgeplace control simulate --load load.csv --svg policies.svg\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_commands(parser, COMMANDS, "edgeplace.commands.control", dest="control_command")
