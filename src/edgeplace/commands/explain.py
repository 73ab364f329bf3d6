"""`edgeplace explain`: reasons for a plan, and the effect of other places."""

import argparse
import dataclasses
import json
import shlex
import time
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.files import of_plan, read_case, read_job_plan
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_backend, add_case, preset_of
from edgeplace.cli.quantities import percent
from edgeplace.model import (
    Case,
    Cluster,
    ObjectiveName,
    PeriodEvaluation,
    Plan,
    objective_levels,
)
from edgeplace.views.terms import Terms

if TYPE_CHECKING:
    from edgeplace.solver import Moves, Reason

LOADS = ("edgeplace.solver",)


_PRICES_S, _SEARCHES_S = 60.0, 10.0
"""Each price is a search of its own: of the 40 depots, all together take half a minute."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Say what binds in a plan and why each operator is where it is; for a subtask, "
        "every other place with what it would cost or break; what one more slot, core or Mbit/s "
        "is worth; what differs between two plans. Every figure is the evaluator's."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace explain job.json cluster.yaml plan.json --costs costs.json\n"
        "  edgeplace explain job.json cluster.yaml plan.json --subtask 'filter (2/4)'\n"
        "  edgeplace explain job.json cluster.yaml plan.json --prices --time-limit 30\n"
        "  edgeplace explain job.json cluster.yaml new.json --against old.json\n"
        "  edgeplace explain first.yaml second.yaml cluster.yaml plan.json\n"
        "  edgeplace explain plan.json             in a folder with edgeplace.yaml\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_case(parser, with_plan=True)
    question = parser.add_mutually_exclusive_group()
    question.add_argument(
        "--subtask", metavar="NAME", help="one subtask's other places: Flink's name, 'filter (2/4)'"
    )
    question.add_argument(
        "--prices",
        action="store_true",
        help="solve again with one more slot, core or Mbit/s where that may be scarce: 80 %% in "
        "use, or what keeps an operator from a better place, or the fullest of a site outside the "
        "cloud",
    )
    question.add_argument(
        "--parallelism",
        action="store_true",
        help="solve again with the next smaller and the next larger parallelism of each operator",
    )
    parser.add_argument(
        "--time-limit",
        metavar="S",
        help="wall time of all searches for --prices, for --parallelism or for wishes that are not "
        f"met (default: {_PRICES_S:g} with --prices, else {_SEARCHES_S:g})",
    )
    add_backend(parser)
    question.add_argument(
        "--against", metavar="PLAN", help="show what differs: from this plan to PLAN"
    )
    question.add_argument(
        "--split",
        action="append",
        metavar="OPERATOR",
        help="the weights by which a router should deal records to the subtasks of an operator, "
        "where the plan has them, with a bound (docs/splitting.md)",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def _limit_s(args: argparse.Namespace) -> float:
    usual = _PRICES_S if args.prices else _SEARCHES_S
    return usual if args.time_limit is None else float(args.time_limit)


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Explain a plan, one of its subtasks, or how it differs from another plan."""
    case = of_plan(read_case(args), args.plan)
    plan = read_job_plan(args.plan, case)
    case = case.in_parallelism_of(plan)
    levels = objective_levels(args.objective.split(","), case.cluster)
    objective = [level.name for level in levels]
    if args.optimise and not args.json:
        console.text(preset_of(args), style="dim")
    if args.against:
        found = _against(args, console, case, plan, objective)
    elif args.parallelism:
        found = _parallelism(args, console, case, plan)
    elif args.split:
        found = _split(args, console, case, plan)
    elif args.subtask is not None:
        found = _subtask(args, console, case, plan, objective)
    else:
        found = _overview(args, console, case, plan, objective)
    if not args.json:
        if said := Terms.of(case.cluster).explanation():
            console.text(said, style="dim")
        console.notes((*case.notes, *cluster_notes(case.cluster)))
    else:
        console.json(found)
    return ExitStatus.OK


