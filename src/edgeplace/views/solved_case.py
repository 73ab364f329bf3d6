"""The output of a solved case: text for people, and plain data for programs."""

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from edgeplace.cli.console import Console
from edgeplace.model import Case, Evaluation, Plan, Result, Status, some
from edgeplace.solver import Advice, Policy, Waiting, shifts, sites_of, split, worst_path
from edgeplace.solver.clock import unhurried
from edgeplace.views.bill import show_bill
from edgeplace.views.explain_tables import show_shifts
from edgeplace.views.job_changes import Change, show_job_changes, worth_making
from edgeplace.views.plan_summary import fullest, gain, show_places
from edgeplace.views.reasons import unmet
from edgeplace.views.split import show_split
from edgeplace.views.tables import (
    parallelism,
    proof,
    show_conflict,
    show_periods,
    show_plan,
    show_policies,
    show_proof,
)
from edgeplace.views.terms import Terms, at_demand
from edgeplace.views.worst_path import show_worst_path

_MOST_CHANGES = 8
"""Most rows on what the settings change; `--full` has them all."""
ALL_OF_IT = 0.99
"""Share of the demand from which a plan is not said to sustain less: queues are an estimate."""


@dataclass(frozen=True)
class SolvedCase:
    """The answer to a case, and what it is shown beside."""

    now: Case
    """As it is, without `--set`."""
    asked: Case
    """With `--set`, in the parallelism that runs."""
    case: Case
    """With `--set`, in the parallelism of the plan."""
    result: Result
    unset: Result | None
    """The answer without `--set`, if there is any."""
    supposed: bool = False
    """Whether there is any `--set`."""
    waiting: tuple[Waiting, ...] = ()
    """Jobs that are not placed, because those of higher priority leave no room."""
    others: tuple[Policy, ...] = ()
    """The placements to compare with."""
    advice: tuple[Advice, ...] = ()
    changes: tuple[Change, ...] = ()
    cure_settings: tuple[str, ...] = ()
    """If there is no plan: the confirmed cure as texts for `--set`, if it can be written so."""

    def updated(self, **fields: object) -> Self:
        """Return it with other fields of the result."""
        return dataclasses.replace(self, result=self.result.model_copy(update=fields))


def as_json(found: SolvedCase) -> dict[str, object]:
    """Return result and comparison as plain data."""
    result = found.result
    return {
        **result.model_dump(mode="json"),
        "levels": [{**v.model_dump(mode="json"), "gap": v.gap} for v in result.levels],
        "bound": result.bound,
        "gap": result.gap,
        **_growth(result.evaluation),
        "waiting": [
            {
                "job": w.job,
                "priority": w.priority,
                "beside": w.beside,
                "status": w.result.status,
                "conflict": w.result.conflict and w.result.conflict.model_dump(mode="json"),
            }
            for w in found.waiting
        ],
        "compared": {
            p.name: {**p.evaluation.model_dump(mode="json"), **_growth(p.evaluation)}
            for p in found.others
        },
        "advice": [dataclasses.asdict(a) for a in found.advice],
        "job_changes": [dataclasses.asdict(c) for c in found.changes],
        "cure_settings": found.cure_settings,
        "without_settings": found.unset.model_dump(mode="json") if found.unset else None,
    }


def _growth(found: Evaluation | None) -> dict[str, float | None]:
    """Return the factors by which rates can grow; JSON has no infinity."""
    if found is None:
        return {"headroom": None, "sustained": None}
    return {"headroom": _finite(found.headroom), "sustained": _finite(found.sustained)}


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None


def not_placed(found: Waiting) -> str:
    """Return which job is not placed, and why, as a sentence."""
    beside = f" beside {some([repr(job) for job in found.beside])}" if found.beside else ""
    conflict = found.result.conflict
    if found.result.status is not Status.INFEASIBLE:
        why = f"no plan with it was found; stopped by {found.result.stopped_by.value}"
    elif conflict is None:
        why = f"it does not fit{beside}"
    else:
        sure = "" if conflict.confirmed else " (not confirmed)"
        why = f"it does not fit{beside}; cure{sure}: {conflict.cure}"
    return f"job {found.job!r} (priority {found.priority}) is not placed: {why}"


def show_solved(console: Console, found: SolvedCase, full: bool) -> None:
    """Print the plan or why there is none, the comparison, the notes, and what `--set` changes."""
    case, result, unset = found.case, found.result, found.unset
    compared = [(p.name, p.evaluation) for p in found.others]
    if unset and unset.evaluation:
        compared.insert(0, ("without --set", unset.evaluation))
    if result.plan and result.evaluation:
        _show_plan(console, found, result.plan, result.evaluation, compared, full)
    elif result.status is Status.INFEASIBLE:
        show_conflict(console, result, Terms.of(case.cluster), found.cure_settings)
        if compared:
            console.heading(f"for comparison, {at_demand(compared[0][1], found.supposed)}")
            show_policies(console, compared, Terms.of(case.cluster), by_link=full)
    else:
        console.text(f"no plan found: stopped by {result.stopped_by.value}", style="yellow")
    console.notes(result.notes)
    if unset:
        _show_changes(console, found, unset, full)


