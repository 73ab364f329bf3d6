"""Lines that can be read, with answers and values that Flink does not have."""

import warnings

import pytest

from edgeplace.model import InvalidInputError
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure

START = 1_795_225_900_000


def rate_of(measurement) -> float:
    return measurement.costs.operators[0].classes[0].true_rate_per_s


MAP = {"id": "id-map", "name": "map", "parallelism": 1}
NO_ANSWERS = [
    ("/jobs/{}/plan", {"errors": ["Job not found"]}),
    ("/jobs/{}/plan", {"plan": {"nodes": [{"parallelism": 1}]}}),
    ("/jobs/{}/plan", {"plan": {"nodes": [{"id": "id-map", "inputs": [{"num": 0}]}]}}),
    ("/jobs/{}/plan", {"plan": {"name": "telemetry"}}),
    ("/jobs/{}/plan", "<html>503</html>"),
    ("/jobs/{}", {"errors": ["Job not found"]}),
    ("/jobs/{}", {"vertices": [{"id": "id-map", "name": "map"}]}),
    ("/jobs/{}", {"vertices": [None, MAP]}),
    ("/jobs/{}", {"vertices": [MAP], "plan": {"nodes": [{}]}}),
    ("/jobs/{}/checkpoints/config", ["heap"]),
    ("/jobs/{}/checkpoints/config", "heap"),
    ("/jobmanager/config", {"errors": ["not leader"]}),
    ("/jobmanager/config", "not leader"),
    ("/jobmanager/config", [{"key": "state.backend.type", "value": "rocksdb"}, "x"]),
    ("/config", "not leader"),
    ("/config", [1]),
]


@pytest.mark.parametrize(("path", "answer"), NO_ANSWERS)
def test_an_answer_that_is_none_is_a_bad_line(recording, path: str, answer):
    recording.grow()
    recording.answer(START, path.format("a" * 32), answer)
    measurement = measure([recording.write()], None)
    assert rate_of(measurement) == pytest.approx(2000.0)
    assert measurement.quarantine.counts == {"the answer is not what its path promises": 1}


def test_answers_that_are_none_by_spark(spark, recording):
    recording.grow()
    for path, answer in NO_ANSWERS:
        recording.answer(START, path.format("a" * 32), answer)
    measurement = measure([recording.write()], None, spark=spark)
    assert rate_of(measurement) == pytest.approx(2000.0)
    said = {"the answer is not what its path promises": len(NO_ANSWERS)}
    assert measurement.quarantine.counts == said


def test_a_plan_with_vertices_that_have_no_metrics(recording):
    nodes = [
        {"id": "id-source", "parallelism": 3, "description": "Source: a<br/>"},
        {"id": "id-map", "inputs": [{"id": "id-source", "ship_strategy": "HASH"}]},
    ]
    recording.answer(START, f"/jobs/{'a' * 32}/plan", {"plan": {"name": "n", "nodes": nodes}})
    recording.grow()
    costs = measure([recording.write()], None).costs
    [of] = costs.streams
    assert "3 of 3 subtasks of id-source are not in this log" in of.notes


@pytest.mark.parametrize("item", ["numRecordsIn", "x.numRecordsIn", "-1.numRecordsIn", "40000.x"])
def test_metrics_without_a_subtask_are_passed_over(recording, item: str):
    recording.grow()
    for vertex in ("id-map", "id-nobody"):
        recording.answer(
            START + 5000,
            f"/jobs/{'a' * 32}/vertices/{vertex}/metrics",
            [{"id": item, "value": "5"}],
        )
    measurement = measure([recording.write()], None)
    assert len(measurement.costs.operators) == 1
    assert rate_of(measurement) == pytest.approx(2000.0)
    assert "2 snapshots name no subtask and were passed over" in measurement.costs.notes


@pytest.mark.parametrize("power", [30, 200, 307])
def test_counters_that_no_machine_reaches(recording, power: int):
    for poll in range(5):
        recording.metrics(
            START + 5000 * poll,
            "map",
            numRecordsIn=f"{poll}e{power}",
            accumulateBusyTimeMs=500 * poll,
        )
    with pytest.raises(InvalidInputError, match="the log gives") as e:
        measure([recording.write()], None)
    assert "damaged" in e.value.cure


def test_counters_that_no_machine_reaches_beside_cpu_times(recording):
    """Arrays give infinity, and would print a warning with a line of the program."""
    recording.job({"source": 1, "map": 1}, [("source", "map", "HASH")])
    for poll in range(60):
        at = START + 5000 * poll
        recording.placed(at, "map", ["tm-1"])
        recording.metrics(at, "map", numRecordsIn=f"{poll}e306", accumulateBusyTimeMs=500 * poll)
        used = [{"id": "Status.JVM.CPU.Time", "value": str(10**9 * poll)}]
        recording.answer(at, "/taskmanagers/tm-1/metrics", used)
    log, ledger = recording.write(), recording.folder / "ledger"
    add_to_ledger(ledger, [log])
    for costs in (lambda: measure([log], None), lambda: costs_from_ledger(ledger, None)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(InvalidInputError, match="too large"):
                costs()


@pytest.mark.parametrize("rate", [-5.0, float("nan"), float("inf")])
def test_a_stated_rate_that_is_none(recording, rate: float):
    recording.job({"map": 1})
    recording.grow()
    with pytest.raises(InvalidInputError, match=f"the rate of 'map' is {rate}"):
        measure([recording.write()], None, rates={"map": rate})


def test_settings_that_are_no_text_are_passed_over(recording):
    recording.grow()
    odd = [{"key": ["a"], "value": "x"}, {"key": "state.backend.type", "value": 7}, None, {}]
    recording.answer(START, "/jobmanager/config", odd)
    assert measure([recording.write()], None).costs.state_backend is None


@pytest.mark.parametrize("count", [0, -1, 32769, 2_000_000_000])
def test_a_parallelism_that_flink_does_not_have(recording, count: int):
    recording.grow()
    recording.job({"map": count})
    with pytest.raises(InvalidInputError, match="gives 'map' a parallelism of"):
        measure([recording.write()], None)
