"""Measurements of logs with restarts, gaps, clocks that jump, and jobs that do not fit."""

from pathlib import Path

import pytest

from edgeplace.model import (
    InvalidInputError,
    JobGraph,
    NodeClass,
    Operator,
    Plan,
    ShipStrategy,
    Stream,
)
from edgeplace.solver import evaluate
from edgeplace.spark_stats import measure
from tests.support.measured import START, counted, operator, stream


def test_restarts_and_resets_are_passed_over(engine, cluster, recording):
    recording.placed(START, "map", ["pi-1"])
    for poll, records in enumerate((0, 1000, 2000, 500, 1500)):  # a reset after 2000
        recording.metrics(
            START + 5000 * poll, "map", numRecordsIn=records, accumulateBusyTimeMs=records
        )
    recording.placed(START + 21_000, "map", ["server"], attempt=1)
    for poll, records in enumerate((9000, 9500)):  # a move, though no counter falls
        recording.metrics(
            START + 25_000 + 5000 * poll,
            "map",
            numRecordsIn=records,
            accumulateBusyTimeMs=1000 + (records - 9000) / 5,
        )
    measurement = measure([recording.write()], cluster, spark=engine)
    found = operator(measurement, "map")
    assert found.on("pi").true_rate_per_s == pytest.approx(1000)
    assert found.on("pi").samples == 3
    assert found.on("server").true_rate_per_s == pytest.approx(5000)
    assert measurement.samples.resets == 2
    assert measurement.costs.placement == {"id-map": ("server",)}


def test_counts_that_begin_again_in_another_parallelism_are_not_joined_to_the_former(
    engine, cluster, recording
):
    # A job that is rescaled in place keeps its id, and its attempts begin at 0 again.
    recording.job({"Source: s": 1, "map": 1}, [("Source: s", "map", "HASH")], ts_ms=START)
    recording.placed(START, "map", ["pi-1"])
    for poll, count in enumerate((0, 1000, 2000)):
        recording.metrics(
            START + 5000 * poll, "map", numRecordsIn=count, accumulateBusyTimeMs=count
        )
    recording.job({"Source: s": 1, "map": 2}, [("Source: s", "map", "HASH")], ts_ms=START + 12_000)
    recording.placed(START + 12_000, "map", ["pi-1", "pi-2"])
    for poll, (first, second) in enumerate(((1300, 100), (2300, 1100), (3300, 2100))):
        recording.metrics(
            START + 15_000 + 5000 * poll,
            "map",
            numRecordsIn=[first, second],
            accumulateBusyTimeMs=[first - 250, second],
        )
    measurement = measure([recording.write()], cluster, spark=engine)
    found = operator(measurement, "map")
    assert found.on("pi").true_rate_per_s == pytest.approx(1000)
    assert found.on("pi").samples == 6
    assert (measurement.samples.resets, measurement.samples.clock_jumps) == (1, 0)
    assert measurement.costs.placement == {"id-map": ("pi-1", "pi-2")}


def test_duplicates_repeats_clock_jumps_and_nan_are_counted(engine, recording):
    times = (0, 5000, 10_000, 7000, 15_000)  # the clock jumps back once
    for ts, records in zip(times, (0, 1000, 2000, 3000, 4000), strict=True):
        recording.metrics(
            START + ts,
            "map",
            numRecordsIn=records,
            accumulateBusyTimeMs=records,
            accumulateIdleTimeMs=ts,
            busyTimeMsPerSecond="NaN",
            numBytesInPerSecond="Infinity",
        )
    recording.lines.append(recording.lines[-1])
    last = {"numRecordsIn": 4000, "accumulateBusyTimeMs": 4000, "accumulateIdleTimeMs": 15_000}
    recording.metrics(START + 20_000, "map", **last)
    measurement = measure([recording.write()], None, spark=engine)
    assert operator(measurement, "map").on("default").true_rate_per_s == pytest.approx(1000)
    counts = measurement.samples
    assert (counts.duplicates, counts.repeats, counts.clock_jumps) == (1, 1, 1)
    assert (counts.not_a_number, counts.infinite) == (6, 6)
    assert any("NaN" in note for note in measurement.costs.notes)
    assert any("more than once" in note for note in measurement.costs.notes)


def source_at(recording, after_ms: int, tens_of_s: int, ahead_ms: int = 0) -> None:
    """Write what a source of 100 records/s has counted, by the clock of its machine."""
    recording.metrics(
        START + after_ms,
        "Source: s",
        numRecordsOut=1000 * tens_of_s,
        accumulateBusyTimeMs=2000 * tens_of_s + ahead_ms,
        accumulateIdleTimeMs=7000 * tens_of_s,
        accumulateBackPressuredTimeMs=1000 * tens_of_s,
    )