def _show_plan(
    console: Console,
    found: SolvedCase,
    plan: Plan,
    evaluation: Evaluation,
    compared: Sequence[tuple[str, Evaluation]],
    full: bool,
) -> None:
    case, result = found.case, found.result
    if full:
        show_plan(console, case.jobs, plan)
    else:
        show_places(console, case.jobs, case.cluster, plan)
    console.heading(f"compared, {at_demand(evaluation, found.supposed)}")
    terms = Terms.of(case.cluster)
    show_policies(console, [("edgeplace", evaluation), *compared], terms, by_link=full)
    for p in found.others[:1]:
        console.text(gain(p.name, p.evaluation, evaluation, terms), style="bold")
    if said := terms.explanation():
        console.text(said, style="dim")
    if full:
        show_bill(console, case.cluster, evaluation)
        slowest = worst_path(case.jobs, case.cluster, plan, case.rules, case.current)
        if slowest:
            show_worst_path(console, slowest)
    show_periods(console, evaluation, terms)
    console.text(fullest(case.cluster, evaluation, case.rules))
    if said := unmet(evaluation):
        console.text(said, style="yellow")
    if result.chosen:
        console.text(f"parallelism: {parallelism(case, result)}", style="bold")
    if full:
        console.heading("proof")
        show_proof(console, result, terms)
    else:
        proved = result.status is Status.OPTIMAL
        console.text(proof(result, terms), style="green" if proved else "yellow")
    for a in found.advice:
        now, then = (terms.rate(v) for v in (a.wan_bytes_per_s, a.local_wan_bytes_per_s))
        console.text(
            f"a change to the job {a.job} would help: with {a.source} -> {a.target} as "
            f"{a.local.value} instead of {a.now.value}, the WAN would carry {then} instead of "
            f"{now}"
        )
    if plan.weights:
        operators = [op for each in plan.weights.values() for op in each]
        with unhurried():
            weighted = split(case.jobs, case.cluster, plan, operators, case.rules, case.current)
            show_split(console, case.jobs, case.cluster, weighted)
    # `explain` has all of them, with what is missing or would not pay.
    show_job_changes(console, found.changes if full else worth_making(found.changes), terms)
    if evaluation.feasible:
        if evaluation.sustained < ALL_OF_IT:
            console.text(
                f"this plan sustains {100 * evaluation.sustained:.3g} % of the demand, though each "
                "limit holds: buffers between the sites wait for busy processors. More buffers "
                "for each gate, or less work on the fullest thread or node, may let all of it "
                "through",
                style="bold yellow",
            )
    elif evaluation.sustained < 1:
        console.text(
            f"this plan sustains {100 * evaluation.sustained:.3g} % of the demand; without "
            "throughput in --objective, edgeplace solve says what would let all of it through",
            style="bold yellow",
        )
    if evaluation.headroom < min(1.0, evaluation.sustained):
        console.text(
            "a link is full: Flink sends fuller buffers over it, and waits with the next "
            "checkpoint where one takes longer than its interval",
            style="bold yellow",
        )


def _show_changes(console: Console, found: SolvedCase, unset: Result, full: bool) -> None:
    """Print which subtasks the settings move."""
    result = found.result
    if unset.plan is None:
        console.text(f"without the settings: {unset.status.value}, no plan to compare with")
    elif unset.chosen != result.chosen and unset.chosen:
        console.text(f"without the settings, the parallelism is {parallelism(found.now, unset)}")
    elif result.plan:
        now = found.now.in_parallelism_of(result.plan)
        console.heading("what the settings change")
        sites = sites_of(now.cluster, found.case.cluster)
        sources = {(job.name, op.id) for job in now.jobs for op in job.sources()}
        # Sources without their data, which may run anywhere, come last.
        moved = sorted(
            shifts(now.jobs, unset.plan, result.plan, sites),
            key=lambda s: s.source in found.case.lost and (s.job, s.operator) in sources,
        )
        show_shifts(console, moved, len(moved) if full else _MOST_CHANGES)


def show_next(console: Console, args: argparse.Namespace) -> None:
    """Print what to do with a plan: keep it, or ask why it is so, of the same case."""
    if args.output and Path(args.output).is_file():
        console.command("next: ", _explain(args))
    else:
        keep = "" if args.output else "-o plan.json keeps this plan; "
        console.text(f"next: {keep}--full shows every subtask")


def _explain(args: argparse.Namespace) -> list[str]:
    given = args.given
    words = [*given.jobs, given.cluster] if given.jobs else []
    words.append(args.output)
    # The plan says what --set supposes, and the project file what is not given.
    options = {"--costs": given.costs, "--rules": [given.rules], "--current": given.current}
    options |= {"--taken": given.taken, "--env": [given.env], "--optimise": [given.optimise]}
    options |= {"--objective": [None if given.optimise else given.objective]}
    for option, values in options.items():
        words += [text for value in values if value is not None for text in (option, value)]
    return ["edgeplace", "explain", *words]
