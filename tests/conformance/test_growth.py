"""The evaluator's headroom and sustained rate against what docs/formulation.md says of them."""

import numpy as np
import pytest

from edgeplace.solver import evaluate
from tests.conformance.document_growth import growth_differences
from tests.conformance.generate import generate
from tests.conformance.parsed import Parsed

NOT_PROPORTIONAL = ("state", "wire", "by_rate", "flush_law", "full_links", "background")
"""Families in which use does not always grow as the rates do, or checkpoints fill links."""
MOST_PLANS = 1000


@pytest.mark.slow
@pytest.mark.parametrize("family", NOT_PROPORTIONAL)
def test_the_first_limit_is_full_at_the_headroom_and_held_back_at_the_sustained_rate(family):
    wrong, held_back = [], 0
    for seed in range(15):
        case = Parsed.of(generate(seed, MOST_PLANS, family))
        document = case.document()
        plans = document.plans()
        if len(plans):
            plan = document.as_plan(plans[np.random.default_rng(seed).integers(len(plans))])
            wrong += [(seed, *said) for said in growth_differences(case, plan)]
            found = evaluate(case.jobs, case.cluster, plan, case.rules, case.current)
            held_back += found.sustained > found.headroom * 1.0001

    assert not wrong
    assert held_back or family != "state"
