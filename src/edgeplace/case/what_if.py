"""Figures and what-if questions given on the command line."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from edgeplace.model import Case, InvalidInputError, Rules

KINDS = (
    "rate:SOURCE=N, rate:SOURCE=xFACTOR, rate=xFACTOR, period:NAME=xFACTOR, demand=PERIOD, "
    "demand=xFACTOR, "
    "site:ID=lost, node:ID=lost, link:A-B=lost, "
    "link:A-B=FACTOR, price:A-B=PRICE, slots:PLACE=N, cores:PLACE=N, class:OLD=NEW, "
    "node+=CLASS@SITE, node+=N*CLASS@SITE or site+=NEW@LIKE; x2 may be written 2x or 200%"
)
"""What `--set` understands."""
_MULTIPLE = re.compile(
    r"x(?P<after>.*)|(?P<before>[\d.][\d.eE+-]*)x|(?P<percent>[\d.][\d.eE+-]*) ?%"
)
"""`x2`, `2x` and `200%`; `+10%` is none of them."""
_MULTIPLIED = ("rate", "period", "demand", "link", "price", "slots", "cores")
"""Kinds whose values may be multiples."""
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
            return case.with_demand_of(value)
        case ("site", True) if value == "lost":
            return case.without_site(name)
        case ("node", True) if value == "lost":
            return case.without_node(name)
        case ("link", True) if value == "lost":
            return case.without_links(_ways(case, "link", name))
        case ("link", True) if name:
            factor = _factor(text, value) if times is None else times
            for a, b in _ways(case, "link", name):
                case = case.with_bandwidth_times(a, b, factor)
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
    raise InvalidInputError(f"--set {text!r} is not understood", f"write {KINDS}")


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


def _ways(case: Case, kind: str, name: str) -> list[tuple[str, str]]:
    """Return the directions of link `A-B`, direction `A->B`, or all links of a pattern of these."""
    plain = name.replace(" ", "")
    ways = [(a.source, a.target) for a in case.cluster.directed_links()]
    named = [
        (a, b)
        for a, b in ways
        if any(
            fnmatchcase(w.replace(" ", ""), plain) for w in (f"{a}->{b}", f"{a}-{b}", f"{b}-{a}")
        )
    ]
    several = len({frozenset(way) for way in named}) > 1 and "*" not in name
    if not named or several:
        raise InvalidInputError(
            f"--set {kind}:{name}: {'several links are' if named else 'no link is'} named so in "
            "the cluster",
            f"write {kind}:A-B=... for both directions, {kind}:A->B=... for one; the links are "
            f"{[f'{a}->{b}' for a, b in ways][:8]}",
        )
    return named
