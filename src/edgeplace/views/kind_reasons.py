"""Why each kind of site runs what it runs: what if a chain left it, or came to it."""

from collections.abc import Iterator, Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import count
from edgeplace.model import Limit, some
from edgeplace.solver import Chain, KindReason, TooSlow
from edgeplace.views.plan_summary import name_of, one_name
from edgeplace.views.terms import Terms

KIND_COLUMNS = ("sites", "what if", "then")


def show_kind_reasons(console: Console, reasons: Sequence[KindReason], terms: Terms) -> None:
    """Print, for each kind of sites, what would be if a chain of operators ran elsewhere.

    Nothing, not even a heading, if no chain has a choice.
    """
    rows, named = [], ""
    for sites, *rest in kind_rows(reasons, terms):
        rows.append(("" if sites == named else sites, *rest))
        named = sites
    if rows:
        console.heading("why each kind of site runs what it runs")
        console.table(KIND_COLUMNS, rows)


def kind_rows(reasons: Sequence[KindReason], terms: Terms) -> list[tuple[str, str, str]]:
    """Return the rows of `KIND_COLUMNS`."""
    return [
        (name_of(reason.kind), question, answer)
        for reason in reasons
        for question, answer in _asked(reason, terms)
    ]


def chained(reasons: Sequence[KindReason], terms: Terms) -> dict[tuple[str, str], str]:
    """Return (job, name of an operator) -> what would be if it moved with the rest of its chain.

    An operator that would move alone is not in it.
    """
    said: dict[tuple[str, str], str] = {}
    for reason in reasons:
        for chain in reason.along:
            first, *rest = chain.operators
            text = (
                f"if it moved away from {one_name(reason.kind.sites)} with {' and '.join(rest)}: "
            )
            if rest:
                said.setdefault((chain.job, first), text + _effect(chain, terms))
        for chain in (*reason.away, *reason.here):
            for name in chain.operators[1:]:
                others = " and ".join(n for n in chain.operators if n != name)
                said.setdefault((chain.job, name), f"it would move along with {others}: see above")
    return said


def _asked(reason: KindReason, terms: Terms) -> Iterator[tuple[str, str]]:
    for chain in reason.away:
        yield f"{_subtasks(chain)} moved away", _effect(chain, terms)
    for chain in reason.here:
        yield f"{_subtasks(chain)} moved here", _effect(chain, terms)
    if reason.full and not reason.here:
        yield "more moved here", f"full: {some([terms.limit(v) for v in reason.full], most=2)}"


def _subtasks(chain: Chain) -> str:
    return f"{chain.subtasks:,} of {' and '.join(chain.operators)}"


def _effect(chain: Chain, terms: Terms) -> str:
    if chain.too_slow:
        return _too_slow(chain.too_slow)
    text = "nothing would differ"
    if chain.objective:
        before, after = (terms.value(chain.objective, v) for v in (chain.before, chain.after))
        word = "worse" if chain.after > chain.before else "better"
        if before == after:
            by = terms.value(chain.objective, abs(chain.after - chain.before))
            text = f"{terms.name(chain.objective)} {word} by {by}"
        else:
            text = f"{terms.name(chain.objective)} {word}: {after}, now {before}"
    return f"{text}; breaks {_broken(chain.breaks, terms)}" if chain.breaks else text


def _broken(breaks: Sequence[Limit], terms: Terms) -> str:
    more = len(breaks) - 1
    return f"{terms.limit(breaks[0])} and {more:,} more" if more else terms.limit(breaks[0])


def _too_slow(found: TooSlow) -> str:
    text = (
        f"a subtask of {found.operator} gets {count(found.needed_per_s)} records/s, and a "
        f"{found.node_class} carries {count(found.carries_per_s)}"
    )
    others = [f"{name} {count(rate)}" for name, rate in found.elsewhere]
    return f"{text} ({', '.join(others)})" if others else text
