"""The page of a plan: the placement, its quality, and the reasons."""

from collections.abc import Sequence

from edgeplace.cli.quantities import percent
from edgeplace.instances.instance import Instance
from edgeplace.model import Evaluation, JobGraph, Plan, Result
from edgeplace.report import drawing, usage
from edgeplace.report.answer import (
    conflict_section,
    figures,
    headroom,
    levels_table,
    policies_table,
    verdict,
)
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.page import page
from edgeplace.report.parts import Section, bullets, long_table, paragraph, scrolling, table
from edgeplace.report.placement import Placement, placement
from edgeplace.report.plan_tables import Origin, moves_section, origin_section, plan_section
from edgeplace.report.site_map import map_section
from edgeplace.solver import (
    Advice,
    Policy,
    WishPrice,
    build,
    certainty,
    measure_usage,
    site_kinds,
    why,
    why_by_kind,
    worst_path,
)
from edgeplace.solver.clock import unhurried
from edgeplace.views.bill import bill, columns
from edgeplace.views.confidence import CERTAINTY_COLUMNS, certainty_lines, certainty_rows
from edgeplace.views.job_changes import HEADING, Change, said
from edgeplace.views.kind_reasons import KIND_COLUMNS, chained, kind_rows
from edgeplace.views.reasons import MET, REASON_COLUMNS, reason_rows, wish_table
from edgeplace.views.terms import Terms, at_demand
from edgeplace.views.worst_path import worst_path_table, worst_path_title


def solution_page(
    case: Instance,
    result: Result,
    others: Sequence[Policy],
    local: Sequence[Advice],
    changes: Sequence[Change],
    objective: Sequence[str],
    origin: Origin | None = None,
    measured: Sequence[JobGraph] | None = None,
    losses: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    wished: Sequence[WishPrice] = (),
) -> str:
    """Return the page of an answer of `solve`.

    Parameters
    ----------
    others
        The placements to compare with; the first one is `before`.
    local
        Ship strategies that would help.
    changes
        Other changes to the jobs.
    objective
        The levels of the objective, as `solve` takes them.
    origin
        What the page is made from; None: that is not said.
    measured
        The jobs with their costs as measured; None: those of the case.
    losses
        Columns and rows of what the loss of each site leaves; None: that was not asked for.
    wished
        What it would cost to meet the wishes that are not met.
    """
    compared = [(p.name, p.evaluation) for p in others]
    terms = Terms.of(case.cluster)
    lead = [verdict(result, terms)]
    sections: list[Section] = []
    if result.plan and result.evaluation:
        before = compared[0] if compared else None
        lead += [headroom(result.evaluation), figures(case, result.evaluation, before)]
        sections += plan_sections(case, result.plan, result.evaluation, before)
        compared = [("edgeplace", result.evaluation), *compared]
        sections.append(
            Section(
                "proof",
                "Objective, bound and comparison",
                fragment(
                    [
                        levels_table(result.levels, terms),
                        policies_table(compared, terms, "edgeplace"),
                    ]
                ),
            )
        )
        if result.evaluation.periods:
            each = [
                (f"{p.name}, {percent(p.share)}", p.evaluation) for p in result.evaluation.periods
            ]
            body = policies_table(each, terms, what="period")
            sections.append(Section("periods", "Over the day", body))
        if losses:
            body = table("The best plan after each loss, with the jobs placed anew", *losses)
            sections.append(Section("losses", "What may be lost", body))
        sections += _wishes(case, result.evaluation, wished)
        if result.plan.weights:
            sections.append(_weights(case, result.plan))
        sections += bill_section(case, result.evaluation)
        sections += _worst_path(case, result.plan)
        sections.append(reasons(case, result.plan, objective))
        sections.append(_certainty(case, measured or case.jobs, result.plan))
        sections += [plan_section(case, result.plan), *moves_section(case, result.plan)]
    else:
        if result.conflict:
            sections.append(conflict_section(result.conflict, terms))
        if compared:
            sections.append(Section("compared", "For comparison", policies_table(compared, terms)))
    if changes:
        lines = [" ".join(said(change, terms)) for change in changes]
        sections.append(Section("job-changes", HEADING.capitalize(), bullets(lines)))
    remarks = [*(_advice(a, terms) for a in local), *result.notes]
    if remarks:
        sections.append(Section("notes", "What to know", bullets(remarks)))
    if origin:
        sections.append(origin_section(origin))
    return page(f"Placement of {case.name}", fragment([*lead, _size_of(case)]), sections)


def plan_sections(
    case: Instance, plan: Plan, found: Evaluation, before: tuple[str, Evaluation] | None
) -> list[Section]:
    """Return the sections on the placement, the links and the nodes."""
    # A plan that was found is shown, however late it is.
    with unhurried():
        problem = build(list(case.jobs), case.cluster, case.rules, case.current)
    verdict = measure_usage(problem, problem.assignment(plan))
    placed = placement(verdict)
    return [
        Section("sites", "The job on the sites", _sites(placed)),
        *map_section(case, plan, found),
        Section("links", "Links", usage.links(case.cluster, placed, found, before)),
        Section("nodes", "Nodes", usage.nodes(verdict)),
    ]