@pytest.mark.parametrize("clock", ["of the log", "of the TaskManager"])
def test_a_clock_that_is_set_is_no_time(engine, recording, clock):
    """A Pi without a battery for its clock gets the time when it reaches the network."""
    for poll in range(12):
        ahead_ms = 3_600_000 if poll >= 5 else 0
        of_log = ahead_ms if clock == "of the log" else 0
        source_at(recording, 10_000 * poll + of_log, poll, ahead_ms - of_log)
    measurement = measure([recording.write()], None, spark=engine)
    source = operator(measurement, "Source: s")
    assert source.demand.rates_per_s == (pytest.approx(100),)
    assert source.on("default").busy_share == pytest.approx(0.2)
    assert measurement.samples.clock_jumps == 1


def test_old_values_after_a_pause_add_no_records(engine, recording):
    for at, seen in ((0, 0), (1, 1), (2, 2), (62, 3), (63, 63), (64, 64)):
        source_at(recording, 10_000 * at, seen)
    measurement = measure([recording.write()], None, spark=engine)
    assert operator(measurement, "Source: s").demand.rates_per_s == (pytest.approx(100),)


def test_jobs_on_one_task_manager_at_one_time_share_its_cpu_time(engine, cluster, recording):
    # Each works 3 ms a record, and waits as long for what is no core.
    jobs = {"a" * 32: "first", "b" * 32: "second"}
    for job, name in jobs.items():
        recording.job({"source": 1, "map": 1}, [("source", "map", "HASH")], job, name)
    for poll in range(20):
        at = START + 10_000 * poll
        for job in jobs:
            tasks = [{"subtask": 0, "attempt": 0, "taskmanager-id": "pi-1", "endpoint": "pi-1:1"}]
            recording.answer(at, f"/jobs/{job}/vertices/id-map", {"subtasks": tasks})
            counted = {"numRecordsIn": 500 * poll, "accumulateBusyTimeMs": 3000 * poll}
            recording.metrics(at + 5, "map", job, **counted)
        used = {"id": "Status.JVM.CPU.Time", "value": str(2 * 1_500_000_000 * poll)}
        recording.answer(at + 6, "/taskmanagers/pi-1/metrics", [used])
    first = JobGraph(
        name="first",
        job_id="a" * 32,
        operators=tuple(Operator(id=f"id-{n}", name=n, parallelism=1) for n in ("source", "map")),
        streams=({"source": "id-source", "target": "id-map", "ship_strategy": "HASH"},),
    )
    found = measure([recording.write()], cluster, job=first, spark=engine)
    assert operator(found, "map").on("pi").cpu_ms_per_record == pytest.approx(3, rel=0.05)


def test_cpu_time_of_an_earlier_run_is_not_that_of_the_last(engine, cluster, recording):
    def run(first: int, job: str, cpu_s: float) -> None:
        recording.job({"source": 1, "map": 1}, [("source", "map", "HASH")], job)
        for poll in range(first, first + 20):
            at = START + 10_000 * poll
            tasks = [{"subtask": 0, "attempt": 0, "taskmanager-id": "pi-1", "endpoint": "pi-1:1"}]
            recording.answer(at, f"/jobs/{job}/vertices/id-map", {"subtasks": tasks})
            recording.metrics(
                at + 5,
                "map",
                job,
                numRecordsIn=1000 * (poll - first),
                accumulateBusyTimeMs=2000 * (poll - first),
            )
            used = {"id": "Status.JVM.CPU.Time", "value": str(int(1e9 * (cpu_s * poll)))}
            recording.answer(at + 6, "/taskmanagers/pi-1/metrics", [used])

    run(0, "a" * 32, 8.0)
    alone = len(recording.lines)
    run(40, "b" * 32, 8.0)
    both = operator(measure([recording.write()], cluster, spark=engine), "map").on("pi")
    recording.lines = recording.lines[alone:]
    last = operator(measure([recording.write()], cluster, spark=engine), "map").on("pi")
    assert last.cpu_ms_per_record == pytest.approx(8.0, rel=0.1)
    assert both.cpu_ms_per_record == pytest.approx(last.cpu_ms_per_record, rel=0.1)


def test_a_pause_in_a_log_is_not_a_clock_that_jumps(engine, recording):
    for poll in (0, 1, 2, 362, 363):
        source_at(recording, 10_000 * poll, poll)
    measurement = measure([recording.write()], None, spark=engine)
    assert operator(measurement, "Source: s").demand.rates_per_s == (pytest.approx(100),)
    assert measurement.samples.clock_jumps == 0


