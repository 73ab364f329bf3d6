"""The partitioners of the bench: their defining properties on small streams."""

from collections import defaultdict

import numpy as np
import pytest
from benchmarks.partitioners.cam import Cam
from benchmarks.partitioners.compare import ALL, Setting, measured
from benchmarks.partitioners.d_choices import DChoices
from benchmarks.partitioners.dalton import Dalton
from benchmarks.partitioners.edgeplace_rule import ColdByHash, EdgeplaceRule
from benchmarks.partitioners.hashing import Hash
from benchmarks.partitioners.pkg import Pkg
from benchmarks.partitioners.sas_style import SasStyle

SMALL = Setting(8, 200, 1.5)


def workers_of_keys(partitioner, keys, slides=3):
    """Return key -> workers that had it, in the last of some slides of the same records."""
    for _ in range(slides):
        seen = defaultdict(set)
        for key in keys:
            seen[key].add(partitioner.route(key))
        partitioner.end_of_slide()
    return seen


@pytest.fixture(scope="module")
def keys():
    draw = np.random.default_rng(3)
    p = np.arange(1.0, 201) ** -1.5
    return draw.choice(200, 4000, p=p / p.sum()).tolist()


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.title)
def test_every_record_goes_to_a_worker_and_the_same_one_again(kind, keys):
    runs = []
    for _ in range(2):
        partitioner = kind(8, np.ones(8))
        runs.append([partitioner.route(key) for key in keys[:1000]])
    assert runs[0] == runs[1]
    assert set(runs[0]) <= set(range(8))


@pytest.mark.parametrize(("kind", "most"), [(Hash, 1), (Pkg, 2), (Cam, 2), (Dalton, 6)])
def test_a_key_has_no_more_workers_than_its_method_allows(kind, most, keys):
    seen = workers_of_keys(kind(8, np.ones(8)), keys)
    assert max(map(len, seen.values())) <= most


def test_the_mask_of_sas_is_the_published_one():
    """Zipf 1.5, ten hot keys, 16 workers: 9, 3, 3, 2 workers for the four that are truly hot."""
    partitioner = SasStyle(16, np.ones(16))
    counts = np.round(1e6 * np.arange(1.0, 11) ** -1.5).astype(int)
    partitioner._count = dict(enumerate(counts.tolist()))
    partitioner.end_of_slide()
    fan_out = [int((row > 0).sum()) for row in partitioner._table.values()]
    assert fan_out[:4] == [9, 3, 3, 2]
    assert fan_out[4:] == [16] * 6


def test_d_choices_takes_the_least_number_that_balances():
    partitioner = DChoices(10, np.ones(10))
    partitioner._count = {0: 300, **{k: 1 for k in range(1, 701)}}
    partitioner._records = 1000
    # By hand: 0.3 + 0.7 x^2 <= x from x = 3/7 on, with x = 1 - 0.9^d: 0.41 for d = 5, 0.47 for 6.
    assert partitioner._fewest() == 6


def test_the_rule_gives_unlike_workers_what_they_bear_with_few_pieces():
    unlike = Setting(8, 200, 1.5, unlike=True)
    rule, by_hash = measured(EdgeplaceRule, unlike), measured(Hash, unlike)
    assert rule.worst_share > 0.9 > 0.5 > by_hash.share
    assert rule.partials <= rule.target * 1.05


def test_bounded_cold_keys_balance_where_no_key_is_hot():
    mild = Setting(32, 5000, 0.3)
    rule = measured(EdgeplaceRule, mild)
    assert rule.worst_share > 0.90 > measured(ColdByHash, mild).worst_share
    # And no key pays for it: those that pass came for the first time.
    assert rule.partials <= rule.target
