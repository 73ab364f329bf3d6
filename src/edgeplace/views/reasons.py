"""One line for each operator, the reason for its place; and for each wish that is not met."""

from collections.abc import Mapping, Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import counted
from edgeplace.model import Evaluation, Rules
from edgeplace.solver import Alternative, KindOfSites, Reason, WishPrice
from edgeplace.views.plan_summary import name_of
from edgeplace.views.terms import Terms

MET = "met"
_NOT_FOUND = "no better was found in this time"
REASON_COLUMNS = ("operator", "subtasks at", "because")


def show_reasons(
    console: Console,
    reasons: Sequence[Reason],
    kinds: Sequence[KindOfSites],
    chained: Mapping[tuple[str, str], str],
    terms: Terms,
) -> None:
    """Print the places of each operator, and the effect of the nearest other place."""
    console.table(REASON_COLUMNS, reason_rows(reasons, kinds, chained, terms))


def reason_rows(
    reasons: Sequence[Reason],
    kinds: Sequence[KindOfSites],
    chained: Mapping[tuple[str, str], str],
    terms: Terms,
) -> list[tuple[str, str, str]]:
    """Return the rows of `REASON_COLUMNS`.

    Parameters
    ----------
    chained
        (job, name) of an operator -> what would be if it moved with its chain: then that is the
        question, and not the operator alone.
    """
    several = len({r.job for r in reasons}) > 1
    rows = []
    for r in reasons:
        where = [
            f"{name_of(kind)} {n:,}" for kind in kinds if (n := kind.runs.get((r.job, r.operator)))
        ]
        chain = "" if r.held_by else chained.get((r.job, r.name), "")
        name = f"{r.job}: {r.name}" if several else r.name
        rows.append((name, ", ".join(where), chain or because(r, terms)))
    return rows


def because(reason: Reason, terms: Terms) -> str:
    """Return one sentence on an operator's place."""
    if reason.held_by:
        return f"held there: {reason.held_by}"
    if not reason.alternatives:
        return "not all of its subtasks may run at another site"
    return "; ".join(_alternative(a, terms) for a in reason.alternatives)


def _alternative(other: Alternative, terms: Terms) -> str:
    text = other.place
    if other.objective is None:
        text += " nothing would differ"
    else:
        word = "be worse" if other.after > other.before else "be better"
        before, after = (terms.value(other.objective, v) for v in (other.before, other.after))
        if before == after:
            # Three digits do not tell them apart.
            by = terms.value(other.objective, abs(other.after - other.before))
            text += f" {terms.name(other.objective)} would {word} by {by}, now {before}"
        else:
            text += f" {terms.name(other.objective)} would {word}: {after}, now {before}"
    return f"{text}, and break {terms.limit(other.breaks)}" if other.breaks else text


def unmet(found: Evaluation) -> str:
    """Return the wishes that are not met in one line; empty where there is none."""
    if not found.unmet:
        return ""
    said = "; ".join(f"{w.wish} ({counted(w.subtasks, 'subtasks')})" for w in found.unmet)
    return f"wishes not met: {said}; edgeplace explain says what each would cost"


def show_wish_prices(console: Console, found: Sequence[WishPrice], terms: Terms) -> None:
    """Print a row for each wish that is not met: how far, how far it could be, and its price."""
    rows = [
        (p.wish.wish, str(p.wish.weight), _broken(p.wish.subtasks), _possible(p, terms))
        for p in found
    ]
    console.table(_wish_columns(found, terms), rows)


def wish_table(
    rules: Rules, found: Evaluation, prices: Sequence[WishPrice], terms: Terms
) -> tuple[tuple[str, ...], list[tuple[str, str, str, str]]]:
    """Return columns and a row for each wish, met or not, with its price where that is known."""
    broken = {w.at: w for w in found.unmet}
    price = {p.wish.at: _possible(p, terms) for p in prices}
    rows = [
        (
            wish.title(),
            str(wish.weight),
            _broken(broken[i].subtasks if i in broken else 0),
            price.get(i, "") if i in broken else "",
        )
        for i, wish in enumerate(rules.wishes)
    ]
    return _wish_columns(prices, terms), rows


def _wish_columns(found: Sequence[WishPrice], terms: Terms) -> tuple[str, str, str, str]:
    behind = next((p.behind for p in found if p.behind), None)
    first = f"if it came right after {terms.name(behind)}" if behind else "if it came first"
    return "wish", ">weight", "now", first


def _broken(subtasks: int) -> str:
    return f"not met by {counted(subtasks, 'subtasks')}" if subtasks else MET


def _possible(price: WishPrice, terms: Terms) -> str:
    if price.least is None:
        if price.proved:
            return "no plan meets it: none keeps all limits"
        return "not known: the time was over"
    if price.least >= price.wish.subtasks:
        return "no plan meets it better" if price.proved else _NOT_FOUND
    at_best = " at best" if price.proved else f" ({_NOT_FOUND})"
    text = MET if not price.least else f"{_broken(price.least)}{at_best}"
    if price.objective is None:
        return f"{text}, and no term of the objective changes"
    before, after = (terms.value(price.objective, v) for v in (price.before, price.after))
    most = "" if price.proved else ", or better,"
    return f"{text}: {terms.name(price.objective)} {after}{most} instead of {before}"