def test_a_drifting_rate_is_not_stationary(recording):
    records = 0
    for poll in range(33):
        recording.metrics(
            START + 5000 * poll,
            "map",
            numRecordsIn=records,
            accumulateBusyTimeMs=1000 * poll,
        )
        records += 1600 - 40 * poll
    cost = operator(measure([recording.write()], None), "map")
    assert cost.on("default").stationary is False
    quarters = cost.on("default").by_quarter_per_s
    assert list(quarters) == sorted(quarters, reverse=True)
    assert any("drifts" in note for note in cost.notes)


def test_back_pressure_makes_demand_a_lower_bound(engine, recording):
    recording.job({"Source: s": 1, "map": 1}, [("Source: s", "map", "FORWARD")])
    counted(recording, numRecordsIn=10)
    for poll in range(9):
        recording.metrics(
            START + 5000 * poll,
            "Source: s",
            numRecordsOut=1000 * poll,
            backPressureTimeMsPerSecond=690,  # the alias that some tools write
            busyTimeMsPerSecond="NaN",
        )
    path = recording.write()
    measurement = measure([path], None, spark=engine)
    source = operator(measurement, "Source: s")
    assert source.demand.throttled is True
    assert source.demand.back_pressured_share == pytest.approx(0.69)
    assert source.classes == ()
    assert any("legacy sources report NaN" in note for note in source.notes)
    assert "busy time" in source.not_in_log
    stated = measure([path], None, rates={"Source: s": 5000}, spark=engine)
    assert operator(stated, "Source: s").demand.rates_per_s == (5000,)
    assert operator(stated, "Source: s").demand.origin == "stated"
    with pytest.raises(InvalidInputError, match="has inputs"):
        measure([path], None, rates={"map": 5000}, spark=engine)


def test_streams_that_share_ends_are_not_split_in_silence(recording):
    # a -> c, a -> d, b -> d, b -(broadcast)-> e
    recording.job(
        {"Source: a": 1, "Source: b": 1, "c": 1, "d": 1, "e": 2, "f": 1},
        [
            ("Source: a", "c", "FORWARD"),
            ("Source: a", "d", "HASH"),
            ("Source: b", "e", "BROADCAST"),
            ("c", "d", "HASH"),
            ("e", "f", "REBALANCE"),
        ],
    )
    for poll in range(5):
        ts = START + 5000 * poll
        recording.metrics(ts, "Source: a", numRecordsOut=100 * poll, numBytesOut=1000 * poll)
        recording.metrics(ts, "Source: b", numRecordsOut=10 * poll, numBytesOut=400 * poll)
        recording.metrics(
            ts, "c", numRecordsIn=100 * poll, numRecordsOut=50 * poll, numBytesOut=250 * poll
        )
        recording.metrics(ts, "d", numRecordsIn=150 * poll)
        recording.metrics(
            ts, "e", numRecordsIn=[10 * poll] * 2, numBytesIn=[200 * poll] * 2, numRecordsOut=[0, 0]
        )
        recording.metrics(ts, "f", numRecordsIn=0)
    measurement = measure([recording.write()], None)
    unknown = stream(measurement, "Source: a", "d")
    assert unknown.selectivity is None
    assert unknown.bytes_per_record is None
    assert any("not identifiable" in note for note in unknown.notes)
    by_producer = stream(measurement, "c", "d")
    assert by_producer.selectivity == pytest.approx(0.5)
    assert by_producer.bytes_per_record == pytest.approx(5)
    broadcast = stream(measurement, "Source: b", "e")
    assert broadcast.selectivity == pytest.approx(1.0)
    assert broadcast.bytes_per_record == pytest.approx(20)


def test_bytes_that_were_written_before_the_log_do_not_count(recording):
    recording.job(
        {"Source: a": 1, "Source: b": 1, "c": 1},
        [("Source: a", "c", "HASH"), ("Source: b", "c", "HASH")],
    )
    for poll in range(5):
        ts = START + 5000 * poll
        # The first checkpoint in the log ends a buffer that was nearly full.
        before = 30_000 if poll else 0
        recording.metrics(
            ts, "Source: a", numRecordsOut=100 * poll, numBytesOut=before + 6000 * poll
        )
        recording.metrics(ts, "Source: b", numRecordsOut=0, numBytesOut=before)
        recording.metrics(ts, "c", numRecordsIn=100 * poll)
    measurement = measure([recording.write()], None)
    assert stream(measurement, "Source: a", "c").bytes_per_record == pytest.approx(60)
    assert stream(measurement, "Source: b", "c").bytes_per_record is None


