"""`edgeplace solve`."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Sequence

from edgeplace import pareto_command, settings
from edgeplace.adapters.flink import schedulercfg
from edgeplace.case_files import Case, read_case
from edgeplace.console import Console
from edgeplace.explain_tables import show_shifts
from edgeplace.held_at_lost_site import refused
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    InvalidInputError,
    JobGraph,
    Result,
    Rules,
    Status,
    StoppedBy,
    check_writable,
    write,
    write_text,
)
from edgeplace.quantities import size
from edgeplace.report.solution import solution_page
from edgeplace.solver import Advice, Policy, advice, policies, shifts, sites_of, solve
from edgeplace.solver.clock import running
from edgeplace.status import ExitStatus
from edgeplace.tables import show_conflict, show_plan, show_policies, show_proof
from edgeplace.whole_call import share_s, within_time_limit

_OUT_OF_TIME = (
    "the time limit was over before everything was compared: placements of others, and changes to "
    "the job that would help, may be missing"
)


@within_time_limit
def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Solve, compare with where the job runs now and with all-server, and write the plan."""
    for path in filter(None, (args.output, args.schedulercfg, args.report)):
        check_writable(path)
    if args.pareto is not None:
        return pareto_command.run(args, console)
    now = read_case(args)
    case, said = settings.apply(now, args.set)
    with console.progress("searching") as tell:
        result = _solved(case, args, tell)
        unset, unknown = _unset(now, args, tell) if args.set else (None, ())
    result = result.model_copy(update={"notes": (*said, *result.notes, *unknown)})
    job, cluster, rules, current = case.job, case.cluster, case.rules, case.current
    others = [
        p for p in policies(job, cluster, rules, current) if p.name in ("current", "all-server")
    ]
    local = advice(job, cluster, result, rules, current)
    if result.plan and running().left() == 0.0:
        result = result.model_copy(update={"notes": (*result.notes, _OUT_OF_TIME)})
    if result.plan and args.output:
        write(result.plan, args.output)
    if result.plan and args.schedulercfg:
        text = schedulercfg.render(result.plan.of(job.name), job, cluster)
        write_text(text, args.schedulercfg)
    if args.report:
        instance = Instance(
            name=job.name, jobs=(job,), cluster=cluster, rules=rules or Rules(), current=current
        )
        objective = args.objective.split(",")
        write_text(solution_page(instance, result, others, local, objective), args.report)
    if args.json:
        found = as_json(result, others, local, unset)
        console.raw(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    else:
        _show(console, job, result, others, local, args, unset)
        if unset:
            _show_changes(console, now, case, unset, result)
    return status_of(result)


def _solved(case: Case, args: argparse.Namespace, tell: Callable[[str], None]) -> Result:
    return refused(case, args.backend) or solve(
        case.job,
        case.cluster,
        case.rules,
        objective=args.objective.split(","),
        current=case.current,
        # The rest is for the case without the settings, and for what is compared.
        time_limit_s=share_s(0.6 if args.set else 0.9),
        gap=args.gap,
        backend=args.backend,
        progress=tell,
    )


def _unset(
    now: Case, args: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[Result | None, tuple[str, ...]]:
    """Return the answer without the settings; where they complete the input, a note instead."""
    try:
        return _solved(now, args, tell), ()
    except InvalidInputError as e:
        return None, (f"there is no answer without --set to compare with: {e.what}",)


def _show_changes(console: Console, now: Case, then: Case, unset: Result, result: Result) -> None:
    """Print which subtasks the settings move."""
    if unset.plan is None:
        console.text(f"without the settings: {unset.status.value}, no plan to compare with")
    elif result.plan:
        console.heading("what the settings change")
        sites = sites_of(now.cluster, then.cluster)
        show_shifts(console, shifts([now.job], unset.plan, result.plan, sites))


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
    result: Result,
    others: Sequence[Policy],
    local: Sequence[Advice] = (),
    unset: Result | None = None,
) -> dict[str, object]:
    """Return result and comparison as plain data; `unset` is the result without `--set`."""
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
        "without_settings": unset.model_dump(mode="json") if unset else None,
    }


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None


def _show(
    console: Console,
    job: JobGraph,
    result: Result,
    others: Sequence[Policy],
    local: Sequence[Advice],
    args: argparse.Namespace,
    unset: Result | None,
) -> None:
    compared = [(p.name, p.evaluation) for p in others]
    if unset and unset.evaluation:
        compared.insert(0, ("without --set", unset.evaluation))
    if result.plan and result.evaluation:
        show_plan(console, [job], result.plan)
        console.heading("compared, at the stated demand")
        show_policies(console, [("edgeplace", result.evaluation), *compared])
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
        if compared:
            console.heading("for comparison, at the stated demand")
            show_policies(console, compared)
    else:
        console.text(f"no plan found: stopped by {result.stopped_by.value}", style="yellow")
    for note in result.notes:
        console.text(f"note: {note}", style="dim")
    for option, path in (("plan", args.output), ("schedulercfg", args.schedulercfg)):
        if path and result.plan:
            console.text(f"{option} written to {path}")
    if args.report:
        console.text(f"report written to {args.report}")
