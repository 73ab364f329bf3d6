"""`edgeplace flink drain`."""

import argparse
import time
from collections.abc import Sequence, Set

from edgeplace.adapters.flink.apply import (
    ApplyEnd,
    DrainedNode,
    FileChange,
    JobNow,
    Obstacle,
    Proposal,
    as_planned,
    base_places,
    drains,
    free_slots_after,
    is_off_plan,
    job_now,
    jobs_at,
    names_in,
    node_of,
    plan_change,
    propose,
    return_change,
    too_many_moves,
    unsettled,
    until_change,
    until_problems,
    worst_fit,
)
from edgeplace.adapters.flink.plans import (
    CordonChange,
    Places,
    PlansFolder,
    UntilPlan,
    clock,
    cordoned,
    cordons,
    cordons_of,
    find_plans_folder,
    key,
)
from edgeplace.adapters.flink.rest import LiveFlink, RunningJob
from edgeplace.cli.connection import connected
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_change, add_connection, duration_s
from edgeplace.cli.signals import ended_like_ctrl_c
from edgeplace.commands.flink.change_report import Report
from edgeplace.model import Cluster, Costs, EdgeplaceError, InvalidInputError, Rules, read, some


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Empty a node, and keep it empty: nothing new is put there, place every job with "
        "subtasks there anew without it, apply that, and verify that nothing runs there. After "
        "--for, the node is in use again, and the jobs return by themselves. A node that is gone "
        "can be drained too: the jobs that wait for it run elsewhere. "
        "With --cluster and --costs the solver decides where the subtasks of the measured jobs go "
        "(fewest moves, then WAN traffic); others go to where most slots are free."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --dry-run\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --for 30m --cluster "
        "cluster.yaml \\\n      --costs costs.json --rules rules.yaml\n"
        "  edgeplace flink drain pi-3 --jobmanager http://localhost:8081 --undo\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "node",
        metavar="NODE",
        help="resource id or host of a TaskManager, or a node or site of the cluster file",
    )
    add_connection(parser)
    parser.add_argument(
        "--for",
        dest="for_s",
        type=duration_s,
        default="1h",
        metavar="TIME",
        help="how long, such as 10m, 1h, 2d (default: %(default)s)",
    )
    parser.add_argument(
        "--undo", action="store_true", help="use the node again, and let the jobs return now"
    )
    parser.add_argument("--cluster", metavar="FILE", help="cluster file: its names, and the solver")
    parser.add_argument(
        "--costs",
        action="append",
        default=[],
        metavar="FILE",
        help="costs made by `edgeplace costs`: the solver decides; repeat it for several jobs",
    )
    parser.add_argument("--rules", metavar="FILE", help="rules for the solver")
    parser.add_argument(
        "--job-file",
        action="append",
        default=[],
        metavar="FILE",
        dest="job_files",
        help="job graph that says where the data of sources is born (born_at), which Flink does "
        "not know: without it, the solver leaves sources on their nodes; repeat it for several "
        "jobs",
    )
    add_change(parser)


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Empty a node, or let the jobs return to it."""
    if args.costs and not args.cluster:
        raise InvalidInputError("--costs needs the cluster", "give --cluster FILE too")
    if args.rules and not args.costs:
        raise InvalidInputError("--rules are the solver's, which needs --costs", "give both")
    if args.job_files and not args.costs:
        raise InvalidInputError("--job-file is the solver's, which needs --costs", "give both")
    if not args.undo and args.for_s < args.timeout:
        raise InvalidInputError(
            f"--for {args.for_s} s may be over before a move is seen healthy (--timeout "
            f"{args.timeout:g} s)",
            "drain for longer, or lower --timeout",
        )
    user = read(args.cluster, Cluster) if args.cluster else None
    with connected(args) as live:
        folder = find_plans_folder(live, args.plans)
        drain = _Drain(args, Report(console, "drain", args.json), live, folder, user)
        work = drain.undo if args.undo else drain.begin
        if args.dry_run:
            return work()
        with folder.locked(), ended_like_ctrl_c():
            return work()


class _Drain:
    def __init__(
        self,
        args: argparse.Namespace,
        report: Report,
        live: LiveFlink,
        folder: PlansFolder,
        user: Cluster | None,
    ) -> None:
        self._args = args
        self._report = report
        self._live = live
        self._folder = folder
        self._user = user
        self._now_s = time.time()
        self._jobs = live.jobs()
        self._task_managers = live.task_managers()
        self._closed = cordons(folder, self._now_s)

    def begin(self) -> ExitStatus:
        """Move all that runs on the node elsewhere."""
        node = self._node()
        nows = self._jobs_of(node)
        problems = [p for now in nows for p in self._not_drainable(now)]
        problems += unsettled(self._live, self._folder, self._jobs)
        places: list[Places] = []
        if nows and not problems:
            places, problems = self._elsewhere(nows, node)
        # The solver may have taken its time.
        expires_s = int(time.time()) + self._args.for_s
        self._report.facts = {
            "node": self._args.node,
            "task_managers": sorted(node.registered),
            "expires_s": expires_s,
        }
        proposals = []
        if places:
            for now, after in zip(nows, places, strict=False):
                change = until_change(self._folder, now, after, expires_s, self._task_managers)
                proposals.append(self._proposed(now, after, change))
        if not self._may_go_on(proposals, problems):
            return self._report.end(ApplyEnd.REFUSED)
        if not nows:
            unasked = "; the solver was not asked" if self._args.costs else ""
            self._report.say(f"no subtask runs on {self._args.node}: nothing is to move{unasked}")
        if self._args.dry_run:
            self._report.say(
                "dry run: nothing was changed; "
                + ("the jobs would return at " if nows else "it would take nothing new until ")
                + clock(expires_s)
            )
            return self._report.end("dry run")
        cordon = CordonChange(self._folder, self._args.timeout)
        cordon.put_up(node.task_managers, expires_s)
        self._report.say(f"nothing new is put on {self._args.node} until {clock(expires_s)}")
        self._prolong(node, expires_s)
        end = None
        try:
            end = self._carry_out(proposals, clock(expires_s))
        finally:
            away = any(u.expires_s == expires_s for u in self._drains_of(node.names))
            if end is not ApplyEnd.APPLIED and not away:
                cordon.take_back()
        if end is ApplyEnd.APPLIED:
            end = self._verified_empty(node)
        return self._report.end(end)

    def undo(self) -> ExitStatus:
        """Let the jobs return."""
        self._report.facts = {"node": self._args.node}
        proposals = []
        problems: list[Obstacle] = []
        idle = []
        names = self._node().names
        closed = cordons_of(names, self._closed)
        # A cordon knows the former id of a TaskManager that came back with another one.
        for until in self._drains_of(names.union(*(cordon.names for cordon in closed))):
            job = next((j for j in self._jobs if until.key in (j.id, key(j.name))), None)
            now = self._job_now(job) if job else None
            if now is None or now.until != until:
                idle.append(until)
                continue
            base = base_places(self._folder, now, self._task_managers)
            if base is None:
                problems.append(_unusable(now))
                continue
            proposals.append(self._proposed(now, base, return_change(self._folder, now, until)))
        if not self._may_go_on(proposals, problems):
            return self._report.end(ApplyEnd.REFUSED)
        if not proposals and not idle and not closed:
            self._report.say(f"nothing to undo: no plan keeps a job off {self._args.node}")
            return self._report.end(ApplyEnd.UNCHANGED)
        if self._args.dry_run:
            self._report.say("dry run: nothing was changed")
            return self._report.end("dry run")
        cordon = CordonChange(self._folder, self._args.timeout)
        cordon.lift(closed)
        for until in idle:
            self._folder.remove(until.path)
            self._report.say(f"{until.path} removed: no running job follows it")
        for proposal in proposals:
            end = self._apply(proposal)
            if end is not ApplyEnd.APPLIED:
                cordon.take_back()
                return self._report.end(end)
        self._report.say(f"{self._args.node} is in use again", style="green")
        return self._report.end(ApplyEnd.APPLIED)

    def _may_go_on(self, proposals: Sequence[Proposal], problems: Sequence[Obstacle]) -> bool:
        """Show what would change, and what is in the way."""
        self._report.proposals(proposals)
        moved = tuple(m for proposal in proposals for m in proposal.moves)
        found = [*problems, *(p for proposal in proposals for p in proposal.problems)]
        found += too_many_moves(moved, self._args.max_moves)
        if found:
            # A problem of the cluster is one of each job.
            self._report.problems(list(dict.fromkeys(found)))
        return not found

    def _node(self) -> DrainedNode:
        known = names_in(self._folder, self._closed)
        return node_of(self._args.node, self._task_managers, self._user, known)

    def _jobs_of(self, node: DrainedNode) -> list[JobNow]:
        """Return the jobs that run on the node, or that would if it were there."""
        there = jobs_at(self._live, node.registered, self._jobs)
        found = []
        for job in self._jobs:
            off_plan = is_off_plan(self._folder, job)
            if job not in there and not off_plan:
                continue
            now = self._job_now(job)
            if off_plan:
                now = as_planned(self._folder, now, self._task_managers)
            at = {place for row in now.places.values() for place in row}
            if at & (node.names | node.registered):
                found.append(now)
        return found

    def _drains_of(self, names: Set[str]) -> list[UntilPlan]:
        """Return the plans until a time that keep jobs off a node of these names."""
        return [until for until, left in drains(self._folder).items() if names & left]

    def _job_now(self, job: RunningJob) -> JobNow:
        return job_now(self._live, self._folder, job, self._jobs, self._now_s)

    def _proposed(self, now: JobNow, after: Places, change: FileChange) -> Proposal:
        return propose(
            self._live,
            self._folder,
            now,
            after,
            change,
            self._task_managers,
            self._now_s,
            self._user,
        )

    def _not_drainable(self, now: JobNow) -> list[Obstacle]:
        problems = until_problems(self._folder, now)
        if now.plan_path.exists() and not base_places(self._folder, now, self._task_managers):
            problems.append(_unusable(now))
        gone = {tm for row in now.places.values() for tm in row}
        gone -= {tm.id for tm in self._task_managers}
        if gone and not now.plan_path.exists():
            problems.append(
                Obstacle(
                    f"{now.job.name!r} has no plan to return to, and Flink shows subtasks of it "
                    f"on {some(sorted(gone))}, which is not registered",
                    "drain again once Flink has noticed the loss, and the job runs elsewhere",
                )
            )
        return problems

    def _elsewhere(
        self, nows: Sequence[JobNow], node: DrainedNode
    ) -> tuple[list[Places], list[Obstacle]]:
        closed = cordoned(self._task_managers, self._closed)
        free = {tm.id: tm.free_slots for tm in self._task_managers if tm.id not in closed}
        off = node.registered | node.names
        solved: dict[str, Places] = {}
        if self._user is not None and self._args.costs:
            from edgeplace.case.files import load_any_job
            from edgeplace.commands.flink.drain_solution import solved_elsewhere

            costs = [read(path, Costs) for path in self._args.costs]
            rules = read(self._args.rules, Rules) if self._args.rules else None
            own = [load_any_job(path, self._user)[0] for path in self._args.job_files]
            solved, problems = solved_elsewhere(
                self._live,
                nows,
                off | closed.keys(),
                self._user,
                costs,
                rules,
                own,
                self._args.timeout,
            )
            if problems:
                return [], problems
            for now in (now for now in nows if now.job.id in solved):
                free = free_slots_after(free, now.graph, now.places, solved[now.job.id])
        rest = [now for now in nows if now.job.id not in solved]
        if rest:
            names = ", ".join(repr(now.job.name) for now in rest)
            self._report.say(f"no costs given of {names}: only slots are respected")
        found, problems = worst_fit(rest, off, free)
        solved |= {now.job.id: places for now, places in zip(rest, found, strict=True)}
        return [solved[now.job.id] for now in nows], problems

    def _prolong(self, node: DrainedNode, expires_s: int) -> None:
        """Keep jobs away that left the node before and would return earlier."""
        for until in self._drains_of(node.names):
            if self._now_s < until.expires_s < expires_s:
                self._folder.write(until.key, self._folder.read(until.path) or "", expires_s)
                self._folder.remove(until.path)
                self._report.say(f"{until.path.name} holds until {clock(expires_s)} now")

    def _carry_out(self, proposals: Sequence[Proposal], expires: str) -> ApplyEnd:
        """Apply all of them, or undo those that were."""
        done: list[Proposal] = []
        for proposal in proposals:
            try:
                end = self._with_plan(proposal.now)
                if end is ApplyEnd.APPLIED:
                    end = self._apply(proposal)
            except EdgeplaceError as e:
                if not done:
                    raise
                self._report.warn(str(e))
                end = ApplyEnd.REFUSED
            if end is ApplyEnd.INTERRUPTED and done:
                names = ", ".join(p.now.job.name for p in done)
                self._report.warn(
                    f"{names} moved already and would return at {expires}; see --undo"
                )
                return end
            if end is not ApplyEnd.APPLIED:
                return self._undone(done, end)
            done.append(proposal)
        return ApplyEnd.APPLIED

    def _with_plan(self, now: JobNow) -> ApplyEnd:
        """See to it that a job has a plan to return to."""
        if now.plan_path.exists():
            return ApplyEnd.APPLIED
        change = plan_change(self._folder, now, now.places, self._task_managers)
        return self._apply(self._proposed(now, now.places, change))

    def _undone(self, done: Sequence[Proposal], end: ApplyEnd) -> ApplyEnd:
        """Let jobs return that have moved already; return how it ended in all."""
        try:
            returned = all(self._returned(proposal.now.job) for proposal in reversed(done))
        except EdgeplaceError as e:
            self._report.warn(str(e))
            returned = False
        return end if returned else ApplyEnd.UNVERIFIED

    def _returned(self, job: RunningJob) -> bool:
        now = self._job_now(job)
        base = base_places(self._folder, now, self._task_managers)
        if now.until is None or base is None:
            return False
        change = return_change(self._folder, now, now.until)
        return self._apply(self._proposed(now, base, change)) is ApplyEnd.APPLIED

    def _apply(self, proposal: Proposal) -> ApplyEnd:
        timeout_s = self._args.timeout
        return self._report.carry_out(self._live, self._folder, proposal, timeout_s).end

    def _verified_empty(self, node: DrainedNode) -> ApplyEnd:
        name = self._args.node
        jobs = self._live.jobs()
        left = jobs_at(self._live, node.registered, jobs)
        if left:
            names = ", ".join(f"{j.name!r} ({j.id})" for j in left)
            self._report.warn(f"{names} came to {name} meanwhile: drain it again")
            return ApplyEnd.UNVERIFIED
        moving = unsettled(self._live, self._folder, jobs)
        if moving:
            for problem in moving:
                self._report.warn(str(problem))
            return ApplyEnd.UNVERIFIED
        self._report.say(f"{name} is empty: Flink shows no subtask of any job there", "green")
        for until in self._drains_of(node.names):
            if until.expires_s > self._now_s:
                self._report.say(f"{until.key} returns at {clock(until.expires_s)}, or by --undo")
        return ApplyEnd.APPLIED


def _unusable(now: JobNow) -> Obstacle:
    return Obstacle(
        f"{now.plan_path} is of no use: {now.job.name!r} could not return by it",
        "apply a good plan first",
    )
