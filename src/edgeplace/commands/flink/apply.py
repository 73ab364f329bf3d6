"""`edgeplace flink apply`."""

import argparse
import time

from edgeplace.adapters.flink.apply.apply import ApplyEnd, carry_out
from edgeplace.adapters.flink.apply.preconditions import Obstacle, too_many_moves
from edgeplace.adapters.flink.apply.proposal import (
    Proposal,
    job_now,
    plan_change,
    propose,
    until_problems,
)
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.adapters.flink.plans.location import find_plans_folder
from edgeplace.adapters.flink.plans.plan_file import planned_job, planned_places, read_plan
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.cli.connection import connected
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_change, add_connection
from edgeplace.cli.signals import ended_like_ctrl_c
from edgeplace.commands.flink.change_report import Report
from edgeplace.model import Cluster, Plan, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Show which subtasks of a running job a plan would move; then write the plan "
        "for the agent, wait, verify every subtask by Flink's REST API, and see the job stay "
        "healthy: running, a checkpoint completed, no restart. If any of that fails, the former "
        "placement is restored and verified. Applied twice, a plan changes nothing."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink apply plan.json --jobmanager http://localhost:8081 --cluster "
        "cluster.yaml\n"
        "  EDGEPLACE_FLINK_TOKEN=... edgeplace flink apply plan.json --jobmanager "
        "https://flink.example:8081 \\\n      --plans /mnt/plans --ca-file ca.pem\n\n"
        "Run it where the agent's folder of plans is: on the JobManager's machine, or where the "
        "folder is\nmounted.\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "plan",
        metavar="PLAN",
        help="a plan written by `edgeplace solve -o`, or a schedulercfg",
    )
    add_connection(parser)
    parser.add_argument(
        "--job", metavar="NAME_OR_ID", help="which job, where the plan can be for several"
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help="cluster file, if the plan has its names of TaskManagers and not Flink's",
    )
    add_change(parser)


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show what a plan changes, then make Flink obey it, or leave all as it was."""
    plan = read_plan(args.plan)
    user = read(args.cluster, Cluster) if args.cluster else None
    report = Report(console, "apply", args.json)
    with connected(args) as live:
        folder = find_plans_folder(live, args.plans)
        if args.dry_run:
            return _run(args, report, live, folder, plan, user)
        with folder.locked(), ended_like_ctrl_c():
            return _run(args, report, live, folder, plan, user)


def _run(
    args: argparse.Namespace,
    report: Report,
    live: LiveFlink,
    folder: PlansFolder,
    plan: Plan | str,
    user: Cluster | None,
) -> ExitStatus:
    proposal, problems = _proposed(args, live, folder, plan, user)
    report.proposals([proposal])
    if proposal.nothing_to_do:
        # What would hinder a change does not undo what is reached already.
        for problem in problems:
            report.warn(str(problem))
    elif problems:
        report.problems(problems)
        return report.end(ApplyEnd.REFUSED)
    if args.dry_run:
        would = "nothing to do" if proposal.nothing_to_do else "nothing was changed"
        report.say(f"dry run: {would}; the plan file is {proposal.change.path}")
        return report.end("dry run")
    outcome = carry_out(live, folder, proposal, timeout_s=args.timeout, tell=report.say)
    report.outcome(proposal, outcome)
    return report.end(outcome.end)


def _proposed(
    args: argparse.Namespace,
    live: LiveFlink,
    folder: PlansFolder,
    plan: Plan | str,
    user: Cluster | None,
) -> tuple[Proposal, list[Obstacle]]:
    jobs, task_managers, now_s = live.jobs(), live.task_managers(), time.time()
    job = planned_job(plan, jobs, args.job, args.plan, live.job_graph)
    now = job_now(live, folder, job, jobs, now_s)
    after = planned_places(plan, now.graph, task_managers, user, args.plan)
    change = plan_change(folder, now, after, task_managers)
    proposal = propose(live, folder, now, after, change, task_managers, now_s)
    problems = [*proposal.problems, *until_problems(now)]
    return proposal, [*problems, *too_many_moves(proposal.moves, args.max_moves)]
