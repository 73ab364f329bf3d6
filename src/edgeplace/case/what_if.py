"""Figures and what-if questions given on the command line."""

from collections.abc import Sequence

from edgeplace.model import Case, InvalidInputError

KINDS = (
    "rate:SOURCE=N, rate:SOURCE=xFACTOR, rate=xFACTOR, site:ID=lost, link:A-B=FACTOR, "
    "class:OLD=NEW or node+=CLASS@SITE"
)
"""What `--set` understands."""


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
    return rate if 0 <= rate < float("inf") else None


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
    match (kind, bool(colon)):
        case ("rate", False) if equals:
            if value[:1] != "x":
                raise InvalidInputError(
                    f"--set {text!r} does not say of which source",
                    f"write rate:SOURCE={value}, or rate=x2 to multiply all sources",
                )
            return case.with_rates_times(_factor(text, value[1:]))
        case ("rate", True) if name and value[:1] == "x":
            return case.with_rate_times(name, _factor(text, value[1:]))
        case _ if text.startswith("rate:"):
            rate = _rate(value)
            if not name or rate is None:
                raise InvalidInputError(
                    f"--set {text!r} is not understood",
                    "write --set rate:SOURCE=RECORDS_PER_SECOND, or rate:SOURCE=x2 to "
                    "multiply what it sends",
                )
            return case.with_rate(name, rate)
        case ("site", True) if value == "lost":
            return case.without_site(name)
        case ("link", True) if name:
            return _slower(case, name, _factor(text, value.removeprefix("x")))
        case ("class", True) if name and value:
            return case.with_class(name, value)
        case ("node+", False) if value:
            node_class, _, site = value.partition("@")
            return case.with_node(node_class, site)
    raise InvalidInputError(f"--set {text!r} is not understood", f"write {KINDS}")


def _factor(text: str, figure: str) -> float:
    try:
        return float(figure)
    except ValueError:
        raise InvalidInputError(
            f"--set {text!r} is not understood: {figure!r} is no factor",
            "give a number above 0, such as 0.5",
        ) from None


def _slower(case: Case, name: str, factor: float) -> Case:
    """Return the case with the bandwidth of link `A-B`, or of direction `A->B`, multiplied."""
    plain = name.replace(" ", "")
    ways = [(a.source, a.target) for a in case.cluster.directed_links()]
    named = [
        (a, b)
        for a, b in ways
        if plain in {w.replace(" ", "") for w in (f"{a}->{b}", f"{a}-{b}", f"{b}-{a}")}
    ]
    if not named or len({frozenset(way) for way in named}) > 1:
        found = "several links are" if named else "no link is"
        raise InvalidInputError(
            f"--set link:{name}: {found} named so in the cluster",
            "write link:A-B=0.5 for both directions, link:A->B=0.5 for one; the links are "
            f"{[f'{a}->{b}' for a, b in ways][:8]}",
        )
    for a, b in named:
        case = case.with_bandwidth_times(a, b, factor)
    return case
