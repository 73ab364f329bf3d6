"""Check jobs: they have plans, run at the places of the plans, and can be moved."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from edgeplace.adapters.flink.checks.agent_obeys import unknown_job
from edgeplace.adapters.flink.checks.finding import Finding, Severity, listed
from edgeplace.adapters.flink.doctor.snapshot import Seen, SeenJob
from edgeplace.adapters.flink.plans.agent_files import AgentInfo
from edgeplace.adapters.flink.plans.cordons import undo_command
from edgeplace.adapters.flink.plans.folder import SUFFIX, clock
from edgeplace.adapters.flink.schedulercfg.names import without_counters
from edgeplace.model import JobGraph


def check_jobs(seen: Seen) -> Iterator[Finding]:
    """Tell which jobs have one name, cannot be examined, or do not run in full."""
    if not seen.jobs:
        yield Finding(Severity.OK, "jobs", "no job runs")
    yield from _of_one_name(seen.jobs)
    for job in seen.jobs:
        if job.graph is None:
            yield Finding(Severity.NOTE, "jobs", f"{_of(job)} is not examined: {job.unread}")
            continue
        if job.state != "RUNNING":
            yield Finding(
                Severity.WARNING,
                "jobs",
                f"{_of(job)} is {job.state}",
                "see its exceptions in Flink's web page",
            )
            continue
        total = sum(op.parallelism for op in job.graph.operators)
        if job.not_running:
            yield Finding(
                Severity.WARNING,
                "jobs",
                f"{job.not_running} of {total} subtasks of {_of(job)} are not running",
                "if this stays so, they wait for slots: start TaskManagers or free slots",
            )
        else:
            yield Finding(Severity.OK, "jobs", f"all {total} subtasks of {_of(job)} are running")


def _of_one_name(jobs: Sequence[SeenJob]) -> Iterator[Finding]:
    """Tell which jobs a plan with a job's name cannot tell apart."""
    names = Counter(job.name for job in jobs)
    for name in (name for name, count in names.items() if count > 1):
        ids = listed([job.id for job in jobs if job.name == name])
        yield Finding(
            Severity.WARNING,
            "jobs of one name",
            f"{names[name]} jobs are called {name!r}: {ids}. A plan in the folder of plans with "
            "this name is for each of them",
            "start one of them with another name; until then, apply to each by its id: "
            "edgeplace flink apply PLAN --job ID",
        )


def check_plans(seen: Seen) -> Iterator[Finding]:
    """Tell what became of the plan of each job."""
    for job in seen.jobs:
        status = job.status
        if status is None:
            yield from _unknown(seen, job)
            continue
        why = listed(status.reasons, "; ")
        match status.state:
            case "rejected":
                yield Finding(
                    Severity.PROBLEM,
                    "plans",
                    f"the plan of {_of(job)} is rejected, its former placement stays: {why}",
                    f"correct {status.plan_file}, or make a plan for the job as it runs",
                )
            case "pending":
                yield Finding(
                    Severity.WARNING,
                    "plans",
                    f"the plan of {_of(job)} is good and not used yet: {why}",
                    "it is used when the job starts next: stop it with a savepoint and start it "
                    "again, or cure the reason",
                )
            case "waiting":
                missing = listed(status.waiting_for)
                yield Finding(
                    Severity.PROBLEM,
                    "plans",
                    f"{_of(job)} waits for {missing}: "
                    + (why or "not registered, or no slot is free there"),
                    "start that TaskManager, free a slot there, or apply a plan without it",
                )
            case "away":
                moved = listed([f"{a.task} of {a.planned} at {a.runs_at}" for a in status.away])
                yield Finding(
                    Severity.WARNING,
                    "plans",
                    f"{len(status.away)} subtasks of {_of(job)} run elsewhere: {moved}",
                    "start the TaskManager they are planned on: they come home by themselves",
                )
            case "moving":
                # By a plan, or after a failure.
                yield Finding(
                    Severity.NOTE,
                    "plans",
                    f"{_of(job)} is being redeployed" + (f": {why}" if why else ""),
                )
            case "placed" if job.planned and _strays(job, job.planned):
                strays = _strays(job, job.planned)
                yield Finding(
                    Severity.PROBLEM,
                    "plans",
                    f"the agent says that {_of(job)} runs where its plan says, and Flink shows "
                    f"{len(strays)} subtasks elsewhere: {listed(strays)}",
                    "look again in a few seconds: Flink answers from a cache; if it stays so, see "
                    "the JobManager's log",
                )
            case "placed":
                yield Finding(
                    Severity.OK,
                    "plans",
                    f"{status.exact} of {status.subtasks} subtasks of {_of(job)} run where its "
                    "plan says",
                )
            case "unplanned" if status.reasons:
                yield Finding(
                    Severity.PROBLEM,
                    "jobs without a plan",
                    f"{_of(job)} has no plan, and {why}",
                )
            case "unplanned":
                pass


