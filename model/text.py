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
