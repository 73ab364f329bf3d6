"""Tables of `edgeplace explain`: tight limits, moves of a subtask, prices, differences."""

from collections.abc import Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import milliseconds, percent
from edgeplace.model import Evaluation, Limit, ObjectiveName, Status, some
from edgeplace.solver import Difference, Moves, OtherParallelism, Prices, Shift, Tight
from edgeplace.solver.tolerances import SAME_VALUE, TIE
from edgeplace.views.tables import ranges
from edgeplace.views.terms import Terms

_MOST_LIMITS = 9
_MOST_SHIFTS = 40


def show_tightest(console: Console, found: Sequence[Tight], terms: Terms) -> None:
    """Print the tightest limits: for each kind and site, the tightest one."""
    rows, styles = [], []
    for tight in found[:_MOST_LIMITS]:
        at = tight.limit
        more = f", the fullest of {tight.of:,} at {tight.site}" if tight.of > 1 else ""
        rows.append((at.kind, at.where + more, *terms.use(at), percent(at.utilisation)))
        styles.append("red" if at.shortfall else "")
    console.table(("limit", "where", ">used", ">of", ">in use"), rows, styles)
    if len(found) > _MOST_LIMITS:
        least = percent(found[_MOST_LIMITS].limit.utilisation)
        console.text(f"and {len(found) - _MOST_LIMITS:,} more, at most {least} in use", style="dim")


def show_other_parallelism(
    console: Console, found: Sequence[OtherParallelism], terms: Terms
) -> None:
    """Print what the next smaller and the next larger parallelism would cost or break."""
    if not found:
        console.text("there is no operator of which the parallelism can be changed")
        return

    def said(other: OtherParallelism) -> str:
        if other.status is Status.INFEASIBLE:
            broken = "; ".join(terms.limit(v) for v in other.breaks)
            return f"no plan holds: {broken}" if broken else "no plan holds"
        if other.status is Status.UNKNOWN:
            return "not known: the time was over"
        proved = "" if other.status is Status.OPTIMAL else " (not proved)"
        if other.term is None:
            return f"as good in every term{proved}"
        now, then = (terms.value(other.term, v) for v in (other.was, other.value))
        return f"{terms.title(other.term)} {then} instead of {now}{proved}"

    rows = [(f.operators, str(f.now), str(f.other), said(f)) for f in found]
    console.table(("operators", ">subtasks", ">with", "the best plan"), rows)


def show_moves(
    console: Console, found: Moves, objective: Sequence[ObjectiveName], terms: Terms
) -> None:
    """Print the other places of a subtask, with each objective term and its change."""
    here = ["now", found.site, found.task_manager]
    rows = [(*here, *(terms.value(name, found.terms[name]) for name in objective), "")]
    styles = ["bold"]
    for i, option in enumerate(found.options, start=1):
        alike = f"{option.tried} and {option.task_managers - 1:,} like it"
        rows.append(
            (
                str(i),
                some(option.sites, most=2),
                option.tried if option.task_managers == 1 else alike,
                *(
                    _changed(terms, name, found.terms[name], option.terms[name])
                    for name in objective
                ),
                "; ".join(
                    [
                        *(f"breaks {text}" for text in _limits(option.breaks, terms)),
                        *(f"cures {text}" for text in _limits(option.cures, terms)),
                    ]
                ),
            )
        )
        styles.append("dim" if option.breaks else "")
    columns = [
        "",
        "site",
        "TaskManager",
        *(f">{terms.title(name)}" for name in objective),
        "limits",
    ]
    console.table(columns, rows, styles, keys=(0,))
    if found.left_out:
        console.text(
            f"and {found.left_out:,} more TaskManagers, behind these or not tried", style="dim"
        )


def _limits(found: Sequence[Limit], terms: Terms, most: int = 2) -> list[str]:
    more = len(found) - most
    rest = [f"{more} more limits"] if more > 0 else []
    return [*(terms.limit(v) for v in found[:most]), *rest]


def _changed(terms: Terms, name: ObjectiveName, before: float, after: float) -> str:
    """Return a term as text, with its change."""
    if name == "latency" and after < 0:
        return milliseconds(after)
    delta = after - before
    if abs(delta) <= TIE * max(abs(before), abs(after)):
        return "same"
    sign = "+" if delta > 0 else "-"
    return f"{terms.value(name, after)} ({sign}{terms.value(name, abs(delta))})"


