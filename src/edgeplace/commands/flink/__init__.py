"""`edgeplace flink`: the commands that work on a Flink, one in each file."""

import argparse

from edgeplace.cli.exit_status import EXIT_CODES
from edgeplace.cli.registry import add_commands

COMMANDS = {
    "discover": "write a cluster file and a job graph from what Flink has registered",
    "collect": "record a running job's metrics into a log for `edgeplace costs`",
    "install": "put the agent's jar into a Flink home",
    "doctor": "find what hinders placement on a running Flink",
    "apply": "move a running job to where a plan says, verified, or leave it where it is",
    "drain": "move all that runs on a node elsewhere for a time, and keep it empty",
    "shares": "give the workers of a split aggregate other weights while the job runs",
    "uncordon": "let new subtasks be put on a drained node again",
}
"""Command, which is also the name of its module here -> summary."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group, and its help."""
    parser.description = (
        "Read what a running Flink is and does, and make it obey plans while its jobs "
        "run. An agent in the JobManager asks for the slots that a plan names; nothing changes on "
        "the TaskManagers or in the jobs. discover and collect need no agent."
    )
    parser.epilog = (
        "the way:\n"
        "  edgeplace flink discover --jobmanager http://localhost:8081 -o cluster.yaml\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --duration 10m\n"
        "  edgeplace flink install /opt/flink      once, then restart the JobManager\n"
        "  edgeplace flink doctor --jobmanager http://localhost:8081\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --for 1h\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_commands(parser, COMMANDS, "edgeplace.commands.flink", dest="flink_command")
