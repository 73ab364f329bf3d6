"""What a measurement of a placement must give to what reads it."""

from typing import Any

import pytest

from edgeplace.spark_stats.cpu.choice import FEWEST_MINUTES
from testbed.experiments.placement_measurement import Schedule, in_equal_shares

PLACEMENTS = 2


def test_the_logs_of_processor_costs_have_the_minutes_that_a_regression_needs() -> None:
    schedule = Schedule()
    recorded_s = schedule.rate_s * (1 + len(schedule.shares))
    # More than n minutes are in n + 1 minutes of the clock at least. The move makes one useless,
    # and the end of the first placement may be in the same minute as the start of the second.
    of_clock = recorded_s // 60 + 1
    assert PLACEMENTS * of_clock - 2 >= FEWEST_MINUTES


def shared_link(offer: float, records_per_s: float) -> dict[str, Any]:
    """Two sources before a link. When it is overloaded, one of them has four fifths of it."""
    shares = [min(offer, records_per_s / 2)] * 2
    if 2 * offer > records_per_s:
        shares = [min(offer, 0.8 * records_per_s), max(0.2 * records_per_s, records_per_s - offer)]
    return {"per_source": shares, "per_subtask": min(shares)}


@pytest.mark.parametrize("sustained", [100.0, 3257.0, 9000.0])
@pytest.mark.parametrize("overload", [1.3, 4.0, 30.0])
def test_equal_shares_find_what_a_badly_shared_link_sustains(
    sustained: float, overload: float
) -> None:
    offer = overload * sustained
    best, refused = in_equal_shares(
        lambda each: shared_link(each, 2 * sustained), shared_link(offer, 2 * sustained), offer
    )
    assert sustained / 1.1 <= best["per_subtask"] <= sustained * 1.0001
    assert sustained < refused


def test_an_equal_share_that_was_all_sustained_is_not_the_limit() -> None:
    # In the overload, one source had little for another reason than the link.
    overloaded = {"per_source": [3000.0, 500.0], "per_subtask": 500.0}
    best, refused = in_equal_shares(lambda each: shared_link(each, 12_000), overloaded, 10_000)
    assert 6000 / 1.1 <= best["per_subtask"] <= 6000
    assert refused > 6000
