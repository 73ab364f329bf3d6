from collections.abc import Callable, Iterable, Sequence

import pytest

from edgeplace.model import (
    Cluster,
    JobGraph,
    Operator,
    ShipStrategy,
    Stream,
)
from edgeplace.spark_stats import Measurement, measure
from tests.support.measured import START, counted, operator, stream


def wobbling(checkpoints: Iterable[int]) -> list[int]:
    """Return what checkpoints write that go up and down."""
    return [1000 + 400 * (number % 3) for number in checkpoints]


@pytest.fixture(scope="module")
def measured(
    engine, cluster: Cluster, recording_in: Callable, tmp_path_factory: pytest.TempPathFactory
) -> Measurement:
    """A source on a Pi, a filter on a Pi and on the server, a keyed count on the server."""
    log = recording_in(tmp_path_factory.mktemp("log"))
    log.job(
        {"Source: s": 1, "filter": 2, "count": 2},
        [("Source: s", "filter", "REBALANCE"), ("filter", "count", "HASH")],
    )
    log.answer(
        START,
        f"/jobs/{'a' * 32}/checkpoints/config",
        {"interval": 3000, "state_backend": "EmbeddedRocksDBStateBackend"},
    )
    for poll in range(9):
        ts = START + 5000 * poll
        log.placed(ts, "Source: s", ["pi-1"])
        log.placed(ts, "filter", ["pi-2", "server"])
        log.placed(ts, "count", ["server", "server"])
        common = {"numRecordsIn": 0, "accumulateBackPressuredTimeMs": 0}
        log.metrics(
            ts,
            "Source: s",
            **common,
            numRecordsOut=1000 * poll,
            numBytesOut=100_000 * poll,
            accumulateBusyTimeMs=500 * poll,
            Source__s__numRecordsOut=1000 * poll,
        )
        log.metrics(
            ts,
            "filter",
            numRecordsIn=[500 * poll, 500 * poll],
            numRecordsOut=[150 * poll, 150 * poll],
            numBytesIn=[50_000 * poll, 50_000 * poll],
            numBytesOut=[15_000 * poll, 15_000 * poll],
            accumulateBusyTimeMs=[1000 * poll, 250 * poll],
            accumulateBackPressuredTimeMs=[0, 0],
            Shuffle__Netty__Input__numBytesInLocal=[0, 0],
            Shuffle__Netty__Input__numBytesInRemote=[50_000 * poll, 50_000 * poll],
        )
        log.metrics(
            ts,
            "count",
            numRecordsIn=[225 * poll, 75 * poll],
            numRecordsOut=[10 * poll, 10 * poll],
            numBytesIn=[22_500 * poll, 7_500 * poll],
            accumulateBusyTimeMs=[100 * poll, 30 * poll],
            accumulateBackPressuredTimeMs=[0, 0],
            Shuffle__Netty__Input__numBytesInLocal=[11_250 * poll, 3_750 * poll],
            Shuffle__Netty__Input__numBytesInRemote=[11_250 * poll, 3_750 * poll],
        )
        log.answer(
            ts,
            "/taskmanagers/server/metrics",
            [{"id": "Status.JVM.CPU.Time", "value": str(760_000_000 * poll)}],
        )
    for number in range(1, 15):
        log.answer(
            START + 3000 * number,
            f"/jobs/{'a' * 32}/checkpoints/details/{number}/subtasks/id-count",
            {
                "id": number,
                "status": "COMPLETED" if number < 14 else "IN_PROGRESS",
                # Only the last ten completed ones count: 4 to 13.
                "state_size": 9_000_000 if number < 4 else 1000 * number,
                "checkpointed_size": wobbling([number])[0],
            },
        )
    return measure([log.write()], cluster, spark=engine)


def test_true_rate_is_records_over_busy_time_on_each_class(measured):
    pi, server = operator(measured, "filter").on("pi"), operator(measured, "filter").on("server")
    assert pi.true_rate_per_s == pytest.approx(500)
    assert server.true_rate_per_s == pytest.approx(2000)
    assert (pi.samples, pi.busy_s, pi.stationary) == (8, 8.0, True)
    assert pi.relative_spread == pytest.approx(0)
    assert pi.by_quarter_per_s == pytest.approx((500,) * 4)


def test_a_source_is_measured_by_what_it_emits(measured):
    source = operator(measured, "Source: s")
    assert source.on("pi").true_rate_per_s == pytest.approx(2000)
    assert source.selectivity is None
    assert source.demand.rates_per_s == pytest.approx((200,))
    assert source.demand.throttled is False
    assert source.demand.back_pressured_share == 0


def test_selectivity_and_bytes_come_from_the_consumer(measured):
    assert operator(measured, "filter").selectivity == pytest.approx(0.3)
    flow = stream(measured, "filter", "count")
    assert flow.selectivity == pytest.approx(0.3)
    assert flow.bytes_per_record == pytest.approx(100)
    assert stream(measured, "Source: s", "filter").selectivity == pytest.approx(1.0)


def test_local_and_remote_bytes_are_apart(measured):
    flow = stream(measured, "filter", "count")
    assert flow.local_bytes_per_s == pytest.approx(3000)
    assert flow.remote_bytes_per_s == pytest.approx(3000)
    assert stream(measured, "Source: s", "filter").local_bytes_per_s == 0


def test_key_shares_are_measured_only_where_keys_decide(measured):
    assert stream(measured, "filter", "count").shares == pytest.approx((0.75, 0.25))
    assert stream(measured, "Source: s", "filter").shares is None


