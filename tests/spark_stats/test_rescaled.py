"""Logs of a job whose parallelism changed while it was recorded: records/s are of one time."""

import pytest

from edgeplace.model import JobGraph, Operator, Stream, dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from tests.support.measured import START, operator, stream

POLL_MS = 5000
PHASE = 60
"""Polls at one parallelism: 5 minutes."""
STREAMS = [("source", "map", "HASH")]


def run(recording, phases, shares=(), *, told=True, per_s=400.0, absent=()):
    """Record phases of (parallelism, records/s); counters start anew with each."""
    at = START
    for attempt, phase in enumerate(phases):
        count, rate = phase if isinstance(phase, tuple) else (phase, per_s)
        parts = [1 / count] * count if attempt >= len(shares) else shares[attempt]
        for poll in range(PHASE):
            each = [rate * part * POLL_MS / 1000 * poll for part in parts]
            if told:
                recording.job({"source": count, "map": count}, STREAMS, ts_ms=at)
                recording.placed(at, "source", ["10.0.0.1"] * count, attempt)
                recording.placed(at, "map", ["10.0.0.1"] * count, attempt)
            recording.metrics(
                at,
                "source",
                numRecordsIn=[0] * count,
                numRecordsOut=each,
                numBytesOut=[40 * x for x in each],
                accumulateBusyTimeMs=[x / 2 for x in each],
            )
            recording.metrics(
                at,
                "map",
                numRecordsIn=each,
                numRecordsOut=[0] * count,
                numBytesIn=[40 * x for x in each],
                Shuffle__Netty__Input__numBytesInLocal=[0] * count,
                Shuffle__Netty__Input__numBytesInRemote=[
                    "NaN" if "bytes" in absent and poll % 3 == 0 else 40 * x for x in each
                ],
                accumulateBusyTimeMs=[
                    "NaN" if "busy" in absent and poll % 6 == 0 else x / 4 for x in each
                ],
            )
            at += POLL_MS
    return recording.write()


@pytest.fixture(params=["log", "ledger"])
def costs(request, tmp_path):
    """Measure a log, directly or by way of a ledger."""

    def of(path):
        if request.param == "log":
            return measure([path], None).costs
        add_to_ledger(tmp_path / "ledger", [path])
        return costs_from_ledger(tmp_path / "ledger", None)

    return of


class Measured:
    """What the helpers of other tests take."""

    def __init__(self, costs) -> None:
        self.costs = costs


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("phases", [[2, 4], [4, 2], [2, 4, 2], [4, 2, 4], [1, 3], [3, 1]])
def test_demand_is_that_of_the_present_parallelism(costs, recording, phases, told):
    found = costs(run(recording, phases, told=told))
    rates = operator(Measured(found), "source").demand.rates_per_s
    assert len(rates) == phases[-1]
    assert sum(rates) == pytest.approx(400.0)
    [said] = [n for n in found.notes if "parallelism" in n]
    assert f"changed from {phases[-2]} to {phases[-1]}" in said
    assert "records/s are those of the time after it" in said


def test_shares_and_bytes_are_those_of_the_present_parallelism(costs, recording):
    found = costs(run(recording, [(2, 200.0), (4, 600.0)], [[0.5, 0.5], [0.4, 0.3, 0.2, 0.1]]))
    of = stream(Measured(found), "source", "map")
    assert of.shares == pytest.approx((0.4, 0.3, 0.2, 0.1))
    assert of.remote_bytes_per_s == pytest.approx(600.0 * 40)
    assert of.selectivity == pytest.approx(1.0)
    assert of.bytes_per_record == pytest.approx(40.0)


@pytest.mark.parametrize("absent", ["bytes", "busy"])
def test_a_metric_may_be_missing_now_and_then(costs, recording, absent):
    found = costs(run(recording, [2, 4], absent=[absent]))
    assert not [n for n in found.notes if "mean of both" in n]
    of = stream(Measured(found), "source", "map")
    assert of.selectivity == pytest.approx(1.0)
    assert of.remote_bytes_per_s == pytest.approx(400.0 * 40, rel=0.02)


