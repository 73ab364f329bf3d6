"""The parts of a page that tell an answer: verdict, figures, levels, comparison and conflict."""

from collections.abc import Callable, Sequence

from edgeplace.cli.quantities import count, factor, milliseconds, percent, seconds, size
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Conflict,
    Evaluation,
    LevelResult,
    ObjectiveName,
    Result,
    Status,
    StoppedBy,
)
from edgeplace.report.markup import Markup, fragment
from edgeplace.report.parts import Section, bar, bullets, facts, paragraph, table
from edgeplace.views.solved_case import ALL_OF_IT
from edgeplace.views.tables import binding, holding
from edgeplace.views.terms import Terms, at_demand

_TERMS: dict[ObjectiveName, str] = {
    "server_cores": "busy cores at cloud sites",
    "moves": "subtasks that move",
    "throughput": "largest share of a limit in use",
    "wishes": "subtasks that break wishes, by weight",
}
"""Terms whose title says too little."""


def verdict(result: Result, terms: Terms) -> Markup:
    """Return the answer in a sentence."""
    searched = f" Stopped by {result.stopped_by.value} after {seconds(result.runtime_s)}."
    kind = None
    match result.status:
        case Status.OPTIMAL:
            names = ", then ".join(terms.name(v.name) for v in result.levels)
            text = f"Optimal: proved that no placement within the limits is better by {names}."
            kind = "good"
        case Status.FEASIBLE:
            text = "This placement is valid, but not proved best."
            unproved = next((v for v in result.levels if v.gap > 0), None)
            if unproved and unproved.gap < 1:
                text += f" No placement is more than {percent(unproved.gap)} better by "
                text += f"{terms.name(unproved.name)}."
            elif unproved:
                text += " It is not known how much better another one may be."
            if result.stopped_by is StoppedBy.GAP:
                kind = "good"
        case Status.INFEASIBLE:
            text, kind = (
                "No placement exists: it is proved that the limits and rules conflict.",
                "bad",
            )
        case Status.UNKNOWN:
            text, kind = "No placement was found, and it is not proved that none exists.", "bad"
    return paragraph(text + searched, " ".join(filter(None, ("verdict", kind))))


def headroom(found: Evaluation) -> Markup:
    """Return a sentence on how far the sources can grow."""
    what = binding(found.binding)
    if found.headroom == float("inf"):
        text = "Nothing that grows with the sources' rates is in use."
    elif found.feasible and found.headroom < 1.005:
        text = f"The sources cannot grow: {what} is full."
    elif found.headroom < 1:
        text = (
            f"It sustains {percent(found.sustained)} of the demand: {what} is over its limit. "
            "Sources will be held back."
        )
    else:
        text = (
            f"All sources can grow to {factor(found.headroom)} their rate until the first limit: "
            f"{what}."
        )
    if found.feasible and found.sustained < ALL_OF_IT:
        text += (
            f" It sustains {percent(found.sustained)} of the demand: buffers between the sites "
            "wait for busy processors."
        )
    return paragraph(text)


def figures(case: Instance, found: Evaluation, before: tuple[str, Evaluation] | None) -> Markup:
    """Return the figures of a plan, beside those of the placement to compare with."""
    name, was = before or ("", None)
    if was and not was.feasible:
        name = f"{name}, which breaks limits"

    def pair(of: Callable[[Evaluation], str]) -> tuple[str, str]:
        return of(found), f"{name}: {of(was)}" if was else ""

    terms = Terms.of(case.cluster)
    paid = terms.traffic
    cost = [(terms.title(paid), *pair(lambda e: terms.value(paid, e.value(paid))))]
    shown = [
        ("WAN traffic", *pair(lambda e: terms.rate(e.wan_bytes_per_s))),
        *(cost if terms.currency else []),
        ("worst path", *pair(lambda e: milliseconds(e.latency_ms))),
        ("server cores in use", *pair(lambda e: count(e.server_cores))),
        ("headroom", *pair(lambda e: factor(e.headroom))),
    ]
    if case.current:
        state = f"with {size(found.moved_state_bytes)} of state" if found.moved_state_bytes else ""
        shown.append(("subtasks that move", f"{found.moves:,}", state))
    return facts(shown)


def levels_table(levels: Sequence[LevelResult], terms: Terms) -> Markup:
    """Return what was proved of each term."""
    rows = [
        (
            _TERMS.get(v.name, terms.title(v.name)),
            terms.exactly(v.name, v.value),
            terms.exactly(v.name, v.bound),
            percent(v.gap),
            percent(v.tolerance) if v.tolerance else "-",
            bar(1 - v.gap),
        )
        for v in levels
    ]
    return table(
        "The terms in order of importance. No placement is below a bound without worsening a line "
        "above it",
        ("term", ">value", ">bound", ">gap", ">may worsen by", "proved"),
        rows,
    )


def policies_table(
    rows: Sequence[tuple[str, Evaluation]], terms: Terms, best: str = "", what: str = "placement"
) -> Markup:
    """Return evaluations side by side, and the limits that the invalid ones break."""
    cells = []
    always = "of the day, each as if it were always so"
    when = always if what == "period" else at_demand(rows[0][1])
    money = (f">{terms.money}",) if terms.currency else ()
    for name, e in rows:
        more = f" and {len(e.violations) - 1:,} more" if len(e.violations) > 1 else ""
        cells.append(
            (
                name,
                terms.rate(e.wan_bytes_per_s),
                *(terms.cost(e) for _ in money),
                milliseconds(e.latency_ms),
                count(e.server_cores),
                f"{e.moves:,}",
                factor(e.headroom),
                binding(e.binding),
                _holding(name, e, more, terms),
            )
        )
    titles = (what, ">WAN", *money, ">worst path", ">server cores", ">moves", ">headroom")
    marks = ["best" if n == best else "" if e.feasible else "broken" for n, e in rows]
    return table(
        f"{what.capitalize()}s {when}, judged by one evaluator",
        (*titles, "bottleneck", "limits and rules"),
        cells,
        marks,
    )


def _holding(name: str, found: Evaluation, more: str, terms: Terms) -> str:
    if found.feasible:
        return "holds"
    doubt = ", within measurement" if holding(name, found) != "no" else ""
    return f"breaks {terms.limit(found.violations[0])}{more}{doubt}"


def conflict_section(found: Conflict, terms: Terms) -> Section:
    """Return why no plan exists, and what would help."""
    known = (
        "These cannot all hold; drop any one of them and the others can all hold:"
        if found.irreducible
        else "These cannot all hold; fewer of them may be enough:"
    )
    cure = "Confirmed cure" if found.confirmed else "Possible cure, not confirmed"
    parts = [paragraph(f"{cure}: {found.cure}", "verdict")]
    if found.members:
        parts += [paragraph(known), bullets(found.members)]
    near = "The nearest placement" if found.nearest else "A placement that is near"
    parts += [paragraph(f"{near} exceeds:"), bullets([*map(terms.limit, found.shortfalls)])]
    return Section("conflict", "Conflicting limits and rules", fragment(parts))
