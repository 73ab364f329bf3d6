"""Metrics that are not in all samples, and counters of which one stands for another."""

import zlib

import pytest

from edgeplace.model import dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from tests.support.measured import START, operator, stream

POLL_MS = 5000
POLLS = 120
SAID = "some of its metrics are not in all samples: they are taken at their mean rates"


@pytest.fixture(params=["log", "ledger"])
def costs(request, tmp_path):
    """Measure a log, directly or by way of a ledger; return it as a measurement has it."""

    class Measured:
        def __init__(self, path) -> None:
            if request.param == "log":
                self.costs = measure([path], None).costs
            else:
                add_to_ledger(tmp_path / "ledger", [path])
                self.costs = costs_from_ledger(tmp_path / "ledger", None)

    return Measured


def write(recording, absent):
    """Write a log without some values: those of (metric, subtask, poll) in `absent`."""
    streams = [("source", "map", "HASH"), ("map", "sink", "HASH")]
    recording.job({"source": 1, "map": 2, "sink": 1}, streams)

    def given(metric, poll, values):
        return {
            metric.replace(".", "__"): [
                "NaN" if absent(metric, i, poll) else value * poll for i, value in enumerate(values)
            ]
        }

    for poll in range(POLLS):
        at = START + POLL_MS * poll
        recording.placed(at, "map", ["10.0.0.1", "10.0.0.2"])
        recording.metrics(
            at,
            "source",
            **given("numRecordsOut", poll, [1500]),
            **given("numBytesOut", poll, [60_000]),
            **given("accumulateBusyTimeMs", poll, [500]),
        )
        recording.metrics(
            at,
            "map",
            **given("numRecordsIn", poll, [1000, 500]),
            **given("numRecordsOut", poll, [200, 100]),
            **given("numBytesIn", poll, [40_000, 20_000]),
            **given("Shuffle.Netty.Input.numBytesInRemote", poll, [40_000, 20_000]),
            **given("accumulateBusyTimeMs", poll, [2000, 1000]),
        )
    return recording.write()


def now_and_then(metric, subtask, poll):
    return zlib.crc32(f"{metric} {subtask} {poll}".encode()) % 5 == 0


@pytest.mark.parametrize(
    "absent",
    [
        pytest.param(lambda m, i, p: m == "numRecordsIn" and p < POLLS / 2, id="records later"),
        pytest.param(lambda m, i, p: m == "numRecordsIn" and p > POLLS / 2, id="records earlier"),
        pytest.param(lambda m, i, p: m == "numRecordsOut" and p % 4 == 1, id="each fourth time"),
        pytest.param(lambda m, i, p: m == "numBytesIn" and p % 10 < 6, id="in bursts"),
        pytest.param(lambda m, i, p: m == "accumulateBusyTimeMs" and p < 70, id="busy time later"),
        pytest.param(lambda m, i, p: m == "numRecordsIn" and i and p > 50, id="of one subtask"),
        pytest.param(now_and_then, id="now and then"),
    ],
)
def test_quotients_are_of_the_same_time(costs, recording, absent):
    found = costs(write(recording, absent))
    own, of = operator(found, "map"), stream(found, "source", "map")
    assert own.selectivity == pytest.approx(0.2)
    assert own.classes[0].true_rate_per_s == pytest.approx(500.0)
    assert own.classes[0].busy_share == pytest.approx(0.3)
    assert of.bytes_per_record == pytest.approx(40.0)
    assert of.selectivity == pytest.approx(1.0)
    assert not [n for n in of.notes if "older" in n]
    assert sum(operator(found, "source").demand.rates_per_s) == pytest.approx(300.0)
    assert any(SAID in op.notes for op in found.costs.operators)


def test_records_that_one_subtask_does_not_count(costs, recording):
    found = costs(
        write(recording, lambda metric, subtask, poll: metric == "numRecordsIn" and subtask)
    )
    own, of = operator(found, "map"), stream(found, "source", "map")
    assert own.classes[0].true_rate_per_s == pytest.approx(500.0)
    # It cannot be known how many records that subtask gets.
    assert of.selectivity is None
    assert of.notes == ("1 of 2 subtasks of id-map have no counter of records",)


def test_remote_bytes_that_one_subtask_does_not_count(costs, recording):
    metric = "Shuffle.Netty.Input.numBytesInRemote"
    found = costs(write(recording, lambda name, subtask, poll: name == metric and subtask))
    # It is taken as the mean of the others, and that is said.
    assert stream(found, "source", "map").remote_bytes_per_s == pytest.approx(16_000.0)
    assert SAID in operator(found, "map").notes


def test_minutes_without_busy_time_divide_no_cpu_time(costs, recording):
    """Two operators on one TaskManager need as much CPU; one has no busy time in each other half
    of ten minutes.
    """
    for poll in range(600):
        at = START + POLL_MS * poll
        recording.answer(
            at,
            "/taskmanagers/10.0.0.1/metrics",
            [{"id": "Status.JVM.CPU.Time", "value": str(2_500_000_000 * poll)}],
        )
        for name in ("map", "agg"):
            busy = "NaN" if name == "agg" and poll // 60 % 2 else 1000 * poll
            recording.placed(at, name, ["10.0.0.1"])
            recording.metrics(at, name, numRecordsIn=500 * poll, accumulateBusyTimeMs=busy)
    found = costs(recording.write())
    for name in ("map", "agg"):
        [own] = operator(found, name).classes
        assert own.cpu_ms_per_record == pytest.approx(2.5, rel=0.05)