def _overview(
    args: argparse.Namespace,
    console: Console,
    case: Case,
    plan: Plan,
    objective: list[ObjectiveName],
) -> dict[str, Any]:
    from edgeplace.solver import (
        Certainty,
        KindReason,
        Prices,
        Reason,
        Tight,
        WishPrice,
        WorstPath,
        assumptions,
        certainty,
        evaluate,
        prices,
        site_kinds,
        tightest,
        why,
        why_by_kind,
        wish_prices,
        worst_path,
    )
    from edgeplace.views.bill import show_bill
    from edgeplace.views.confidence import show_certainty
    from edgeplace.views.explain_tables import show_prices, show_terms, show_tightest
    from edgeplace.views.job_changes import job_changes, show_job_changes
    from edgeplace.views.kind_reasons import chained, show_kind_reasons
    from edgeplace.views.reasons import because, show_reasons, show_wish_prices
    from edgeplace.views.tables import show_periods
    from edgeplace.views.worst_path import worst_path_sentence

    began = time.monotonic()
    jobs, cluster, rules, current = case.jobs, case.cluster, case.rules, case.current
    terms = Terms.of(cluster)
    evaluation = evaluate(jobs, cluster, plan, rules, current)
    slowest = worst_path(jobs, cluster, plan, rules, current)
    tight = tightest(cluster, evaluation, rules)
    by_kind = why_by_kind(jobs, cluster, plan, rules, current, objective)
    reasons = why(jobs, cluster, plan, rules, current, objective)
    notes = assumptions(jobs, cluster, rules, current)
    sure = certainty(jobs, cluster, plan, rules, current)
    changes = job_changes(case, plan)
    worth = None
    if args.prices:
        with console.progress("solving again for the prices"):
            seconds = _limit_s(args)
            if seconds > 0:
                seconds = max(seconds - (time.monotonic() - began), 0.0)
            if evaluation.unmet:
                seconds /= 2  # The rest is for the wishes.
            worth = prices(jobs, cluster, plan, rules, current, objective, seconds, args.backend)
    wished: tuple[WishPrice, ...] = ()
    if evaluation.unmet:
        with console.progress("solving again with each wish first"):
            seconds = max(_limit_s(args) - (time.monotonic() - began), 0.0)
            levels = args.objective.split(",")
            wished = wish_prices(jobs, cluster, plan, rules, current, levels, seconds, args.backend)
    if not args.json:
        show_terms(console, evaluation, objective, terms)
        if slowest:
            console.text(worst_path_sentence(slowest))
        show_bill(console, cluster, evaluation)
        show_periods(console, evaluation, terms)
        most = percent(cluster.link_target), percent(cluster.cpu_target)
        console.heading(
            f"what binds, the tightest first (at most {most[0]} of links, {most[1]} of cores)"
        )
        show_tightest(console, tight, terms)
        show_kind_reasons(console, by_kind, terms)
        console.heading("why each operator is where it is")
        kinds = site_kinds(jobs, cluster, plan)
        show_reasons(console, reasons, kinds, chained(by_kind, terms), terms)
        show_certainty(console, sure)
        if wished:
            console.heading("wishes that are not met")
            show_wish_prices(console, wished, terms)
        show_job_changes(console, changes, terms)
        if worth:
            console.heading("what a little more would be worth")
            show_prices(console, worth, terms)
        else:
            console.text()
            console.text(
                f"more: --subtask {shlex.quote(_a_subtask(case))} for every other place of a "
                "subtask, --prices for what one more slot, core or Mbit/s is worth, --against PLAN "
                "for what differs",
                style="dim",
            )
        console.notes(notes)
    return {
        "terms": {name: evaluation.value(name) for name in objective},
        "cost_per_month": evaluation.cost_per_month,
        "periods": [_plain(PeriodEvaluation, p) for p in evaluation.periods],
        "worst_path": _plain(WorstPath, slowest) if slowest else None,
        "holds": evaluation.feasible,
        "violations": _plain(tuple[Any, ...], evaluation.violations),
        "binding": [
            {**_plain(Tight, t), "utilisation": _plain(float, t.limit.utilisation)} for t in tight
        ],
        "certainty": _plain(Certainty, sure),
        "kinds_of_sites": [_plain(KindReason, r, _NO_CHAIN_PLANS) for r in by_kind],
        "operators": [
            {**_plain(Reason, r, _NO_PLANS), "because": because(r, terms)} for r in reasons
        ],
        "job_changes": [_plain(type(c), c) for c in changes],
        "wishes": [_plain(WishPrice, w) for w in wished],
        "prices": _plain(Prices, worth, _NO_PLAN) if worth else None,
        "notes": [*case.notes, *notes],
    }


