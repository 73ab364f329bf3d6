"""Quantiles of Student's t."""

import math
from statistics import NormalDist


def students_t(freedom: int, confidence: float) -> float:
    """Return the end of the interval that a figure is in with a probability, on both sides of 0.

    One and two degrees of freedom have closed forms; the others are expanded (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.5; error below 0.3 % from 3 on at 90 %).

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1.
    """
    p = (1 + confidence) / 2
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** (i + 1) for i, term in enumerate(terms))