def test_a_rescaling_before_the_time_that_is_asked_for_is_not_said(recording, tmp_path):
    add_to_ledger(tmp_path / "ledger", [run(recording, [2, 4])])
    found = costs_from_ledger(tmp_path / "ledger", None, last_s=200)
    assert not [n for n in found.notes if "parallelism" in n]
    assert operator(Measured(found), "source").demand.rates_per_s == pytest.approx([100.0] * 4)


def test_what_a_record_costs_is_that_of_all_the_time(costs, recording):
    path = run(recording, [2, 4])
    [own] = operator(Measured(costs(path)), "map").classes
    assert own.true_rate_per_s == pytest.approx(4000.0)
    assert own.samples > 2 * (PHASE - 1) + 2 * (PHASE - 1)


@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2)])
def test_a_log_that_ends_at_once_has_the_rates_before(costs, recording, before, after):
    run(recording, [before])
    at = START + PHASE * POLL_MS
    recording.job({"source": after, "map": after}, STREAMS, ts_ms=at)
    recording.metrics(at + 40_000, "source", numRecordsOut=[0] * after)
    recording.metrics(at + 50_000, "source", numRecordsOut=[9000] * after)
    found = costs(recording.write())
    [said] = [n for n in found.notes if "parallelism" in n]
    assert "records/s are those of the time before it" in said
    assert "record some minutes more" in said
    rates = operator(Measured(found), "source").demand.rates_per_s
    assert rates == pytest.approx([400.0 / after] * after)
    of = stream(Measured(found), "source", "map")
    assert of.selectivity == pytest.approx(1.0)
    assert of.shares is None
    assert of.remote_bytes_per_s == pytest.approx(400.0 * 40)


@pytest.mark.parametrize("phases", [[2], [4, 2], [2, 4]])
@pytest.mark.parametrize("wanted", [1, 2, 3, 4, 6])
def test_a_job_file_may_have_another_parallelism(recording, phases, wanted):
    job = JobGraph(
        name="telemetry",
        operators=(
            Operator(id="a", name="source", parallelism=wanted),
            Operator(id="b", name="map", parallelism=wanted),
        ),
        streams=(Stream(source="a", target="b", ship_strategy="HASH"),),
    )
    found = measure([run(recording, phases)], None, job=job).costs
    [source] = [op for op in found.operators if op.operator == "a"]
    assert source.demand.rates_per_s == pytest.approx([400.0 / wanted] * wanted)
    [of] = found.streams
    assert of.selectivity == pytest.approx(1.0)
    assert of.remote_bytes_per_s == pytest.approx(400.0 * 40)
    assert (of.shares is not None) is (wanted == phases[-1])


def test_a_time_that_is_damaged_is_said_as_it_is(recording):
    run(recording, [2])
    recording.job({"source": 4, "map": 4}, STREAMS, ts_ms=1000 * START)
    [said] = [n for n in measure([recording.write()], None).costs.notes if "parallelism" in n]
    assert f"at {1000 * START:,} ms" in said


@pytest.mark.parametrize("lost", ["early", "late"])
def test_a_subtask_that_is_lost_from_a_log_is_no_rescaling(costs, recording, lost):
    for poll in range(2 * PHASE):
        there = 2 if (poll < PHASE) == (lost == "late") else 1
        recording.metrics(
            START + POLL_MS * poll,
            "source",
            numRecordsIn=[0] * there,
            numRecordsOut=[1000.0 * poll] * there,
            accumulateBusyTimeMs=[500.0 * poll] * there,
        )
    found = costs(recording.write())
    assert operator(Measured(found), "source").demand.rates_per_s == pytest.approx((200.0, 200.0))
    assert not [n for n in found.notes if "parallelism" in n]


def test_a_restart_is_no_rescaling(costs, recording):
    found = costs(run(recording, [2, 2]))
    assert sum(operator(Measured(found), "source").demand.rates_per_s) == pytest.approx(400.0)
    assert not [n for n in found.notes if "parallelism" in n]


def test_spark_gives_the_same(spark, recording):
    path = run(recording, [(2, 200.0), (4, 600.0)], [[0.5, 0.5], [0.4, 0.3, 0.2, 0.1]])
    assert dump(measure([path], None, spark=spark).costs) == dump(measure([path], None).costs)
