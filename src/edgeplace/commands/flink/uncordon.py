"""`edgeplace flink uncordon`."""

import argparse
import time

from edgeplace.adapters.flink.apply import ApplyEnd, drains, names_in, node_of
from edgeplace.adapters.flink.plans import (
    CordonChange,
    clock,
    cordons,
    cordons_of,
    find_plans_folder,
)
from edgeplace.cli.connection import connected
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_connection, positive
from edgeplace.commands.flink.change_report import Report
from edgeplace.model import Cluster, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Lift the cordon of a node: Flink puts subtasks there again. `edgeplace flink drain` has "
        "put it up. No job moves: jobs that were drained return when their time is over, or at "
        "once by `edgeplace flink drain NODE --undo`, which lifts the cordon too. `edgeplace flink "
        "doctor` lists the cordons."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink uncordon pi-3 --jobmanager http://localhost:8081\n"
        "  edgeplace flink uncordon lyon --jobmanager http://localhost:8081 --cluster "
        "cluster.yaml\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "node",
        metavar="NODE",
        help="resource id or host of a TaskManager, or a node or site of the cluster file",
    )
    add_connection(parser)
    parser.add_argument("--cluster", metavar="FILE", help="cluster file, for its names")
    parser.add_argument(
        "--timeout",
        type=positive,
        default=30.0,
        metavar="S",
        help="seconds for the agent to see it (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Lift the cordon of a node, and see that the agent knows."""
    report = Report(console, "uncordon", args.json)
    user = read(args.cluster, Cluster) if args.cluster else None
    with connected(args) as live:
        folder = find_plans_folder(live, args.plans)
        with folder.locked():
            found = cordons(folder, time.time())
            names = node_of(args.node, live.task_managers(), user, names_in(folder, found)).names
            closed = cordons_of(names, found)
            report.facts = {"node": args.node, "cordons": [str(c.path) for c in closed]}
            if not closed:
                report.say(f"nothing to do: no cordon is on {args.node}")
                return report.end(ApplyEnd.UNCHANGED)
            CordonChange(folder, args.timeout).lift(closed)
            report.say(f"{args.node} takes new subtasks again", style="green")
            for until, left in drains(folder).items():
                if left & names.union(*(c.names for c in closed)) and until.expires_s > time.time():
                    report.say(f"{until.key} stays away until {clock(until.expires_s)}")
            return report.end(ApplyEnd.APPLIED)