def bill_section(case: Instance, found: Evaluation) -> list[Section]:
    """Return the section on what a plan costs, if the cluster has prices in money."""
    rows = bill(case.cluster, found)
    if not rows:
        return []
    said = f"An average month of 30.4 days {at_demand(found)}"
    body = table(said, columns(Terms.of(case.cluster)), rows)
    return [Section("cost", "What it costs a month", body)]


def _worst_path(case: Instance, plan: Plan) -> list[Section]:
    """Return the section on the path behind the latency, if every stream has a route."""
    slowest = worst_path(list(case.jobs), case.cluster, plan, case.rules, case.current)
    if slowest is None:
        return []
    said = worst_path_title(slowest)
    body = table(said[0].upper() + said[1:], *worst_path_table(slowest))
    return [Section("worst-path", "The worst path", body)]


def reasons(case: Instance, plan: Plan, objective: Sequence[str]) -> Section:
    """Return the reasons for what each kind of site runs, and for the place of each operator."""
    jobs, cluster, rules, current = list(case.jobs), case.cluster, case.rules, case.current
    terms = Terms.of(cluster)
    by_kind = why_by_kind(jobs, cluster, plan, rules, current, objective)
    found = why(jobs, cluster, plan, rules, current, objective)
    kinds = site_kinds(jobs, cluster, plan)
    said = "The cost of the nearest other place, or the limit that it breaks"
    untold = sum(len(job.operators) for job in jobs) - len(found)
    if untold:
        said += f"; the time was over before {untold:,} operators had theirs"
    whats = kind_rows(by_kind, terms)
    rows = reason_rows(found, kinds, chained(by_kind, terms), terms)
    parts = [long_table("What if a chain were placed otherwise", KIND_COLUMNS, whats)]
    parts = [*(parts if whats else []), long_table(said, REASON_COLUMNS, rows)]
    return Section("why", "Why it is so", fragment(parts))


def _certainty(case: Instance, measured: Sequence[JobGraph], plan: Plan) -> Section:
    """Return the section of the intervals behind a plan, and of the limits that they reach."""
    found = certainty(measured, case.cluster, plan, case.rules, case.current)
    costs = long_table("CPU costs of this plan", CERTAINTY_COLUMNS, certainty_rows(found))
    return Section(
        "certainty", "How sure it is", fragment([bullets(certainty_lines(found)), costs])
    )


def _size_of(case: Instance) -> Markup:
    operators = sum(len(j.operators) for j in case.jobs)
    return paragraph(
        f"{operators:,} operators with {case.subtasks:,} subtasks, on {len(case.cluster.nodes):,} "
        f"nodes at {len(case.cluster.sites):,} sites.",
        "note",
    )


def _sites(placed: Placement) -> Markup:
    boxes = placed.boxes
    rows = [
        (
            placed.operators[o],
            *(drawing.many(b, o) if b.subtasks[o] else "-" for b in boxes),
        )
        for o in placed.order
    ]
    titles = ("operator", *(f">{b.title}" for b in boxes))
    across = [f for f in placed.flows if not f.local]
    streams = [
        (
            f"{placed.operators[f.source]} at {boxes[f.start].title}",
            f"{placed.operators[f.target]} at {boxes[f.end].title}",
            placed.rates.text(f.bytes_per_s),
        )
        for f in across
    ]
    return fragment(
        [
            element(
                "figure",
                scrolling(drawing.drawing(placed), "Picture of the job on the sites"),
                element("figcaption", drawing.caption(placed)),
            ),
            long_table("Subtasks of each operator at each site", titles, rows),
            element(
                "details",
                element("summary", f"Streams between sites ({len(across):,})"),
                long_table("Streams between sites", ("from", "to", ">traffic"), streams),
            )
            if across
            else paragraph("No stream leaves its site."),
        ]
    )


def _wishes(case: Instance, found: Evaluation, prices: Sequence[WishPrice]) -> list[Section]:
    """Return the section of wishes: which are met, and what those that are not would cost."""
    if not case.rules.wishes:
        return []
    columns, rows = wish_table(case.rules, found, prices, Terms.of(case.cluster))
    # Without prices, no wish has the last cell.
    shown = len(columns) if prices else len(columns) - 1
    said = "Wishes of the rules, which a plan may break for what comes before them"
    marks = ["" if row[2] == MET else "broken" for row in rows]
    body = table(said, columns[:shown], [row[:shown] for row in rows], marks)
    return [Section("wishes", "Wishes", body)]


def _weights(case: Instance, plan: Plan) -> Section:
    """Return the section of the weights by which routers deal records."""
    rows = [
        (source, f"{job.operator(op).name} ({j + 1}/{len(row)})", plan.of(job.name)[op][j], share)
        for job in case.jobs
        for op, weights in plan.weights.get(job.name, {}).items()
        for source, row in weights.items()
        for j, share in enumerate(map(percent, row))
        if row[j] > 0
    ]
    columns = ("records of", "go to", "on", ">share")
    return Section("weights", "Weights of the workers", table("Weights", columns, rows))


def _advice(found: Advice, terms: Terms) -> str:
    return (
        f"A change to the job would help: with {found.source} → {found.target} as "
        f"{found.local.value} instead of {found.now.value}, the WAN would carry "
        f"{terms.rate(found.local_wan_bytes_per_s)} instead of {terms.rate(found.wan_bytes_per_s)}."
    )
