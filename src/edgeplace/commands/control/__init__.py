"""`edgeplace control`: the commands about a job's load over time, one a file."""

import argparse

from edgeplace.cli.exit_status import EXIT_CODES
from edgeplace.cli.registry import add_commands

COMMANDS = {
    "run": "watch a job: recommend where it would run better, or move it",
    "status": "what the loop sees, what it decided last, and what hinders it",
    "explain": "all that the journal says of one proposal or change",
    "approve": "let the loop make a change that it proposes",
    "reject": "do not make a change that the loop proposes",
    "freeze": "let the loop make no changes for a time",
    "back": "undo the loop's last change",
    "replay": "fold a journal anew: the same has to come of it, to the byte",
    "simulate": "run scaling policies on a recorded load: how late, what in use, how many changes",
    "rehearse": "let failures happen on the testbed: what the model predicts, and what is seen",
}
"""Command -> summary."""
MODULES = {"run": "watch", "explain": "history"}
"""Command -> its module here, where the name of the command is that of another module."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group, and its help."""
    parser.description = (
        "Watch a running job for weeks and say, or do, what would be better; and compare what "
        "scaling policies would do with a load that was recorded."
    )
    parser.epilog = (
        "the way:\n"
        "  edgeplace control run control.yaml           recommends, and changes nothing\n"
        "  edgeplace control status control.yaml\n"
        "  edgeplace control explain control.yaml c17\n"
        "  edgeplace control approve control.yaml c17   with `mode: approve`\n"
        "  edgeplace control replay control/journal.jsonl\n"
        "  edgeplace control simulate --load load.csv --svg policies.svg\n"
        "  edgeplace control rehearse schedule.yaml     on the testbed (root, JDK)\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_commands(
        parser, COMMANDS, "edgeplace.commands.control", dest="control_command", modules=MODULES
    )
