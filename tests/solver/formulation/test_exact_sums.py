"""Sums in words are those of exact arithmetic."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgeplace.solver.formulation.exact_sums import product_parts, rounded, totals, words

NUMBERS = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-30)
TERMS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-1000, 1000), NUMBERS), min_size=1, max_size=30
)


@given(TERMS, st.integers(1, 500))
def test_sums_of_products_are_exact_and_rounded_once(
    terms: list[tuple[int, int, float]], times: int
) -> None:
    at, whole, value = (np.array(x) for x in zip(*terms, strict=True))
    parts = product_parts(whole.astype(float), value)
    found = rounded(totals(at, words(parts, float(times)), 3) * times)
    for place in range(3):
        exact = times * sum((w * Fraction(v) for i, w, v in terms if i == place), start=Fraction(0))
        # Added up from a few floats without cancellation: two roundings at most.
        assert abs(Fraction(float(found[place])) - exact) <= abs(exact) * Fraction(2, 2**52)


def test_large_terms_that_cancel_leave_the_small_one() -> None:
    """With 29,000 beside it, a plain sum of the others has lost 4.166195e-9 by a tenth."""
    value = np.array([2.9e4 / 3, 4.166195e-9, 2.9e4 / 7, -2.9e4 / 3, -2.9e4 / 7])
    assert value.sum() != value[1]
    parts = np.stack([value, np.zeros(5)])
    assert rounded(words(parts, 1.0).sum(axis=1)) == value[1]


def test_the_smallest_floats_end_the_words() -> None:
    value = np.array([[5e-324, 1.0, 1e-310]])
    assert rounded(words(value, 1.0)).tolist() == [5e-324, 1.0, 1e-310]


def test_nothing_is_one_word_of_zeros() -> None:
    assert words(np.zeros((2, 3)), 1.0).tolist() == [[0.0, 0.0, 0.0]]