def _a_subtask(case: Case) -> str:
    """Return the name of a subtask as `--subtask` takes it: of the last operator in the files."""
    job = case.jobs[-1]
    op = job.operators[-1]
    prefix = f"{job.name}: " if len(case.jobs) > 1 else ""
    which = f" [{op.id}]" if sum(other.name == op.name for other in job.operators) > 1 else ""
    return f"{prefix}{op.name}{which} (1/{op.parallelism})"


def _subtask(
    args: argparse.Namespace,
    console: Console,
    case: Case,
    plan: Plan,
    objective: list[ObjectiveName],
) -> dict[str, Any]:
    from edgeplace.solver import Moves, moves, why
    from edgeplace.views.explain_tables import show_moves
    from edgeplace.views.reasons import because

    terms = Terms.of(case.cluster)
    found = moves(case.jobs, case.cluster, plan, args.subtask, case.rules, case.current, objective)
    if not args.json:
        console.text(f"{found.subtask} runs on {found.task_manager} at {found.site}", style="bold")
        for reason in why(case.jobs, case.cluster, plan, case.rules, case.current, objective):
            if (reason.job, reason.operator) == (found.job, found.operator):
                away = _away(reason, found, case.cluster)
                if away.alternatives or not reason.alternatives:
                    console.text(f"its operator: {because(away, terms)}")
        show_moves(console, found, objective, terms)
        console.text(
            "each row moves this subtask alone; without --subtask, `edgeplace explain` says what "
            "it means to move an operator with those that send to it or get from it",
            style="dim",
        )
    plain: dict[str, Any] = _plain(Moves, found)
    return plain


def _away(reason: "Reason", found: "Moves", cluster: Cluster) -> "Reason":
    """Return a reason with only those alternatives that take a subtask to another site."""
    from edgeplace.solver import sites_of

    site = sites_of(cluster)
    there = tuple(
        a
        for a in reason.alternatives
        if site[a.plan.of(found.job)[found.operator][found.index]] != found.site
    )
    return dataclasses.replace(reason, alternatives=there)


def _parallelism(
    args: argparse.Namespace, console: Console, case: Case, plan: Plan
) -> dict[str, Any]:
    from edgeplace.solver import OtherParallelism, other_parallelism
    from edgeplace.views.explain_tables import show_other_parallelism

    with console.progress("solving again"):
        found = other_parallelism(
            case.jobs,
            case.cluster,
            plan,
            case.rules,
            case.current,
            args.objective.split(","),
            _limit_s(args),
            args.backend,
        )
    if not args.json:
        show_other_parallelism(console, found, Terms.of(case.cluster))
    return {"parallelism": [_plain(OtherParallelism, f) for f in found]}


def _split(args: argparse.Namespace, console: Console, case: Case, plan: Plan) -> dict[str, Any]:
    from edgeplace.solver import split
    from edgeplace.views.split import proof_of_weights, show_split

    found = split(case.jobs, case.cluster, plan, args.split, case.rules, case.current)
    if not args.json:
        show_split(console, case.jobs, case.cluster, found)
    return {
        "weights": found.plan.weights,
        "wan_cost": found.evaluation.wan_cost,
        "wan_cost_of_even_weights": found.even.wan_cost,
        "bound": found.bound if found.bound < float("inf") else None,
        "gap": found.gap,
        "proved": found.proved,
        "holds": found.evaluation.feasible,
        "said": proof_of_weights(found, Terms.of(case.cluster)),
    }


def _against(
    args: argparse.Namespace,
    console: Console,
    case: Case,
    plan: Plan,
    objective: list[ObjectiveName],
) -> dict[str, Any]:
    from edgeplace.solver import Difference, difference
    from edgeplace.views.explain_tables import show_difference

    other = read_job_plan(args.against, case)
    found = difference(case.jobs, case.cluster, other, plan, case.rules, case.current)
    if not args.json:
        names = (args.against, args.plan)
        show_difference(console, found, objective, names, Terms.of(case.cluster))
    plain: dict[str, Any] = _plain(Difference, found)
    return plain


_NO_CHAIN_PLANS = {name: {"__all__": {"plan"}} for name in ("away", "here", "along")}
_NO_PLANS = {"alternatives": {"__all__": {"plan"}}}
_NO_PLAN = {"plan": True, "prices": {"__all__": {"plan"}}}


def _plain(kind: Any, value: object, without: Any = None) -> Any:
    """Return what the solver found as plain data; JSON has no infinity, so that becomes null."""
    return json.loads(TypeAdapter(kind).dump_json(value, exclude=without))
