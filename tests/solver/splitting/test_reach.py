"""What the router's rule is predicted to reach, by hand and against a hash."""

import numpy as np
import pytest

from edgeplace.model import InvalidInputError
from edgeplace.solver import reach


def test_pieces_are_those_of_loads_over_capacities():
    found = reach([50, 30, 20], [1, 1, 1, 1])
    # A worker holds 1.05 / 4 of the records.
    assert found.pieces == 2 + 2 + 1
    assert found.hot_keys == 3
    assert found.fullest == 1.05
    assert found.share_of_ideal == pytest.approx(1 / 1.05)


def test_cold_keys_leave_what_the_hash_leaves():
    """200 hashes of 1,000 keys that are alike: the estimate is not below the usual one."""
    workers = 10
    found = reach(np.ones(1000), np.ones(workers))
    draw = np.random.default_rng(5)
    fullest = [np.bincount(draw.integers(0, workers, 1000)).max() / 100 for _ in range(200)]
    assert found.hot_keys == 0
    assert np.median(fullest) <= found.fullest <= np.max(fullest)
    assert found.pieces == 1000


def test_workers_without_a_weight_get_nothing_and_unlike_ones_count_as_unlike():
    assert reach([1, 1], [1, 0]).fullest == 1.0
    assert reach([1.0], [3, 1]).pieces == 2


@pytest.mark.parametrize(("keys", "weights"), [([], [1]), ([0.0], [1]), ([1.0], [0, 0])])
def test_without_keys_or_workers_it_is_refused(keys, weights):
    with pytest.raises(InvalidInputError):
        reach(keys, weights)
