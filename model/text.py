"""Text that several parts of edgeplace write alike."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

_PREFIXES = ("", "k", "M", "G", "T", "P")


def first_few(
    texts: Sequence[str], most: int, separator: str = ", ", before_rest: str = " and "
) -> str:
    """Return the first texts, at most so many, and how many more there are.

    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = len(texts) - most
    shown = separator.join(texts[:most])
    return f"{shown}{before_rest}{rest:,} more" if rest > 0 else shown


def digits(value: float) -> str:
    """Return a number with three significant digits, and all digits of one that has more."""
    # `.3g` alone writes 999.5 and more as 1e+03.
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value or 0.0:.3g}"


def with_prefix(value: float, unit: str, number: Callable[[float], str] = digits) -> str:
    """Return an amount with a decimal prefix before its unit.

    >>> with_prefix(1_234_567, "B")
    '1.23 MB'
    """
    step = 0
    # Also one that the text would round up to 1,000.
    while step < len(_PREFIXES) - 1 and (abs(value) >= 1000 or number(abs(value)) == "1,000"):
        value /= 1000
        step += 1
    return f"{number(value)} {_PREFIXES[step]}{unit}"


def all_digits(value: float) -> str:
    """Return a number with all that it has, up to twelve digits."""
    return f"{value or 0.0:,.12g}"


class RateUnit(StrEnum):
    """What a text measures the traffic of links in."""

    BYTES = "bytes/s"
    BITS = "bit/s"

    def text(self, bytes_per_s: float, number: Callable[[float], str] = digits) -> str:
        """Return bytes per second as text.

        >>> RateUnit.BITS.text(1_250_000)
        '10 Mbit/s'
        """
        if self is RateUnit.BITS:
            return with_prefix(8 * bytes_per_s, "bit/s", number)
        return with_prefix(bytes_per_s, "B/s", number)


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the name that is most like a word, or None if none is much like it.

    >>> nearest("Fliter", ["filter", "sink"])
    'filter'
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(names), 1, likeness)
    return names[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the cure of a name that there is not: the nearest one, or which there are.

    Parameters
    ----------
    otherwise
        What else helps, said behind the nearest name, too; empty: a few of those that are known, if
        none is near.

    >>> did_you_mean("fliter", ["filter", "sink"])
    "did you mean 'filter'?"
    """
    names = list(dict.fromkeys(known))
    near = nearest(word, names)
    if near is None:
        return otherwise or f"there are {some(names) or 'none'}"
    return f"did you mean {near!r}?" + (f" {otherwise}" if otherwise else "")


def some(names: Sequence[str], most: int = 4) -> str:
    """Return a few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names) if more < 2 else f"{', '.join(names[:most])} and {more:,} more"
