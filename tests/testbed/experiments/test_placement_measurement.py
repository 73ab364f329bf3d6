"""What the headline's schedule must give to what reads its logs."""

from edgeplace.spark_stats.cpu.choice import FEWEST_MINUTES
from testbed.experiments.placement_measurement import Schedule

PLACEMENTS = 2


def test_the_logs_of_processor_costs_have_the_minutes_that_a_regression_needs() -> None:
    schedule = Schedule()
    recorded_s = schedule.rate_s * (1 + len(schedule.shares))
    # More than n minutes are in n + 1 minutes of the clock at least. The move makes one useless,
    # and the end of the first placement may be in the same minute as the start of the second.
    of_clock = recorded_s // 60 + 1
    assert PLACEMENTS * of_clock - 2 >= FEWEST_MINUTES
