"""What a stream's cost says when the two ends of one log do not agree."""

import pytest

from edgeplace.spark_stats.job_facts import LogFacts, LoggedEdge
from edgeplace.spark_stats.streams import stream_costs
from edgeplace.spark_stats.totals import QuarterTotals

SECONDS = 20.0


def notes(left: float, arrived: float, ship_strategy: str = "FORWARD", consumers: int = 1):
    """Return the notes of a stream of which so many records left and arrived at each consumer."""
    facts = LogFacts(
        names={"a": "source", "b": "sink"},
        parallelism={"a": 1, "b": consumers},
        edges=(LoggedEdge("a", "b", ship_strategy),),
    )

    def totals(vertex: str, subtask: int, **records: float) -> QuarterTotals:
        sums = {"dt_ms": SECONDS * 1000.0, "bytes_in": 100.0, **records}
        return QuarterTotals(vertex, subtask, 0, sums)

    measured = {
        "a": [totals("a", 0, records_out=left)],
        "b": [totals("b", i, records_in=arrived) for i in range(consumers)],
    }
    [cost] = stream_costs(facts, measured, measured, facts.parallelism)
    return cost.notes


def test_an_end_with_older_metrics_is_said():
    # The records of the last third are not yet in the answers of the consumer's TaskManager.
    [said] = notes(left=30_000.0, arrived=20_000.0)
    assert said.startswith("1,500.0 records/s were sent and 1,000.0 arrived: ")
    assert "Measure longer" in said


@pytest.mark.parametrize("arrived", [30_000.0, 28_500.0, 31_500.0, 27_000.0])
def test_what_is_on_the_way_is_no_difference(arrived):
    assert notes(left=30_000.0, arrived=arrived) == ()


def test_each_consumer_of_a_broadcast_gets_every_record():
    assert notes(1_000.0, 1_000.0, "BROADCAST", 3) == ()
    assert notes(1_000.0, 1_000.0, "REBALANCE", 3) != ()