def test_cpu_time_is_dealt_by_busy_time(measured):
    # 760 ms of CPU for 380 ms of busy time on the server in each interval.
    assert operator(measured, "filter").on("server").cpu_ms_per_record == pytest.approx(1.0)
    assert operator(measured, "filter").on("pi").cpu_ms_per_record is None
    assert any("background work" in note for note in operator(measured, "filter").notes)


@pytest.mark.parametrize("cores", [4, 0.3])
def test_waiting_for_a_core_is_no_work(cluster, recording, cores):
    nodes = tuple(n.model_copy(update={"cores": cores}) for n in cluster.nodes)
    recording.job({"Source: s": 1, "map": 1}, [("Source: s", "map", "FORWARD")])
    recording.placed(START, "Source: s", ["pi-1"])
    recording.placed(START, "map", ["pi-1"])
    for poll in range(9):
        ts = START + 5000 * poll
        # 1.5 s of CPU time in 5 s, while the two threads were busy for 4 s and 1 s.
        recording.metrics(
            ts, "Source: s", numRecordsOut=1000 * poll, accumulateBusyTimeMs=4000 * poll
        )
        recording.metrics(ts, "map", numRecordsIn=1000 * poll, accumulateBusyTimeMs=1000 * poll)
        cpu = {"id": "Status.JVM.CPU.Time", "value": str(1_500_000_000 * poll)}
        recording.answer(ts, "/taskmanagers/pi-1/metrics", [cpu])
    path = recording.write()
    found = measure([path], cluster.model_copy(update={"nodes": nodes}))
    source, last = (operator(found, name) for name in ("Source: s", "map"))
    assert source.on("pi").cpu_ms_per_record == pytest.approx(1.2)
    assert last.on("pi").cpu_ms_per_record == pytest.approx(0.3)
    short = cores < 1
    assert source.on("pi").true_rate_per_s == pytest.approx(1000 / (1.2 if short else 4))
    assert last.on("pi").true_rate_per_s == pytest.approx(1000 / (0.3 if short else 1))
    assert any("waited for them" in note for note in last.notes) is short
    assert last.on("pi").by_quarter_per_s == pytest.approx((last.on("pi").true_rate_per_s,) * 4)


def test_state_is_the_largest_of_the_last_ten_checkpoints(measured):
    count = operator(measured, "count")
    assert count.state_bytes == 13_000
    assert count.checkpointed_bytes == pytest.approx(sum(wobbling(range(4, 14))) / 10)
    assert any("may not scale linearly" in note for note in count.notes)
    assert "state" in operator(measured, "filter").not_in_log


def checkpoints(recording, sizes: Sequence[int]) -> None:
    recording.job({"map": 1})
    counted(recording, numRecordsIn=10)
    for number, size in enumerate(sizes):
        recording.answer(
            START + 3000 * number,
            f"/jobs/{'a' * 32}/checkpoints/details/{number}/subtasks/id-map",
            {"status": "COMPLETED", "state_size": size, "checkpointed_size": size},
        )


@pytest.mark.parametrize(
    "sizes",
    [
        (2_875_889, 2_876_321, 946_271, 946_747),  # a join whose rate has just fallen, as recorded
        (9, *range(1000, 2001, 100)),  # of more than ten, the older ones say nothing
    ],
)
def test_of_checkpoints_that_still_change_the_last_counts(engine, recording, sizes):
    checkpoints(recording, sizes)
    found = operator(measure([recording.write()], None, spark=engine), "map")
    assert found.checkpointed_bytes == sizes[-1]
    assert found.state_bytes == max(sizes[-10:])
    [note] = [note for note in found.notes if "no longer changes" in note]
    assert f"to {sizes[-1]:,}" in note


@pytest.mark.parametrize(
    "sizes",
    [
        (1000, 1500, 2000, 2500, 1000, 1500, 2000, 2500),  # windows that fill and are emptied
        (1000, 1050, 1100, 1150),  # grows, but not by much
        (5000,),
        (0, 0, 0),
    ],
)
def test_of_checkpoints_that_do_not_the_mean_counts(recording, sizes):
    checkpoints(recording, sizes)
    found = operator(measure([recording.write()], None), "map")
    assert found.checkpointed_bytes == pytest.approx(sum(sizes) / len(sizes))
    assert not any("no longer changes" in note for note in found.notes)


def test_settings_window_and_placement_are_reported(measured):
    costs = measured.costs
    assert (costs.checkpoint_interval_ms, costs.state_backend) == (3000, "rocksdb")
    assert (costs.from_ms, costs.to_ms) == (START, START + 40_000)
    assert costs.job == "telemetry"
    assert costs.placement["id-filter"] == ("pi-2", "server")
    assert measured.quarantine.counts == {}


def test_costs_fit_the_job_graph(measured):
    job = JobGraph(
        name="telemetry",
        operators=tuple(
            Operator(id=f"id-{n}", name=n, parallelism=p)
            for n, p in (("Source: s", 1), ("filter", 2), ("count", 2))
        ),
        streams=(
            Stream(source="id-Source: s", target="id-filter", ship_strategy=ShipStrategy.REBALANCE),
            Stream(source="id-filter", target="id-count", ship_strategy=ShipStrategy.HASH),
        ),
    )
    assert job.with_costs(measured.costs).operator("count").cost.state_bytes == 13_000