def test_a_whole_log_has_no_such_note(costs, recording):
    found = costs(write(recording, lambda metric, subtask, poll: False))
    assert not any(SAID in op.notes for op in found.costs.operators)
    assert stream(found, "source", "map").remote_bytes_per_s == pytest.approx(12_000.0)


@pytest.mark.parametrize("planned", [True, False])
def test_a_filter_in_the_chain_passes_nothing_at_first(costs, recording, planned):
    # The records that leave count, not those that the source emits before the filter.
    if planned:
        recording.job({"source": 2, "sink": 1}, [("source", "sink", "HASH")])
    for poll in range(POLLS):
        passed = [10 * poll, 10 * max(poll - 60, 0)]
        recording.metrics(
            START + POLL_MS * poll,
            "source",
            numRecordsIn=[0, 0],
            numRecordsOut=passed,
            **{"Source__readings.numRecordsOut": [1000 * poll, 1000 * poll]},
            accumulateBusyTimeMs=[100 * poll, 100 * poll],
        )
        recording.metrics(START + POLL_MS * poll, "sink", numRecordsIn=[sum(passed)])
    found = costs(write_with_dots(recording))
    first, second = operator(found, "source").demand.rates_per_s
    assert first == pytest.approx(2.0)
    assert second == pytest.approx(10 * 59 / (5 * 119))


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("given", ["0", "NaN"])
def test_a_chain_with_its_own_sink_counts_what_its_source_emits(costs, recording, planned, given):
    if planned:
        recording.job({"source": 1})
    for poll in range(POLLS):
        recording.metrics(
            START + POLL_MS * poll,
            "source",
            numRecordsIn=[0],
            numRecordsOut=[given],
            **{"Source__readings.numRecordsOut": [1000 * poll]},
            accumulateBusyTimeMs=[100 * poll],
        )
    found = costs(write_with_dots(recording))
    own = operator(found, "source")
    assert own.demand.rates_per_s == pytest.approx((200.0,))
    assert own.classes[0].true_rate_per_s == pytest.approx(10_000.0)


@pytest.mark.parametrize("absent", ["of the task", "of its source"])
@pytest.mark.parametrize("span", [range(60), range(0, POLLS, 4)])
def test_the_counter_of_an_own_sink_may_be_missing_in_part(costs, recording, absent, span):
    recording.job({"source": 1})
    for poll in range(POLLS):
        lacks = poll in span
        recording.metrics(
            START + POLL_MS * poll,
            "source",
            numRecordsIn=[0],
            numRecordsOut=["NaN" if lacks and absent == "of the task" else 0],
            **{
                "Source__readings.numRecordsOut": [
                    "NaN" if lacks and absent == "of its source" else 1000 * poll
                ]
            },
            accumulateBusyTimeMs=[100 * poll],
        )
    own = operator(costs(write_with_dots(recording)), "source")
    assert own.demand.rates_per_s == pytest.approx((200.0,))
    assert own.classes[0].true_rate_per_s == pytest.approx(10_000.0)
    assert (SAID in own.notes) is (absent == "of its source")


def test_cpu_time_that_is_missing_in_each_minute(costs, recording):
    for poll in range(POLLS):
        at = START + POLL_MS * poll
        recording.placed(at, "map", ["10.0.0.1"])
        recording.metrics(at, "map", numRecordsIn=500 * poll, accumulateBusyTimeMs=1000 * poll)
        if poll % 6:
            recording.answer(
                at,
                "/taskmanagers/10.0.0.1/metrics",
                [{"id": "Status.JVM.CPU.Time", "value": str(2_500_000_000 * poll)}],
            )
    [own] = operator(costs(recording.write()), "map").classes
    assert own.cpu_ms_per_record == pytest.approx(5.0, rel=0.05)


def write_with_dots(recording):
    """Write the log with the names of source operators as Flink gives them."""
    recording.lines = [
        line.replace("Source.readings", "Source__readings") for line in recording.lines
    ]
    return recording.write()


def test_cpu_time_outside_the_jobs_time_is_not_the_jobs(costs, recording):
    """A TaskManager that is there an hour before the job, and after it, works for others then."""
    job_from, job_until = 60, 120
    for minute in range(180):
        at = START + 60_000 * minute
        recording.answer(
            at,
            "/taskmanagers/10.0.0.1/metrics",
            [{"id": "Status.JVM.CPU.Time", "value": str(30_000_000_000 * minute)}],
        )
        if job_from <= minute < job_until:
            recording.placed(at, "map", ["10.0.0.1"])
            recording.metrics(
                at, "map", numRecordsIn=6000 * minute, accumulateBusyTimeMs=12_000 * minute
            )
    [own] = operator(costs(recording.write()), "map").classes
    # Half a core at 100 records/s.
    assert own.cpu_ms_per_record == pytest.approx(5.0, rel=0.05)


def test_spark_gives_the_same(spark, recording, tmp_path):
    path = write(recording, now_and_then)
    add_to_ledger(tmp_path / "by_spark", [path], spark=spark)
    add_to_ledger(tmp_path / "here", [path])
    costs = [costs_from_ledger(tmp_path / name, None) for name in ("by_spark", "here")]
    assert dump(costs[0]) == dump(costs[1])
    assert dump(measure([path], None, spark=spark).costs) == dump(measure([path], None).costs)