def _unknown(seen: Seen, job: SeenJob) -> Iterator[Finding]:
    agent = seen.plans.agent if seen.plans else None
    if isinstance(agent, AgentInfo) and agent.alive(seen.now_s) and job.graph is not None:
        yield unknown_job(job.name, job.id)


def _strays(job: SeenJob, planned: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the subtasks that Flink shows elsewhere than where a plan has them."""
    return [
        f"{op.name} ({i + 1}/{op.parallelism}) at {place}, not at {wanted}"
        for op in (job.graph.operators if job.graph else ())
        for i, (place, wanted) in enumerate(zip(job.places[op.id], planned[op.id], strict=True))
        if place != wanted
    ]


def check_drains(seen: Seen) -> Iterator[Finding]:
    """Tell which jobs are off their usual places for a time."""
    if seen.plans is None:
        return
    until = {u.path.name: u for u in seen.plans.until}
    for job in seen.jobs:
        status = job.status
        if status is None or status.plan_file is None or status.state == "rejected":
            continue
        drain = until.get(Path(status.plan_file).name)
        if drain is None:
            continue
        usual, now = (
            seen.plans.locations.get(name, frozenset())
            for name in (f"{drain.key}{SUFFIX}", drain.path.name)
        )
        undo = undo_command(usual - now, seen.plans.cordons)
        yield Finding(
            Severity.NOTE,
            "drains",
            f"{_of(job)} is kept off its usual place until {clock(drain.expires_s)} by "
            f"{drain.path.name}; it returns early "
            + (f"by `{undo}`" if undo else f"if you remove {drain.path}"),
        )


def check_cordons(seen: Seen) -> Iterator[Finding]:
    """Tell which TaskManagers take nothing new, and which cordons the agent does not keep."""
    if seen.plans is None:
        return
    agent = seen.plans.agent
    told = {c.file: c.problem for c in agent.cordons} if isinstance(agent, AgentInfo) else {}
    for cordon in seen.plans.cordons:
        file, names = cordon.path.name, listed(sorted(cordon.names))
        if file in told and told[file] is None:
            yield Finding(
                Severity.NOTE,
                "cordons",
                f"{names} takes nothing new until {cordon.end} ({file})",
                f"`edgeplace flink uncordon {min(cordon.names)}` lifts it earlier",
            )
        else:
            told.setdefault(file, "the agent has not seen it")
    for file, problem in told.items():
        if problem is not None:
            yield Finding(
                Severity.WARNING,
                "cordons",
                f"the agent does not keep {file}: {problem}",
                "remove it, or drain the node again",
            )


def check_unplanned(seen: Seen) -> Iterator[Finding]:
    """Tell which jobs without a plan hold slots that plans name, or may take them."""
    if seen.plans is None or seen.plans.agent is None or not seen.plans.locations:
        return
    named = frozenset().union(*seen.plans.locations.values())
    planned = [tm for tm in seen.task_managers if tm.id in named or tm.host in named]
    for job in seen.jobs:
        if job.status is not None and job.status.state != "unplanned":
            continue
        held = {tm.id: tm.held[job.id] for tm in planned if tm.held.get(job.id)}
        where = ", ".join(f"{n} of {tm}" for tm, n in held.items())
        now = f"it holds slots that plans name: {where}" if held else "it holds none now"
        yield Finding(
            Severity.WARNING if held else Severity.NOTE,
            "jobs without a plan",
            f"{_of(job)} has no plan and may take slots that planned jobs want; {now}",
            "give it a plan of its own with `edgeplace flink apply`",
        )


def check_named_task_managers(seen: Seen) -> Iterator[Finding]:
    """Tell which locations in plans mean no registered TaskManager, or several."""
    if seen.plans is None:
        return
    for file, locations in seen.plans.locations.items():
        fits = {
            place: [tm.id for tm in seen.task_managers if place in (tm.id, tm.host)]
            for place in sorted(locations)
        }
        missing = [place for place, ids in fits.items() if not ids]
        if missing:
            yield Finding(
                Severity.WARNING,
                "plans",
                f"{file} names {listed(missing)}: no such TaskManager is registered",
                "start it with this taskmanager.resource-id or host, or apply a new plan",
            )
        for place, ids in fits.items():
            if len(ids) > 1 and place not in ids:
                yield Finding(
                    Severity.PROBLEM,
                    "plans",
                    f"{file} names {place}, which means {len(ids)} TaskManagers: {listed(ids)}",
                    "name them by their resource ids (set taskmanager.resource-id on each)",
                )


def check_names(seen: Seen) -> Iterator[Finding]:
    """Tell which names of operators cannot stand in a plan."""
    for job in seen.jobs:
        for what in _ambiguous(job.graph) if job.graph else ():
            yield Finding(
                Severity.NOTE,
                "names",
                f"{_of(job)}: {what}",
                "edgeplace writes JobVertexIDs in their place; so do in plans you write yourself",
            )


def _ambiguous(graph: JobGraph) -> Iterator[str]:
    by_name: dict[str, list[str]] = {}
    for op in graph.operators:
        by_name.setdefault(without_counters(op.name), []).append(op.name)
    for names in by_name.values():
        if len(names) > 1:
            yield f"operators that plans cannot tell apart by name: {listed(names)}"
    ids = {op.id for op in graph.operators}
    for op in graph.operators:
        if op.name in ids - {op.id}:
            yield f"the name of operator {op.id} is the JobVertexID of another: {op.name}"


def check_checkpoints(seen: Seen) -> Iterator[Finding]:
    """Tell which jobs cannot be moved while they run."""
    for job in seen.jobs:
        done = job.checkpoints
        if done is None:
            continue
        if done.interval_ms is None:
            yield Finding(
                Severity.WARNING,
                "checkpoints",
                f"{_of(job)} takes no checkpoints: it cannot be moved while it runs",
                "set execution.checkpointing.interval; without, a plan is used when it starts next",
            )
        elif done.last_failed_ms is not None and (
            done.last is None or done.last_failed_ms > done.last.triggered_ms
        ):
            said = done.last_failure.strip().splitlines()
            yield Finding(
                Severity.PROBLEM,
                "checkpoints",
                f"the last checkpoint of {_of(job)} failed"
                + (f": {said[0]}" if said else "")
                + ". A job is moved by way of a checkpoint",
                "cure the checkpoints first: see Checkpoints of the job in Flink's web page",
            )
        elif done.last is None:
            yield Finding(
                Severity.NOTE,
                "checkpoints",
                f"{_of(job)} has completed no checkpoint yet",
            )
        else:
            yield Finding(
                Severity.OK,
                "checkpoints",
                f"the last checkpoint of {_of(job)} took {done.last.duration_ms:,} ms",
            )


def _of(job: SeenJob) -> str:
    return f"{job.name!r} ({job.id[:8]})"
