"""`edgeplace solve` for many cases at once: a sweep of one figure, or the loss of each site."""

import argparse
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from edgeplace.case import what_if
from edgeplace.case.files import inputs_of, read_case
from edgeplace.case.sweep import has_no_plan_either, is_sweep, steps
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import count, factor, milliseconds, percent
from edgeplace.cli.whole_call import share_s
from edgeplace.model import (
    Case,
    Cluster,
    Evaluation,
    InvalidInputError,
    Plan,
    Result,
    Status,
    StoppedBy,
    alike_sites,
)
from edgeplace.views.terms import Terms

_LOST = "lost"
"""What the first column is called if sites are lost."""
_REPORT = "--report"


class Variation(NamedTuple):
    """A case, what is different in it, and why there is no such case, or no plan, if known."""

    name: str
    case: Case | None
    why_not: str = ""


Rows = list[tuple[Variation, Result | None]]


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Solve each case, and print a row for each."""
    if (
        args.output
        or args.schedulercfg
        or args.parallelism
        or args.split
        or args.key_shares
        or args.confidence
    ):
        raise InvalidInputError(
            "a sweep and --each-site-lost make several plans, and -o, --schedulercfg, "
            "--parallelism, --split, --key-shares and --confidence are about one",
            "ask for one of the cases: --set rate=x2, or --set site:ID=lost",
        )
    outputs = Outputs(console, {_REPORT: args.report}, inputs_of(args), args.json)
    now = read_case(args)
    title, variations = _lost(now, args) if args.each_site_lost else _swept(now, args)
    with console.progress("solving") as tell:
        rows = _solved(variations, args, tell)
    columns, lines = _table(now.cluster, title, rows)
    if title != _LOST:
        columns, lines = _with_changes(columns, lines, rows)
    if args.report:
        steps = [(v.name, result.evaluation if result else None) for v, result in rows]
        outputs.text(_REPORT, _page(args, now, title, steps, columns, lines))
    if args.json:
        console.json([plain(title, v, result) for v, result in rows])
    else:
        _print(console, now.cluster, title, columns, lines, rows)
        outputs.say_written(_REPORT, "report")
    return _status([result for _, result in rows if result])


def _solved(
    variations: Sequence[Variation], args: argparse.Namespace, tell: Callable[[str], None]
) -> Rows:
    """Return the answer to each case. Of a sweep, the first without a plan says why."""
    rows: Rows = []
    first: tuple[str, Case] | None = None
    for i, variation in enumerate(variations):
        tell(variation.name)
        share = 0.95 / (len(variations) - i)
        result = None
        if first and variation.case and has_no_plan_either(variation.case, first[1]):
            variation = variation._replace(why_not=f"{first[0]} needs no more, and has none")
            result = _without_plan(args.backend)
        elif variation.case:
            result = solved_variation(variation.case, args, share, conflict=first is None)
            if result.status is Status.INFEASIBLE and not args.each_site_lost:
                first = first or (variation.name, variation.case)
        rows.append((variation, result))
        if result and result.stopped_by is StoppedBy.INTERRUPT:
            break
    return rows


def _without_plan(backend: str) -> Result:
    return Result(
        status=Status.INFEASIBLE, stopped_by=StoppedBy.PROOF, runtime_s=0.0, backend=backend
    )


def solved_variation(
    case: Case, args: argparse.Namespace, share: float, conflict: bool = True
) -> Result:
    """Return the answer to a case, in a share of the time left.

    Parameters
    ----------
    conflict
        Whether to search for what conflicts if there is no plan.
    """
    from edgeplace.solver import SearchParameters, solve_case

    return solve_case(
        case,
        objective=args.objective.split(","),
        time_limit_s=share_s(share),
        gap=args.gap,
        backend=args.backend,
        search=SearchParameters(conflict=conflict),
    )


def _swept(now: Case, args: argparse.Namespace) -> tuple[str, list[Variation]]:
    """Return what is swept, and a case for each of its values."""
    ranges = [text for text in args.set if is_sweep(text)]
    if len(ranges) > 1:
        raise InvalidInputError(
            f"{len(ranges)} settings have a range: {', '.join(ranges)}", "sweep one at a time"
        )
    cases = []
    for setting in steps(ranges[0]):
        settings = [setting if text == ranges[0] else text for text in args.set]
        name = setting.rpartition("=")[2]
        cases.append(Variation(name, what_if.apply(now, settings)))
    return ranges[0].rpartition("=")[0], cases


def _lost(now: Case, args: argparse.Namespace) -> tuple[str, list[Variation]]:
    """Return a case without each site, one of those that are alike for all of them."""
    if any(is_sweep(text) for text in args.set):
        raise InvalidInputError(
            "--each-site-lost and a range in --set ask two questions", "ask one at a time"
        )
    return _LOST, losses(what_if.apply(now, args.set))


def losses(case: Case, patterns: Sequence[str] = ("*",)) -> list[Variation]:
    """Return a case as it is, and without each site that fits a pattern.

    Of sites that are alike there is one, for all of them.
    """
    # It loads the solver.
    from edgeplace.views.plan_summary import one_name

    variations = [Variation("none", case)]
    for group in alike_sites(case):
        alike = [site for site in group if any(fnmatchcase(site, p) for p in patterns)]
        if not alike:
            continue
        name = f"{'one of ' if len(alike) > 1 else ''}{one_name(alike)}"
        try:
            variations.append(Variation(name, case.without_site(alike[0])))
        except InvalidInputError as e:
            variations.append(Variation(name, None, e.what))
    return variations


def _page(
    args: argparse.Namespace,
    case: Case,
    title: str,
    steps: Sequence[tuple[str, Evaluation | None]],
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
) -> str:
    from edgeplace.report.plan_tables import Origin
    from edgeplace.report.sweep_page import sweep_page

    origin = Origin.of(args)
    swept = None if title == _LOST else title
    return sweep_page(case, swept, steps, columns, lines, origin)


def _table(
    cluster: Cluster, title: str, rows: Sequence[tuple[Variation, Result | None]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles of the columns, and a row for each case."""
    terms = Terms.of(cluster)
    cost = (f">{terms.money}",) if terms.currency else ()
    # What is lost is lost of the first row: `--set` may change the rates of all.
    total = _rate(rows[0][0].case)
    lines: list[tuple[str, ...]] = []
    for variation, result in rows:
        lost = 1 - _rate(variation.case) / total if variation.case and total > 0 else 0.0
        data = (percent(lost) if lost > 0 else "",) if title == _LOST else ()
        e = result.evaluation if result else None
        figures = ("", *("" for _ in cost), "", "", "")
        if e:
            figures = (
                terms.rate(e.wan_bytes_per_s),
                *(terms.cost(e) for _ in cost),
                milliseconds(e.latency_ms),
                count(e.server_cores),
                factor(e.headroom),
            )
        lines.append((variation.name, *data, *figures, _outcome(variation, result, terms)))
    data = (">data lost",) if title == _LOST else ()
    columns = (title, *data, ">WAN", *cost, ">latency", ">server cores", ">headroom", "plan")
    return columns, lines