def test_a_chain_without_output_is_measured_by_its_source_operator(engine, recording):
    recording.job({"Source: s -> Sink: t": 1})
    for poll in range(3):
        recording.metrics(
            START + 5000 * poll,
            "Source: s -> Sink: t",
            numRecordsIn=0,
            numRecordsOut=0,
            accumulateBusyTimeMs=100 * poll,
            Source__s__numRecordsOut=0,
        )
        recording.lines[-1] = recording.lines[-1].replace(
            '"0.Source.s.numRecordsOut", "value": "0"',
            f'"0.Source__s.numRecordsOut", "value": "{500 * poll}"',
        )
    cost = operator(measure([recording.write()], None, spark=engine), "Source: s -> Sink: t")
    assert cost.demand.rates_per_s == pytest.approx((100,))
    assert cost.on("default").true_rate_per_s == pytest.approx(5000)


def test_unknown_task_managers_are_named(cluster, recording):
    recording.placed(START, "map", ["pi-7"])
    counted(recording, numRecordsIn=10)
    with pytest.raises(InvalidInputError, match="pi-7") as e:
        measure([recording.write()], cluster)
    assert "pi-1" in e.value.cure


def test_placement_fills_in_what_the_log_does_not_say(cluster, recording):
    counted(recording, numRecordsIn=1000, accumulateBusyTimeMs=500)
    path = recording.write()
    unknown = operator(measure([path], cluster), "map")
    assert unknown.classes == ()
    assert "node class" in unknown.not_in_log
    known = measure([path], cluster, placement={"id-map": ("10.0.0.9",)})
    assert operator(known, "map").on("server").true_rate_per_s == pytest.approx(2000)
    assert known.costs.placement == {"id-map": ("server",)}
    with pytest.raises(InvalidInputError, match="2 TaskManagers for the 1 subtasks"):
        measure([path], cluster, placement={"id-map": ("server", "pi-1")})


def test_several_jobs_need_a_choice_and_another_job_is_refused(recording, tmp_path: Path):
    recording.job({"map": 1}, name="first")
    counted(recording, numRecordsIn=10)
    other = "b" * 32
    recording.job({"map": 1}, job=other, name="second")
    for poll in range(3):
        recording.metrics(START + 5000 * poll, "map", job=other, numRecordsIn=99 * poll)
    path = recording.write()
    with pytest.raises(InvalidInputError, match="2 jobs: 'first'"):
        measure([path], None)
    second = JobGraph(name="second", operators=(Operator(id="x", name="map", parallelism=1),))
    measurement = measure([path], None, job=second)
    assert [o.operator for o in measurement.costs.operators] == ["x"]
    stranger = JobGraph(
        name="other", job_id=other, operators=(Operator(id="y", name="join", parallelism=1),)
    )
    with pytest.raises(InvalidInputError, match="does not belong to job 'other'"):
        measure([path], None, job=stranger)


def test_what_a_log_shows_to_run_holds_within_measurement(cluster, recording):
    """Two subtasks that are always busy, one of which gets 0.7 % more than their mean rate."""
    recording.job({"Source: s": 1, "session": 2}, [("Source: s", "session", "HASH")])
    seen = {"out": 0, "in": [0, 0]}
    for poll in range(13):
        ts = START + 5000 * poll
        recording.placed(ts, "Source: s", ["server"])
        recording.placed(ts, "session", ["server", "server"])
        recording.metrics(
            ts,
            "Source: s",
            numRecordsOut=seen["out"],
            numBytesOut=100 * seen["out"],
            accumulateBusyTimeMs=1000 * poll,
        )
        recording.metrics(
            ts,
            "session",
            numRecordsIn=list(seen["in"]),
            numBytesIn=[100 * n for n in seen["in"]],
            accumulateBusyTimeMs=[5000 * poll] * 2,
        )
        wobble = 8 if poll % 2 else -8
        seen["in"] = [seen["in"][0] + 500 + wobble, seen["in"][1] + 507 + wobble]
        seen["out"] = sum(seen["in"])
    costs = measure([recording.write()], cluster).costs
    source, session = (
        Operator(id=f"id-{n}", name=n, parallelism=p, born_at=b)
        for n, p, b in (("Source: s", 1, ("server",)), ("session", 2, ()))
    )
    stream_ = Stream(source=source.id, target=session.id, ship_strategy=ShipStrategy.HASH)
    job = JobGraph(name="telemetry", operators=(source, session), streams=(stream_,))
    ran = Plan(jobs={job.name: costs.placement})
    speeds = tuple(NodeClass(id=name, speed=1.0) for name in ("pi", "server"))
    cluster = cluster.model_copy(update={"node_classes": speeds})
    found = evaluate(job.with_costs(costs), cluster, ran, current=ran)
    (over,) = found.violations
    assert over.kind == "subtask busy"
    assert over.used == pytest.approx(507 / 503.5, rel=1e-3)
    assert over.spread == pytest.approx(8.7 / 503.5, rel=0.05)
    assert found.within_measurement
