"""`edgeplace flink apply`."""

import argparse
import time
from collections.abc import Mapping, Sequence, Set

from edgeplace.adapters.flink.apply import (
    ApplyEnd,
    Proposal,
    cordon_problems,
    in_order,
    job_now,
    plan_change,
    propose,
    too_many_moves,
    until_problems,
)
from edgeplace.adapters.flink.plans import (
    Places,
    PlansFolder,
    Schedulercfg,
    find_plans_folder,
    locations,
    meant_by_host,
    planned_jobs,
    planned_places,
    read_real_plan,
    rescaled,
)
from edgeplace.adapters.flink.rest import LiveFlink, RunningJob
from edgeplace.adapters.flink.schedulercfg import EPOCH, predictions, settings_of
from edgeplace.cli.connection import connected
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_change, add_connection
from edgeplace.cli.signals import ended_like_ctrl_c
from edgeplace.commands.flink.change_report import Report
from edgeplace.model import Cluster, EdgeplaceError, InvalidInputError, Plan, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Show which subtasks of a running job a plan would move; then write the plan "
        "for the agent, wait, verify every subtask by Flink's REST API, and see the job stay "
        "healthy: running, a checkpoint completed, no restart. If any of that fails, the former "
        "placement is restored and verified. Applied twice, a plan changes nothing. A plan of "
        "several jobs moves one after the other, in an order in which each finds its slots free; "
        "if one fails, those that moved return."
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
        "--job",
        metavar="NAME_OR_ID",
        help="apply it to this job alone (default: to all jobs of the plan that run)",
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help="cluster file, if the plan has its names of TaskManagers and not Flink's; its links "
        "and checkpoint_storage also tell how long reading state back takes",
    )
    add_change(parser)


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show what a plan changes, then make Flink obey it, or leave all as it was."""
    plan = read_real_plan(args.plan)
    user = read(args.cluster, Cluster) if args.cluster else None
    report = Report(console, "apply", args.json)
    with connected(args) as live:
        folder = find_plans_folder(live, args.plans)
        work = _Apply(args, report, live, folder, plan, user)
        if args.dry_run:
            return work.run()
        with folder.locked(), ended_like_ctrl_c():
            return work.run()


class _Apply:
    def __init__(
        self,
        args: argparse.Namespace,
        report: Report,
        live: LiveFlink,
        folder: PlansFolder,
        plan: Plan | Schedulercfg,
        user: Cluster | None,
    ) -> None:
        self._args = args
        self._report = report
        self._live = live
        self._folder = folder
        self._plan = plan
        self._user = user
        self._settings = settings_of(plan.text) if isinstance(plan, Schedulercfg) else {}

    def run(self) -> ExitStatus:
        """Show what changes, and unless something is in the way, change it."""
        jobs = planned_jobs(
            self._plan, self._live.jobs(), self._args.job, self._args.plan, self._live.job_graph
        )
        self._say_what_does_not_run(jobs)
        found = [self._planned(job) for job in jobs]
        task_managers = self._live.task_managers()
        proposals, problems = in_order(self._live, found, task_managers)
        self._report.proposals(proposals)
        for proposal in proposals:
            own = [*proposal.problems, *until_problems(self._folder, proposal.now)]
            own += cordon_problems(self._live, self._folder, proposal, task_managers, time.time())
            if proposal.nothing_to_do:
                # What would hinder a change does not undo what is reached already.
                for problem in own:
                    self._report.warn(str(problem))
            else:
                problems += own
        moved = tuple(m for proposal in proposals for m in proposal.moves)
        problems += too_many_moves(moved, self._args.max_moves)
        if problems:
            # A problem of the cluster is one of each job.
            self._report.problems(list(dict.fromkeys(problems)))
            return self._report.end(ApplyEnd.REFUSED)
        if self._args.dry_run:
            idle = all(proposal.nothing_to_do for proposal in proposals)
            would = "nothing to do" if idle else "nothing was changed"
            files = ", ".join(str(proposal.change.path) for proposal in proposals)
            of_files = "the plan file is" if len(proposals) == 1 else "the plan files are"
            self._report.say(f"dry run: {would}; {of_files} {files}")
            return self._report.end("dry run")
        return self._report.end(self._carry_out(proposals))

    def _say_what_does_not_run(self, jobs: Sequence[RunningJob]) -> None:
        if self._args.job is None and isinstance(self._plan, Plan):
            for name in self._plan.jobs:
                if name not in {job.name for job in jobs}:
                    self._report.warn(f"job {name!r} of {self._args.plan} does not run")

    def _planned(self, job: RunningJob) -> Proposal:
        """Return what the plan makes of a job, as it is at this moment."""
        graph = self._live.job_graph(job.id)
        task_managers = self._live.task_managers()
        target = rescaled(self._plan, graph, self._args.plan)
        places = planned_places(self._plan, target, task_managers, self._user, self._args.plan)
        names = (
            locations(self._plan.text)
            if isinstance(self._plan, Schedulercfg)
            else {name for row in self._plan.of(job.name).values() for name in row}
        )
        by_host = meant_by_host(names, task_managers, self._user)
        return self._proposal(job, places, {**self._settings, **self._promises(job)}, by_host)

    def _promises(self, job: RunningJob) -> dict[str, int]:
        """Return what the plan promises of a job, as far as the agent has metrics for it."""
        if isinstance(self._plan, Schedulercfg):
            return {}
        try:
            return self._folder.shown(predictions(self._plan, job.name))
        except InvalidInputError:
            return {}  # What is in the way of the plan will say so.

    def _proposal(
        self,
        job: RunningJob,
        after: Places,
        settings: Mapping[str, int],
        by_host: Set[str] | None = None,
    ) -> Proposal:
        live, folder, now_s = self._live, self._folder, time.time()
        task_managers = live.task_managers()
        now = job_now(live, folder, job, live.jobs(), now_s)
        change = plan_change(folder, now, after, task_managers, settings, by_host)
        return propose(live, folder, now, after, change, task_managers, now_s, self._user)

    def _carry_out(self, proposals: Sequence[Proposal]) -> ApplyEnd:
        """Move the jobs one after the other; if one fails, let those return that moved."""
        moved: list[Proposal] = []
        for i, proposal in enumerate(proposals):
            try:
                # Those before have changed what is free.
                end = self._apply(proposal if i == 0 else self._planned(proposal.now.job))
            except EdgeplaceError as e:
                if not moved:
                    raise
                self._report.warn(str(e))
                end = ApplyEnd.REFUSED
            if end is ApplyEnd.INTERRUPTED and moved:
                names = ", ".join(p.now.job.name for p in moved)
                self._report.warn(f"{names} moved already, and stays where the plan says")
            elif end not in (ApplyEnd.APPLIED, ApplyEnd.UNCHANGED):
                return end if self._returned(moved) else ApplyEnd.UNVERIFIED
            if end is ApplyEnd.INTERRUPTED:
                return end
            if end is ApplyEnd.APPLIED:
                moved.append(proposal)
        return ApplyEnd.APPLIED if moved else ApplyEnd.UNCHANGED

    def _apply(self, proposal: Proposal) -> ApplyEnd:
        if proposal.problems and not proposal.nothing_to_do:
            self._report.problems(proposal.problems)
            return ApplyEnd.REFUSED
        timeout_s = self._args.timeout
        pause_ms = proposal.price.pause_ms
        if not proposal.nothing_to_do and pause_ms is not None and pause_ms > 1000 * timeout_s:
            self._report.warn(
                f"the expected pause is {pause_ms / 1000:,.0f} s, and a move that takes longer "
                f"than --timeout {timeout_s:g} s is taken back: give a longer --timeout"
            )
        return self._report.carry_out(self._live, self._folder, proposal, timeout_s).end

    def _returned(self, moved: Sequence[Proposal]) -> bool:
        """Let jobs return to where they were; tell whether all were seen there."""
        back = True
        epoch = {name: n for name, n in self._settings.items() if name == EPOCH}
        for proposal in reversed(moved):
            self._report.say(f"{proposal.now.job.name}: goes back to where it was")
            try:
                end = self._apply(self._proposal(proposal.now.job, proposal.now.places, epoch))
            except EdgeplaceError as e:
                self._report.warn(str(e))
                end = ApplyEnd.UNVERIFIED
            back = back and end in (ApplyEnd.APPLIED, ApplyEnd.UNCHANGED)
        return back