def show_prices(console: Console, found: Prices, terms: Terms) -> None:
    """Print the value of one more unit of each scarce resource."""
    state = (
        "proved" if found.proved else f"not proved, at least {_first(terms, found, found.bound)}"
    )
    console.text(f"the best plan as things are: {_first(terms, found, found.value)} ({state})")
    alike: dict[tuple[str, ...], list[str]] = {}
    for price in found.prices:
        place = f"{price.where} ({price.site})" if price.site else price.where
        gain = found.value - price.value
        worth = _first(terms, found, gain) if gain > SAME_VALUE * abs(found.value) else "nothing"
        if not (price.proved and found.proved):
            most = found.value - price.bound
            worth += f", at most {_first(terms, found, most)}"
        said = (
            percent(price.used),
            worth,
            _first(terms, found, price.value),
            "solved again, " + ("proved" if price.proved else "not proved"),
        )
        alike.setdefault((price.kind.facts.one_more, *said), []).append(place)
    rows = [
        (f"{more} {'one of ' * (len(places) > 1)}{some(places, most=3)}", *said)
        for (more, *said), places in alike.items()
    ]
    if rows:
        console.table(("with", ">in use now", ">is worth", ">the best is then", "how known"), rows)
        console.text(
            "tried, each by itself: limits that keep a single operator from a better place or are "
            "80 % in use, the fullest of a kind at a site; outside the cloud also the fullest "
            "node and TaskManager of a site, whatever their use; alike prices stand in one row",
            style="dim",
        )
    elif not found.left_out:
        console.text(
            "nothing was tried: no slots, cores or link keep a single operator from a better place "
            "or are as much as 80 % in use, and no site outside the cloud has nodes"
        )
    if found.left_out:
        names = [f"{v.kind} {v.where}" for v in found.left_out]
        console.text(f"there was no time for {some(names)}: give more with --time-limit")
    if found.untried:
        console.text(
            f"not tried: {found.untried:,} more cores and slots outside the cloud, less in use"
        )


def _first(terms: Terms, found: Prices, value: float) -> str:
    return terms.value(found.objective, value)


def show_difference(
    console: Console,
    found: Difference,
    objective: Sequence[ObjectiveName],
    names: tuple[str, str],
    terms: Terms,
) -> None:
    """Print two plans side by side: terms, limits broken and cured, and subtasks that move."""
    rows = [
        (
            terms.title(name),
            terms.value(name, found.before.value(name)),
            _changed(terms, name, found.before.value(name), found.after.value(name)),
        )
        for name in objective
    ]
    held, holds = ("yes" if e.feasible else "no" for e in (found.before, found.after))
    rows.append(("holds", held, holds))
    console.table(("", *(f">{name}" for name in names)), rows)
    for word, limits in (("newly broken", found.breaks), ("cured", found.cures)):
        for text in _limits(limits, terms, most=10):
            console.text(f"{word}: {text}")
    console.heading(f"who moves, from {names[0]} to {names[1]}")
    show_shifts(console, found.shifts)


def show_shifts(console: Console, found: Sequence[Shift], most: int = _MOST_SHIFTS) -> None:
    """Print the subtasks that move, by operator and site."""
    if not found:
        console.text("no subtask changes its TaskManager")
        return
    rows = []
    for shift in found[:most]:
        stays = shift.source == shift.target
        rows.append(
            (
                shift.name,
                f"within {shift.source}" if stays else f"{shift.source} -> {shift.target}",
                ranges([i + 1 for i in shift.subtasks]),
                some([f"{a} -> {b}" for a, b in shift.machines]),
            )
        )
    console.table(("operator", "site", "subtasks", "TaskManager"), rows)
    if len(found) > most:
        rest = found[most:]
        moving = sum(len(shift.subtasks) for shift in rest)
        console.text(f"and {len(rest):,} more ways, of {moving:,} subtasks", style="dim")


def show_terms(
    console: Console, found: Evaluation, objective: Sequence[ObjectiveName], terms: Terms
) -> None:
    """Print the objective terms of a plan in one line, and the limits that it breaks."""
    values = (f"{terms.title(n)} {terms.value(n, found.value(n))}" for n in objective)
    console.text(", ".join(values))
    for text in _limits(found.violations, terms, most=10):
        console.text(f"does not hold: {text}", style="red")