def _with_changes(
    columns: Sequence[str], lines: Sequence[Sequence[str]], rows: Rows
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table with a last column: what moved since the plan of the value before."""
    # It loads the solver.
    from edgeplace.views.step_changes import step_change

    said: list[str] = []
    before: tuple[Case, Plan] | None = None
    for variation, result in rows:
        after = (variation.case, result.plan) if variation.case and result and result.plan else None
        said.append(step_change(before, after) if before and after else "-")
        before = after or before
    return (*columns, "what changed"), [
        (*line, text) for line, text in zip(lines, said, strict=True)
    ]


def show(
    console: Console, cluster: Cluster, rows: Sequence[tuple[Variation, Result | None]]
) -> None:
    """Print a row for each lost site."""
    _print(console, cluster, _LOST, *loss_table(cluster, rows), rows)


def loss_table(
    cluster: Cluster, rows: Sequence[tuple[Variation, Result | None]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles of the columns, and a row for each lost site."""
    return _table(cluster, _LOST, rows)


def _print(
    console: Console,
    cluster: Cluster,
    title: str,
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    rows: Sequence[tuple[Variation, Result | None]],
) -> None:
    console.table(columns, lines, ["" if r and r.evaluation else "red" for _, r in rows])
    if title == _LOST:
        tried = len(rows) - 1
        survived = sum(r is not None and r.plan is not None for _, r in rows[1:])
        console.text(
            f"after {survived} of {tried} {'loss' if tried == 1 else 'losses'} a plan exists for "
            "the data that remains; a site takes along what only it joins to the rest; of sites "
            "that are alike, one was tried",
            style="dim",
        )
    if any(r and r.status is Status.INFEASIBLE and not (r.conflict or v.why_not) for v, r in rows):
        console.text(
            "what conflicts is said of the first value without a plan; ask for another one alone",
            style="dim",
        )
    if said := Terms.of(cluster).explanation():
        console.text(said, style="dim")


def _rate(case: Case | None) -> float:
    """Return the records/s of all sources."""
    total = 0.0
    for op in (op for job in case.jobs for op in job.sources()) if case else ():
        each = op.cost.demand.rates_per_s if op.cost and op.cost.demand else ()
        total += sum(each) * (op.parallelism if len(each) == 1 else 1)
    return total


def _outcome(variation: Variation, result: Result | None, terms: Terms) -> str:
    """Return whether there is a plan, and why not."""
    if result is None:
        return f"none: {variation.why_not}"
    if result.status is Status.INFEASIBLE:
        short = result.conflict.shortfalls if result.conflict else ()
        why = terms.limit(short[0]) if short else variation.why_not
        return f"none: {why}" if why else "none"
    if result.status is Status.UNKNOWN:
        return "none found in this time"
    return "proved best" if result.status is Status.OPTIMAL else "not proved best"


def plain(title: str, variation: Variation, result: Result | None) -> dict[str, object]:
    """Return a case and its answer as plain data."""
    return {
        title: variation.name,
        "result": result.model_dump(mode="json") if result else None,
        "why_not": variation.why_not,
        "notes": variation.case.notes if variation.case else (),
    }


def _status(results: Sequence[Result]) -> ExitStatus:
    if any(r.stopped_by is StoppedBy.INTERRUPT for r in results):
        return ExitStatus.INTERRUPTED
    if any(r.status in (Status.FEASIBLE, Status.UNKNOWN) for r in results):
        return ExitStatus.NOT_PROVED
    return ExitStatus.OK
