"""A Pi that has a free core in some minutes of a log and none in others.

Threads that wait for a core count as busy, so those minutes alone say nothing of the work.
"""

import pytest

from edgeplace.model import Cluster, JobGraph, Node, Operator, Site, TaskManager
from edgeplace.spark_stats import measure
from tests.support.measured import START, operator

CORES = 0.75
MAP_MS, FILTER_MS = 0.05, 0.10
"""Work of a record."""
FULL = CORES / (MAP_MS + FILTER_MS) * 1000
"""Records/s that the Pi can do: 5,000."""
WAITS = 3
"""Busy time of `map` beside its work, where it waits for a core."""
POLL_MS = 10_000


@pytest.fixture
def cluster():
    return Cluster(
        sites=(Site(id="field"),),
        nodes=(Node(id="pi", site="field", node_class="pi", cores=CORES),),
        task_managers=(TaskManager(id="tm", node="pi", slots=2, host="10.0.0.1"),),
    )


JOBS = {"a" * 32: "first", "b" * 32: "second"}


def log_of(recording, loads, jobs=1):
    """Return a log with a minute at each load, a share of what the Pi can do for each of some jobs
    that all do the same.
    """
    names = dict([*JOBS.items()][:jobs])
    for job, name in names.items():
        recording.job({"map": 1, "filter": 1}, [("map", "filter", "REBALANCE")], job=job, name=name)
    records = map_ms = filter_ms = cpu_s = 0.0
    start = START - START % 60_000
    polls = [load for load in loads for _ in range(6)]
    for poll, load in enumerate([*polls, 0.0]):
        at = start + POLL_MS * poll
        done = round(records)
        for job in names:
            for operator_, busy_ms in (("map", map_ms), ("filter", filter_ms)):
                place = {"subtask": 0, "attempt": 0, "taskmanager-id": "10.0.0.1"}
                path = f"/jobs/{job}/vertices/id-{operator_}"
                recording.answer(at, path, {"subtasks": [place]})
                counted = {"numRecordsIn": done, "numRecordsOut": done}
                recording.metrics(at + 1, operator_, job, accumulateBusyTimeMs=busy_ms, **counted)
        cpu = {"id": "Status.JVM.CPU.Time", "value": str(round(1e9 * jobs * cpu_s))}
        recording.answer(at + 1, "/taskmanagers/10.0.0.1/metrics", [cpu])
        new = load * FULL * POLL_MS / 1000
        records += new
        map_ms += new * MAP_MS * (WAITS if load >= 1 else 1)
        filter_ms += new * FILTER_MS
        cpu_s += new * (MAP_MS + FILTER_MS) / 1000
    return recording.write()


def test_minutes_with_a_free_core_say_what_a_record_costs(engine, cluster, recording):
    # Nine minutes: too few for a regression.
    log = log_of(recording, [1 / 3] * 3 + [2 / 3] * 3 + [1.0] * 3)
    found = measure([log], cluster, spark=engine)
    for name, work_ms in (("map", MAP_MS), ("filter", FILTER_MS)):
        cost = operator(found, name).on("pi")
        assert cost.cpu_ms_per_record == pytest.approx(work_ms, rel=0.02)
        assert cost.true_rate_per_s == pytest.approx(1000 / work_ms, rel=0.02)
        assert cost.cpu_by == "busy time"
        [said] = [n for n in operator(found, name).notes if "all cores" in n]
        assert "on pi were busy in 3 of 9 minutes" in said
        assert "uncertain" not in said
        # What stands for all records of a log is the time in which they were worked on.
        assert cost.true_rate_per_s * cost.busy_s == pytest.approx(6 * 60 * FULL, rel=0.02)
        # Waiting is no drift.
        assert cost.stationary


def test_a_pi_that_is_always_full_divides_by_busy_time_and_says_so(engine, cluster, recording):
    found = measure([log_of(recording, [1.0] * 4)], cluster, spark=engine)
    busy = WAITS * MAP_MS + FILTER_MS
    for name, share in (("map", WAITS * MAP_MS / busy), ("filter", FILTER_MS / busy)):
        cost = operator(found, name).on("pi")
        work_ms = share * (MAP_MS + FILTER_MS)
        assert cost.cpu_ms_per_record == pytest.approx(work_ms, rel=0.02)
        # A thread is not busy for less than it works.
        assert cost.true_rate_per_s == pytest.approx(
            1000 / min(work_ms, WAITS * MAP_MS if name == "map" else FILTER_MS), rel=0.02
        )
        [said] = [n for n in operator(found, name).notes if "all cores" in n]
        assert "all cores on pi were busy: threads waited" in said
        assert "uncertain" in said


def test_threads_of_another_job_wait_for_the_same_cores(engine, cluster, recording):
    alone = measure([log_of(recording, [1.0] * 4)], cluster, spark=engine)
    recording.lines = []
    log = log_of(recording, [1.0] * 4, jobs=2)
    ids = {"map": "id-map", "filter": "id-filter"}
    first = JobGraph(
        name="first",
        job_id="a" * 32,
        operators=tuple(Operator(id=i, name=n, parallelism=1) for n, i in ids.items()),
        streams=({"source": "id-map", "target": "id-filter", "ship_strategy": "REBALANCE"},),
    )
    both = measure([log], cluster, job=first, spark=engine)
    for name in ids:
        own, expected = operator(both, name).on("pi"), operator(alone, name).on("pi")
        assert own.cpu_ms_per_record == pytest.approx(expected.cpu_ms_per_record, rel=0.02)
        assert own.true_rate_per_s == pytest.approx(expected.true_rate_per_s, rel=0.02)


def test_a_free_minute_almost_without_records_does_not_count_alone(engine, cluster, recording):
    full = operator(measure([log_of(recording, [1.0] * 4)], cluster, spark=engine), "map")
    recording.lines = []
    mixed = measure([log_of(recording, [0.01] + [1.0] * 4)], cluster, spark=engine)
    cost, alone = operator(mixed, "map").on("pi"), full.on("pi")
    assert cost.cpu_ms_per_record == pytest.approx(alone.cpu_ms_per_record, rel=0.02)
    assert "uncertain" in " ".join(operator(mixed, "map").notes)
