"""`edgeplace solve`."""

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgeplace import settings
from edgeplace.adapters.flink import load_job, schedulercfg
from edgeplace.console import Console
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Plan,
    Result,
    Rules,
    Status,
    StoppedBy,
    check_writable,
    load,
    parse,
    read,
    write,
    write_text,
)
from edgeplace.quantities import size
from edgeplace.report.solution import solution_page
from edgeplace.solver import Advice, Policy, advice, policies, solve
from edgeplace.status import ExitStatus
from edgeplace.tables import show_conflict, show_plan, show_policies, show_proof


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Solve, compare with where the job runs now and with all-server, and write the plan."""
    for path in filter(None, (args.output, args.schedulercfg, args.report)):
        check_writable(path)
    cluster = read(args.cluster, Cluster)
    job, seen = load_job(args.job)
    if args.costs:
        costs = read(args.costs, Costs)
        job = job.with_costs(costs)
        seen = costs.placement or seen
    job = settings.apply(job, args.set)
    rules = read(args.rules, Rules) if args.rules else None
    current = _current(args.current, job, cluster) or placed(job, cluster, seen)
    with console.progress("searching") as tell:
        result = solve(
            job,
            cluster,
            rules,
            objective=args.objective.split(","),
            current=current,
            time_limit_s=args.time_limit,
            gap=args.gap,
            backend=args.backend,
            progress=tell,
        )
    others = [
        p for p in policies(job, cluster, rules, current) if p.name in ("current", "all-server")
    ]
    local = advice(job, cluster, result, rules, current)
    if result.plan and args.output:
        write(result.plan, args.output)
    if result.plan and args.schedulercfg:
        text = schedulercfg.render(result.plan.of(job.name), job, cluster)
        write_text(text, args.schedulercfg)
    if args.report:
        case = Instance(
            name=job.name, jobs=(job,), cluster=cluster, rules=rules or Rules(), current=current
        )
        objective = args.objective.split(",")
        write_text(solution_page(case, result, others, local, objective), args.report)
    if args.json:
        console.raw(json.dumps(as_json(result, others, local), indent=1, ensure_ascii=False) + "\n")
    else:
        _show(console, job, result, others, local, args)
    return status_of(result)


def status_of(result: Result) -> ExitStatus:
    """Return the exit status that stands for a result."""
    if result.status is Status.INFEASIBLE:
        return ExitStatus.INFEASIBLE
    if result.status is Status.UNKNOWN:
        return ExitStatus.NO_PLAN
    if result.status is Status.OPTIMAL or result.stopped_by is StoppedBy.GAP:
        return ExitStatus.OK
    return ExitStatus.NOT_PROVED


def as_json(
    result: Result, others: Sequence[Policy], local: Sequence[Advice] = ()
) -> dict[str, object]:
    """Return result and comparison as plain data."""
    levels = [{**level.model_dump(mode="json"), "gap": level.gap} for level in result.levels]
    return {
        **result.model_dump(mode="json"),
        "levels": levels,
        "bound": result.bound,
        "gap": result.gap,
        "headroom": _finite(result.evaluation.headroom) if result.evaluation else None,
        "compared": {
            p.name: {
                **p.evaluation.model_dump(mode="json"),
                "headroom": _finite(p.evaluation.headroom),
            }
            for p in others
        },
        "advice": [dataclasses.asdict(a) for a in local],
    }


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None


def placed(
    job: JobGraph, cluster: Cluster, seen: Mapping[str, tuple[str | None, ...]] | None
) -> Plan | None:
    """Return a placement as Flink reports it as a plan in the cluster's names.

    A subtask that was not seen, or whose TaskManager the cluster does not list, keeps the name
    Flink gave, which matches nothing: the solver takes its place as unknown.
    """
    if not seen:
        return None

    def name(location: str | None) -> str:
        if location is None:
            return "(unassigned)"
        return cluster.resolve_task_manager(location) or location

    return Plan(
        jobs={job.name: {job.operator(op).id: tuple(map(name, tms)) for op, tms in seen.items()}}
    )


def _current(path: str | None, job: JobGraph, cluster: Cluster) -> Plan | None:
    if path is None:
        return None
    try:
        raw = Path(path).read_bytes()
    except OSError as e:
        raise InvalidInputError(f"{path}: cannot be read: {e.strerror}", "check the path") from e
    # The name of a task may start with a brace.
    is_json = raw.lstrip().startswith(b"{") and b'"jobs"' in raw
    if is_json or set(Path(path).suffixes) & {".yaml", ".yml", ".json", ".gz"}:
        return parse(load(path), Plan, path)
    return Plan(jobs={job.name: schedulercfg.read(path, job=job, cluster=cluster)})


def _show(
    console: Console,
    job: JobGraph,
    result: Result,
    others: Sequence[Policy],
    local: Sequence[Advice],
    args: argparse.Namespace,
) -> None:
    if result.plan and result.evaluation:
        show_plan(console, [job], result.plan)
        console.heading("compared, at the stated demand")
        rows = [("edgeplace", result.evaluation), *((p.name, p.evaluation) for p in others)]
        show_policies(console, rows)
        console.heading("proof")
        show_proof(console, result)
        for a in local:
            now, then = size(a.wan_bytes_per_s, "/s"), size(a.local_wan_bytes_per_s, "/s")
            console.text(
                f"a change to the job would help: with {a.source} -> {a.target} as {a.local.value} "
                f"instead of {a.now.value}, the WAN would carry {then} instead of {now}"
            )
        if result.evaluation.headroom < 1:
            console.text(
                f"this plan sustains {100 * result.evaluation.headroom:.3g} % of the demand",
                style="bold yellow",
            )
    elif result.status is Status.INFEASIBLE:
        show_conflict(console, result)
        if others:
            console.heading("for comparison, at the stated demand")
            show_policies(console, [(p.name, p.evaluation) for p in others])
    else:
        console.text(f"no plan found: stopped by {result.stopped_by.value}", style="yellow")
    for note in result.notes:
        console.text(f"note: {note}", style="dim")
    for option, path in (("plan", args.output), ("schedulercfg", args.schedulercfg)):
        if path and result.plan:
            console.text(f"{option} written to {path}")
    if args.report:
        console.text(f"report written to {args.report}")
