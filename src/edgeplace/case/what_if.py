"""Figures and what-if questions given on the command line."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from pydantic_core import PydanticCustomError

from edgeplace.model import (
    Case,
    Change,
    Cluster,
    InvalidInputError,
    LimitKind,
    Rules,
    all_digits,
    did_you_mean,
    first_few,
    nearest,
    quantity,
    task_managers_of,
)

KINDS = (
    "rate:SOURCE=N, rate:SOURCE=xFACTOR, rate=xFACTOR, period:NAME=xFACTOR, demand=PERIOD, "
    "demand=xFACTOR, "
    "site:ID=lost, node:ID=lost, link:A-B=lost, "
    "link:A-B=FACTOR, link:A-B=+5Mbit/s, price:A-B=PRICE, slots:PLACE=N, cores:PLACE=N, "
    "class:OLD=NEW, node+=CLASS@SITE, node+=N*CLASS@SITE or site+=NEW@LIKE; "
    "x2 may be written 2x or 200%, and an ID may be a pattern such as depot-*"
)
"""What `--set` understands."""
_WORDS = (
    "rate", "period", "demand", "site", "node", "link", "price", "slots", "cores", "class",
    "node+", "site+",
)  # fmt: skip
"""How a setting may begin."""
_MULTIPLE = re.compile(
    r"x(?P<after>.*)|(?P<before>[\d.][\d.eE+-]*)x|(?P<percent>[\d.][\d.eE+-]*) ?%"
)
"""`x2`, `2x` and `200%`; `+10%` is none of them."""
_MULTIPLIED = ("rate", "period", "demand", "link", "price", "slots", "cores")
"""Kinds whose values may be multiples."""
_PATTERN = "*?["
"""Letters that make a pattern of a name."""
_LARGEST = 1e12
"""Records/s, and factors, that one supposes at most."""
_NODES = range(1, 1001)
"""How many nodes one setting adds."""


def rates(texts: Sequence[str], option: str) -> dict[str, float]:
    """Return source -> records/s from texts such as `sensors=500`.

    Raises
    ------
    InvalidInputError
        If a text has no `=`, or its figure is no number of 0 or more.
    """
    found = {}
    for text in texts:
        # A name may hold `=`; a number does not.
        source, _, figure = text.rpartition("=")
        rate = _rate(figure)
        if not source or rate is None:
            raise InvalidInputError(
                f"{option} {text!r} is not understood", f"write {option} SOURCE=RECORDS_PER_SECOND"
            )
        found[source] = rate
    return found


def _rate(figure: str) -> float | None:
    try:
        rate = float(figure)
    except ValueError:
        return None
    return rate if 0 <= rate <= _LARGEST else None


def apply(case: Case, settings: Sequence[str]) -> Case:
    """Return the case with each `--set` applied in turn; its notes say what to know of it.

    Raises
    ------
    InvalidInputError
        If a setting is of no kind that is known, or names what is not there.
    """
    for text in settings:
        try:
            case = _applied(case, text)
        except InvalidInputError as e:
            named = e.what if e.what.startswith("--set ") else f"--set {text!r}: {e.what}"
            raise InvalidInputError(named, e.cure) from e
    return case


def _applied(case: Case, text: str) -> Case:
    """Return the case with one `--set` applied."""
    # A name may hold `=`; a figure does not.
    key, equals, value = text.rpartition("=")
    kind, colon, name = key.partition(":")
    # The name of a period may look like a multiple.
    named = kind == "demand" and value in {p.name for p in (case.rules or Rules()).demand}
    times = _multiple(text, value) if kind in _MULTIPLIED and not named else None
    match (kind, bool(colon)):
        case ("rate" | "demand", False) if times is not None:
            return case.with_rates_times(times)
        case ("rate", False) if equals:
            raise InvalidInputError(
                f"--set {text!r} does not say of which source",
                f"write rate:SOURCE={value}, or rate=x2 to multiply all sources",
            )
        case ("rate", True) if name and times is not None:
            return case.with_rate_times(name, times)
        case _ if text.startswith("rate:"):
            rate = _rate(value)
            if not name or rate is None:
                raise InvalidInputError(
                    f"--set {text!r} is not understood",
                    "write --set rate:SOURCE=RECORDS_PER_SECOND, or rate:SOURCE=x2 to "
                    "multiply what it sends",
                )
            return case.with_rate(name, rate)
        case ("period", True) if name and times is not None:
            return case.with_period_times(name, times)
        case ("demand", False) if value:
            if not named and _rate(value) is not None:
                raise InvalidInputError(
                    f"--set {text!r} is no period and no multiple",
                    f"write demand={value}x to multiply the rates of all sources",
                )
            return case.with_demand_of(value)
        case ("site" | "node" | "link", True) if value == "lost":
            return _without(case, kind, name)
        case ("link", True) if name:
            change = _bandwidth(text, value)
            for a, b in _ways(case, "link", name):
                case = case.with_bandwidth(a, b, change)
            return case
        case ("price", True) if name:
            price = value if times is None else f"x{times!r}"
            return case.with_price(_ways(case, "price", name), price)
        case ("slots", True) if name:
            return case.with_slots(name, _change(text, value))
        case ("cores", True) if name:
            return case.with_cores(name, _change(text, value))
        case ("class", True) if name and value:
            return case.with_class(name, value)
        case ("node+", False) if value:
            return _with_nodes(case, value)
        case ("site+", False) if "@" in value:
            new, _, like = value.partition("@")
            if new:
                return case.with_site_like(new, like)
    near = nearest(kind, _WORDS) if kind not in _WORDS else None
    meant = f"is it {near!r}? " if near else ""
    raise InvalidInputError(f"--set {text!r} is not understood", f"{meant}write {KINDS}")


def _without(case: Case, kind: str, name: str) -> Case:
    """Return the case without sites, nodes or links: one, or all of a pattern."""
    if kind == "link":
        return case.without_links(_ways(case, kind, name))
    if kind == "node":
        for node in _matching(kind, name, [n.id for n in case.cluster.nodes]):
            case = case.without_node(node)
        return case
    for site in _matching(kind, name, [s.id for s in case.cluster.sites]):
        # One before it may have taken it along.
        if site not in case.lost:
            case = case.without_site(site)
    return case


def _matching(what: str, name: str, ids: Sequence[str]) -> list[str]:
    """Return the ids that a pattern fits; a plain name as it is, whether it is there or not.

    Raises
    ------
    InvalidInputError
        If a pattern fits none.
    """
    if name in ids or not set(name) & set(_PATTERN):
        return [name]
    found = [each for each in ids if fnmatchcase(each, name)]
    if not found:
        raise InvalidInputError(
            f"the cluster has no {what} {name!r}",
            did_you_mean(name, ids, f"its {what}s are {first_few(ids, 6)}"),
        )
    return found


def as_settings(changes: Sequence[Change], cluster: Cluster) -> tuple[str, ...]:
    """Return changes as texts for `--set`, that `apply` understands.

    Empty if one of them cannot be written so, or would change more than it says.
    """
    texts = [_as_setting(change, cluster) for change in changes]
    return tuple(text for text in texts if text) if all(texts) else ()


def _as_setting(change: Change, cluster: Cluster) -> str:
    if set(change.where) & set(_PATTERN):
        # An id that reads as a pattern is not sure to fit itself.
        return ""
    of_node = {t.id for t in cluster.task_managers if t.node == change.where}
    match change.kind:
        case LimitKind.SLOTS if task_managers_of(cluster, change.where) == {change.where}:
            return f"slots:{change.where}=+{change.amount:.0f}"
        case LimitKind.NODE_CPU if of_node and task_managers_of(cluster, change.where) == of_node:
            return f"cores:{change.where}=+{all_digits(change.amount)}"
        case LimitKind.LINK_BANDWIDTH if len(change.subject) == 2:
            a, b = change.subject
            if _ways_named(cluster, f"{a}->{b}") == [(a, b)]:
                return f"link:{a}->{b}=+{cluster.rates_in.text(change.amount, all_digits)}"
    return ""


def _with_nodes(case: Case, value: str) -> Case:
    """Return the case with the nodes of `CLASS@SITE` or `N*CLASS@SITE`."""
    node_class, _, site = value.partition("@")
    number, times, rest = node_class.partition("*")
    # The name of a class may hold `*`.
    if not (times and number.removeprefix("-").isdecimal()):
        return case.with_node(node_class, site)
    if int(number) not in _NODES:
        raise InvalidInputError(
            f"{number} nodes of class {rest!r} cannot be added",
            f"add {_NODES[0]} to {_NODES[-1]:,} nodes by one setting",
        )
    for _ in range(int(number)):
        case = case.with_node(rest, site)
    return case


def _multiple(text: str, value: str) -> float | None:
    """Return the factor if a value is written as a multiple: `x2`, `2x` or `200%`."""
    found = _MULTIPLE.fullmatch(value)
    if found is None:
        return None
    if found["percent"] is not None:
        return _factor(text, found["percent"]) / 100
    return _factor(text, found["after"] if found["before"] is None else found["before"])


def _factor(text: str, figure: str) -> float:
    try:
        factor = float(figure)
    except ValueError:
        raise InvalidInputError(
            f"--set {text!r} is not understood: {figure!r} is no factor",
            "give a number above 0, such as 0.5",
        ) from None
    # Written so that nan is refused too.
    if not abs(factor) <= _LARGEST:
        raise InvalidInputError(
            f"--set {text!r}: {figure} is out of all proportion", f"give at most {_LARGEST:g}"
        )
    return factor


def _change(text: str, figure: str) -> Callable[[float], float]:
    """Return what `8`, `+8`, `-8` or `x2` makes of an amount."""
    times = _multiple(text, figure)
    if times is not None:
        return lambda now: now * times
    number = _factor(text, figure)
    if figure[:1] in ("+", "-"):
        return lambda now: now + number
    return lambda now: number


def _bandwidth(text: str, figure: str) -> Callable[[float], float]:
    """Return what `0.5`, `x2`, `10 Mbit/s` or `+5 Mbit/s` makes of a bandwidth in bytes/s."""
    times = _multiple(text, figure)
    if times is not None:
        return lambda now: now * times
    try:
        amount = quantity(figure, "bandwidth_bytes_per_s")
    except PydanticCustomError:
        raise InvalidInputError(
            f"--set {text!r} is not understood: {figure!r} is no factor and no bandwidth",
            "give a number above 0, such as 0.5, or a bandwidth such as 10Mbit/s or +5Mbit/s",
        ) from None
    if isinstance(amount, str):
        factor = _factor(text, figure)
        if figure[:1] in ("+", "-"):
            raise InvalidInputError(
                f"--set {text!r} is not understood: {figure!r} has no unit",
                f"write {figure}Mbit/s, or a number without a sign to multiply the bandwidth",
            )
        return lambda now: now * factor
    if figure.strip()[:1] in ("+", "-"):
        return lambda now: now + amount
    return lambda now: amount


def _ways_named(cluster: Cluster, name: str) -> list[tuple[str, str]]:
    """Return the directions of links, as (source, target), that a name or a pattern fits."""
    plain = name.replace(" ", "")
    return [
        (a.source, a.target)
        for a in cluster.directed_links()
        if any(
            fnmatchcase(text.replace(" ", ""), plain)
            for text in (
                f"{a.source}->{a.target}",
                f"{a.source}-{a.target}",
                f"{a.target}-{a.source}",
            )
        )
    ]


def _ways(case: Case, kind: str, name: str) -> list[tuple[str, str]]:
    """Return the directions of link `A-B`, direction `A->B`, or all links of a pattern of these."""
    ways = [(a.source, a.target) for a in case.cluster.directed_links()]
    named = _ways_named(case.cluster, name)
    several = len({frozenset(way) for way in named}) > 1 and "*" not in name
    arrow = "->" if "->" in name else "-"
    near = nearest(name.replace(" ", ""), (f"{a}{arrow}{b}" for a, b in ways))
    if not named and near:
        raise InvalidInputError(
            f"--set {kind}:{name}: no link is named so in the cluster", f"did you mean {near!r}?"
        )
    if not named or several:
        raise InvalidInputError(
            f"--set {kind}:{name}: {'several links are' if named else 'no link is'} named so in "
            "the cluster",
            f"write {kind}:A-B=... for both directions, {kind}:A->B=... for one; the links are "
            f"{[f'{a}->{b}' for a, b in ways][:8]}",
        )
    return named
