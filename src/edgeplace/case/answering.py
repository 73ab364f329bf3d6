"""A case solved for the command line: asked with and without `--set`, and compared."""

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from edgeplace import solver
from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.foreign_data import foreign_data
from edgeplace.case.parallelism import asked_parallelism
from edgeplace.case.unpaid import unpaid_bytes
from edgeplace.case.what_if import as_settings
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outcome import status_of
from edgeplace.cli.whole_call import share_s, time_is_over
from edgeplace.model import Case, InvalidInputError, Limit, Result, Status, StoppedBy
from edgeplace.views.job_changes import job_changes
from edgeplace.views.solved_case import SolvedCase, not_placed
from edgeplace.views.tables import CURRENT

_OUT_OF_TIME = (
    "the time limit was over before everything was compared: placements of others, and changes to "
    "the job that would help, may be missing"
)


def solved(
    now: Case, asked: Case, args: argparse.Namespace, tell: Callable[[str], None]
) -> SolvedCase:
    """Solve a case, and without `--set` if it has any; nothing is compared yet.

    If not all jobs fit, those of higher priority are solved, and the others wait.
    """
    admitted = solver.by_priority(asked, lambda case: _solved(case, args, tell))
    case, result = admitted.case, admitted.result
    if admitted.waiting:
        asked = case
        now = now.without_jobs({w.job for w in admitted.waiting})
    compare = args.set and result.stopped_by is not StoppedBy.INTERRUPT
    unset, unknown = _unset(now, args, tell) if compare else (None, ())
    if result.plan:
        case = case.in_parallelism_of(result.plan)
    if unset and unset.plan and unset.chosen == result.chosen and not args.split:
        result = solver.nearest_alike(
            case.jobs, case.cluster, result, unset.plan, case.rules, case.current
        )
    waiting = map(not_placed, admitted.waiting)
    notes = (*waiting, *case.notes, *cluster_notes(now.cluster), *result.notes, *unknown)
    result = result.model_copy(update={"notes": notes})
    return SolvedCase(now, asked, case, result, unset, bool(args.set), admitted.waiting)


def compared(found: SolvedCase, chosen: bool) -> SolvedCase:
    """Return an answer with what it was compared with, notes on that, and advice.

    Parameters
    ----------
    chosen
        Whether the objective is one that the user asked for.
    """
    asked, case, result = found.asked, found.case, found.result
    jobs, cluster, rules, current = case.jobs, case.cluster, case.rules, case.current
    policies = solver.policies(jobs, cluster, rules, current)
    if current and (result.chosen or (result.plan and result.plan.weights)):
        # What runs now has the parallelism and the weights that it has now.
        was = solver.policies(asked.jobs, cluster, asked.rules, asked.current)
        policies = tuple(next((q for q in was if q.name == p.name == CURRENT), p) for p in policies)
    others = tuple(p for p in policies if p.name in (CURRENT, "all-server"))
    advice = solver.advice(jobs, cluster, result, rules, current)
    more: list[str] = []
    if result.status is Status.INFEASIBLE:
        more.extend(map(_doubt, _doubted(others)))
    elif result.plan and time_is_over():
        more.append(_OUT_OF_TIME)
    if said := unpaid_bytes(cluster, result, others, chosen):
        more.append(said)
    if result.plan and (said := foreign_data(case, result.plan)):
        more.append(said)
    changes = job_changes(case, result.plan) if result.plan and not time_is_over() else ()
    conflict = result.conflict
    cure = as_settings(conflict.changes, cluster) if conflict and conflict.confirmed else ()
    found = dataclasses.replace(
        found, others=others, advice=advice, changes=changes, cure_settings=cure
    )
    return found.updated(notes=(*result.notes, *more))


def _solved(case: Case, args: argparse.Namespace, tell: Callable[[str], None]) -> Result:
    options: solver.SolveOptions = {
        "objective": args.objective.split(","),
        # The rest is for lost sites, the case without `--set`, and what is compared.
        "time_limit_s": share_s(0.3 if args.survive else 0.6 if args.set else 0.9),
        "gap": args.gap,
        "backend": args.backend,
        "progress": tell,
        "parallelism": asked_parallelism(args.parallelism),
    }
    if args.split:
        return solver.place_and_split(case, args.split, **options).result
    return solver.solve_case(case, **options)


def _unset(
    now: Case, args: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[Result | None, tuple[str, ...]]:
    """Return the answer without the settings; where they complete the input, a note instead."""
    try:
        result = _solved(now, args, tell)
    except InvalidInputError as e:
        return None, (f"there is no answer without --set to compare with: {e.what}",)
    if status_of(result) is ExitStatus.NOT_PROVED:
        return result, (
            f"the plan without --set was not proved best: stopped by {result.stopped_by.value}",
        )
    return result, ()


def _doubted(others: Sequence[solver.Policy]) -> Iterator[Limit]:
    """Yield the limits that what runs exceeds by less than costs varied as they were measured."""
    for p in others:
        if p.name == CURRENT and p.evaluation.within_measurement:
            yield from p.evaluation.violations


def _doubt(found: Limit) -> str:
    over = found.utilisation - 1
    return (
        f"the current placement exceeds {found.kind} {found.where} by {over:.2%}, and the costs "
        f"behind it varied by {found.spread:.2%} as they were measured: it may well hold. Ask at a "
        f"little less than was measured (--set rate=x{1 / (1 + over) - 0.0005:.3f}), or with "
        "--objective throughput,wan"
    )
