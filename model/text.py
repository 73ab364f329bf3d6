"""Text that several parts of edgeplace write alike."""

from collections.abc import Sequence


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


def some(names: Sequence[str], most: int = 4) -> str:
    """Return a few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names) if more < 2 else f"{', '.join(names[:most])} and {more:,} more"
