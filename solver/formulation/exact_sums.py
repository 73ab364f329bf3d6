"""Sums of floats without rounding, for expressions whose large terms cancel.

Floats are cut into words: parts that are multiples of one power of two each, so few that adding
them rounds nothing (the error-free transformation of Rump, Ogita and Oishi, SIAM J. Sci. Comput.
31(1), 2008). Words are added, subtracted and multiplied by small whole numbers one by one.
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints

_BITS = 52
_SMALLEST = float(np.finfo(float).tiny)


def product_parts(whole: Floats, value: Floats) -> Floats:
    """Return numbers whose sum is whole * value exactly, shape (2, n).

    Parameters
    ----------
    whole
        Whole numbers below 2^26, shape (n,).
    value
        Shape (n,).
    """
    # Two halves of the digits (Veltkamp 1968).
    top = value * (2.0**27 + 1)
    high = top - (top - value)
    return np.stack([whole * high, whole * (value - high)])


def words(parts: Floats, times: float) -> Floats:
    """Return numbers cut into words, shape (n_words, n).

    Parameters
    ----------
    parts
        Each number is the sum of a column, shape (n_parts, n).
    times
        How often a number is added at most, by whatever sums are formed.
    """
    rest = parts
    limit = float(np.abs(rest).sum()) * times
    found = []
    while rest.any():
        # Multiples of this up to the limit, and twice that, are floats.
        step = 2.0 ** (np.ceil(np.log2(limit)) - _BITS) if limit > 0 else 0.0
        if step < _SMALLEST:
            found.append(rest.sum(axis=0))
            break
        word = np.rint(rest / step) * step
        found.append(word.sum(axis=0))
        rest = rest - word
        limit = rest.size * times * step / 2
    return np.stack(found) if found else np.zeros((1, parts.shape[1]))


def totals(at: Ints, value: Floats, n: int) -> Floats:
    """Return the sums of words at each of n places, shape (n_words, n)."""
    return np.stack([np.bincount(at, weights=word, minlength=n) for word in value])


def rounded(value: Floats) -> Floats:
    """Return the floats next to words, shape (n,)."""
    total: Floats = np.zeros(value.shape[1:])
    # From the largest on: where these cancel, nothing is rounded.
    for word in value:
        total = total + word
    return total
