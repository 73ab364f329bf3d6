"""What a measurement of a placement must give to what reads it."""

from typing import Any

import pytest

from edgeplace.spark_stats.cpu.choice import FEWEST_MINUTES
from testbed.experiments.placement_measurement import RESTARTED, Schedule, largest_offer

PLACEMENTS = 2


def test_the_logs_of_processor_costs_have_the_minutes_that_a_regression_needs() -> None:
    schedule = Schedule()
    recorded_s = schedule.rate_s * (1 + len(schedule.shares))
    # More than n minutes are in n + 1 minutes of the clock at least. The move makes one useless,
    # and the end of the first placement may be in the same minute as the start of the second.
    of_clock = recorded_s // 60 + 1
    assert PLACEMENTS * of_clock - 2 >= FEWEST_MINUTES


def summary(*per_source: float, restarted: bool = False) -> dict[str, Any]:
    return {"per_source": per_source, "per_subtask": min(per_source), RESTARTED: restarted}


def shared_link(offer: float, records_per_s: float) -> dict[str, Any]:
    """Two sources before a link. When it is overloaded, one of them has four fifths of it."""
    if 2 * offer <= records_per_s:
        return summary(offer, offer)
    return summary(min(offer, 0.8 * records_per_s), max(0.2 * records_per_s, records_per_s - offer))


@pytest.mark.parametrize("sustained", [100.0, 3257.0, 9000.0])
@pytest.mark.parametrize("overload", [1.3, 4.0, 30.0])
def test_equal_shares_find_what_a_badly_shared_link_sustains(
    sustained: float, overload: float
) -> None:
    offer = overload * sustained
    best, refused = largest_offer(
        lambda each: shared_link(each, 2 * sustained),
        summary(sustained / 50, sustained / 50),
        shared_link(offer, 2 * sustained),
        offer,
    )
    assert sustained / 1.1 <= best["per_subtask"] <= sustained * 1.0001
    assert refused > sustained


def test_an_equal_share_that_was_all_sustained_is_not_the_limit() -> None:
    # In the overload, one source had little for another reason than the link.
    best, refused = largest_offer(
        lambda each: shared_link(each, 12_000), summary(300, 300), summary(3000, 500), 10_000
    )
    assert 6000 / 1.1 <= best["per_subtask"] <= 6000
    assert refused > 6000


def test_a_job_that_restarts_under_an_overload_is_offered_less() -> None:
    # Above 700/s its checkpoints outlast a heartbeat.
    def measured(offer: float) -> dict[str, Any]:
        return summary(0, 0, restarted=True) if offer > 700 else summary(offer, offer)

    best, refused = largest_offer(measured, summary(90, 91), measured(9000), 9000)
    assert 700 / 1.1 <= best["per_subtask"] <= 700
    assert not best[RESTARTED]
    assert refused > 700


def test_a_job_that_stands_still_sustains_nothing() -> None:
    def measured(offer: float) -> dict[str, Any]:
        raise AssertionError(offer)

    best, refused = largest_offer(measured, summary(0, 0), summary(0, 0, restarted=True), 400)
    assert (best["per_subtask"], refused) == (0, 400)


def test_what_was_sustained_counts_where_every_larger_offer_restarts_the_job() -> None:
    best, refused = largest_offer(
        lambda offer: summary(offer, 0, restarted=True),
        summary(90, 91),
        summary(5, 0, restarted=True),
        400,
    )
    assert best["per_subtask"] == 90
    assert 90 < refused <= 99
