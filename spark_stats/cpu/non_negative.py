"""Least squares with coefficients that are not negative."""

import numpy as np

from edgeplace.spark_stats.arrays import Bools, Floats

_ZERO = 1e-12
"""A gradient below this share of the largest moment counts as 0."""


def non_negative_least_squares(gram: Floats, moment: Floats) -> Floats:
    """Return the x >= 0 with the least |A x - b|², from sums over the rows of A and b.

    The method is that of the active set: a coefficient is freed if the error falls with it, and is
    fixed at 0 if it would become negative.

    Parameters
    ----------
    gram
        A' A, shape (k, k). Columns should have a similar length.
    moment
        A' b, shape (k,).

    References
    ----------
    C. L. Lawson, R. J. Hanson: Solving Least Squares Problems. Prentice-Hall 1974, chapter 23.
    R. Bro, S. de Jong: A fast non-negativity-constrained least squares algorithm. Journal of
    Chemometrics 11, 1997 (on A' A and A' b).
    """
    size = len(moment)
    x = np.zeros(size)
    free = np.zeros(size, dtype=bool)
    least = _ZERO * float(np.abs(moment).max(initial=0.0))
    # Each set of free coefficients comes at most once; rounding must not make the search endless.
    for _ in range(10 * size):
        gradient = np.where(free, -np.inf, moment - gram @ x)
        if gradient.max() <= least:
            break
        free[int(gradient.argmax())] = True
        x = _inside(gram, moment, x, free)
        free = x > 0
    return x


def _inside(gram: Floats, moment: Floats, x: Floats, free: Bools) -> Floats:
    """Return the optimum of the free coefficients; fix those at 0 that would be negative."""
    while free.any():
        best = np.zeros(len(x))
        best[free] = np.linalg.lstsq(gram[np.ix_(free, free)], moment[free], rcond=None)[0]
        falls = free & (best <= 0)
        if not falls.any():
            return best
        # How far each goes towards the optimum before it is 0.
        part = np.ones(len(x))
        part[falls] = x[falls] / np.maximum(x[falls] - best[falls], np.finfo(float).tiny)
        first = falls & (part == part[falls].min())
        x = x + part[falls].min() * (best - x)
        x[first] = 0.0
        free = free & ~first
    return np.zeros(len(x))
