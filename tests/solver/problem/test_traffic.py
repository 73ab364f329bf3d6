"""What a stream carries where the selectivity is known at several rates."""

import math

import numpy as np
import pytest

from edgeplace.model import (
    AtRate,
    Cluster,
    InvalidInputError,
    JobGraph,
    Operator,
    OperatorCost,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
)
from edgeplace.model.document import parse
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.wire import on_wire

# A combiner that was measured at four rates, records/s into a subtask -> records out per record.
COMBINER = ((250.0, 2.503), (2_121.0, 0.547), (13_061.0, 0.0897), (168_000.0, 0.0523))
# A filter's bytes a record: watermarks count among the bytes of few records.
SIZES = (116.1, 51.7, 41.9, 41.9)


def combining(rate_per_s: float, by_rate: tuple[tuple[float, float], ...]) -> JobGraph:
    demand = SourceDemand(rates_per_s=(rate_per_s,) * 2)
    seen = tuple(
        AtRate(rate_per_s=rate, selectivity=selectivity, bytes_per_record=size)
        for (rate, selectivity), size in zip(by_rate, SIZES, strict=True)
    )
    cost = StreamCost(source="combine", target="count", bytes_per_record=33, by_rate=seen)
    whole = StreamCost(source="s", target="combine", selectivity=1, bytes_per_record=91)
    return JobGraph(
        name="words",
        operators=(
            Operator(
                id="s", name="s", parallelism=2, cost=OperatorCost(operator="s", demand=demand)
            ),
            Operator(id="combine", name="combine", parallelism=2),
            Operator(id="count", name="count", parallelism=2),
        ),
        streams=(
            Stream(source="s", target="combine", ship_strategy=ShipStrategy.FORWARD, cost=whole),
            Stream(source="combine", target="count", ship_strategy=ShipStrategy.HASH, cost=cost),
        ),
    )


def counted_per_s(rate_per_s: float) -> float:
    return float(Traffic.of([combining(rate_per_s, COMBINER)]).rate_per_s[4:].sum()) / 2


@pytest.mark.parametrize(("rate", "selectivity"), COMBINER)
def test_at_a_measured_rate_the_measured_selectivity_holds(rate, selectivity):
    assert counted_per_s(rate) == pytest.approx(rate * selectivity)


def test_bytes_go_by_the_rate_too():
    traffic = Traffic.of([combining(2_121.0, COMBINER)])
    to_count = traffic.source >= 2
    assert traffic.record_bytes[to_count] == pytest.approx([51.7] * 4)
    assert traffic.bytes_per_s[to_count].sum() == pytest.approx(2 * 2_121 * 0.547 * 51.7)


def test_between_two_rates_output_goes_as_a_power_of_the_rate():
    (low, _), (high, _), *_ = COMBINER
    middle = counted_per_s((low * high) ** 0.5)
    assert middle == pytest.approx((counted_per_s(low) * counted_per_s(high)) ** 0.5)


def test_beyond_the_ends_output_is_in_proportion():
    assert counted_per_s(10) == pytest.approx(10 * COMBINER[0][1])
    assert counted_per_s(1e6) == pytest.approx(1e6 * COMBINER[-1][1])
    assert counted_per_s(0) == 0


def test_each_producer_puts_out_by_its_own_rate():
    job = combining(0, COMBINER)
    demand = SourceDemand(rates_per_s=(250, 2_121))
    source = job.operators[0].model_copy(update={"cost": OperatorCost(operator="s", demand=demand)})
    traffic = Traffic.of([job.revised(operators=(source, *job.operators[1:]))])
    of_each = [traffic.records_per_s[traffic.source == k].sum() for k in (2, 3)]
    assert np.array(of_each) == pytest.approx([250 * 2.503, 2_121 * 0.547])


LAW = FlushLaw(
    gathering=Gathering(interval_s=1, records=20_000, keys_per_record=10),
    form="zipf",
    keys=1000,
    shape=1,
)


def by_law(rate_per_s: float) -> float:
    """Return the records/s of one subtask that counts, by a law at the level of COMBINER."""
    job = combining(rate_per_s, COMBINER)
    first, stream = job.streams
    cost = stream.cost.model_copy(update={"flush_law": LAW})
    job = job.revised(streams=(first, stream.model_copy(update={"cost": cost})))
    return float(Traffic.of([job]).rate_per_s[4:].sum()) / 2


@pytest.mark.parametrize(("rate", "selectivity"), COMBINER)
def test_with_a_flush_law_too_a_measured_rate_keeps_its_selectivity(rate, selectivity):
    assert by_law(rate) == pytest.approx(rate * selectivity)


def test_beyond_the_ends_output_goes_by_the_flush_law():
    (low, at_low), *_, (high, at_high) = COMBINER
    for rate, end, seen in ((10, low, at_low), (1e6, high, at_high)):
        level = seen / LAW.selectivity(end)
        assert by_law(rate) == pytest.approx(rate * level * LAW.selectivity(rate))
    assert by_law(10) > 2 * counted_per_s(10)
    assert by_law(0) == 0


def test_between_two_rates_output_goes_by_the_flush_law():
    (_, at_low), (_, at_high) = COMBINER[1:3]
    low, middle, high = (LAW.selectivity(rate) for rate in (2_121, 5_000, 13_061))
    part = np.log(5_000 / 2_121) / np.log(13_061 / 2_121)
    level = (at_low / low) ** (1 - part) * (at_high / high) ** part
    assert by_law(5_000) == pytest.approx(5_000 * level * middle)


def test_no_rate_has_less_than_the_least_of_a_flush_law():
    cold = LAW.model_copy(update={"form": "hot and cold", "shape": 0.2, "keys": 30})
    endless = cold.model_copy(update={"gathering": Gathering(interval_s=1)})
    for law in (LAW, cold, endless):
        rates = np.logspace(0, 9, 200)
        least = min(law.selectivity(float(rate)) for rate in rates)
        assert least == pytest.approx(law.least_selectivity(), rel=1e-3)
        assert least >= law.least_selectivity() * (1 - 1e-12)


def test_a_flush_law_without_a_measurement_is_refused():
    cost = {"source": "a", "target": "b", "flush_law": LAW.model_dump()}
    with pytest.raises(InvalidInputError, match="flush_law without by_rate"):
        parse(cost, StreamCost, "the stream")


def test_rates_that_do_not_ascend_are_refused():
    at = {"rate_per_s": 5, "selectivity": 1, "bytes_per_record": 1}
    with pytest.raises(InvalidInputError, match="do not ascend"):
        parse({"source": "a", "target": "b", "by_rate": [at, at]}, StreamCost, "the stream")


@pytest.mark.parametrize(
    ("rate_per_s", "interval_ms", "watermarks_per_s"),
    [(100.0, 200.0, 5.0), (100.0, None, 0.0), (2.0, 200.0, 2.0)],
)
def test_watermarks_come_at_their_interval_and_no_more_often_than_records(
    rate_per_s, interval_ms, watermarks_per_s
):
    job = combining(rate_per_s, COMBINER).revised(watermark_interval_ms=interval_ms)

    assert Traffic.of([job]).watermarks_per_s.tolist() == [watermarks_per_s] * 6


def test_watermarks_make_buffers_where_records_are_few():
    cluster = Cluster(sites=(Site(id="here"),), mtu_bytes=1500)

    def on_wire(rate_per_s, interval_ms):
        job = combining(rate_per_s, COMBINER).revised(watermark_interval_ms=interval_ms)
        return Channels.of(Traffic.of([job]), cluster).bytes_per_s[0]

    # Of ten ticks a second three have a watermark; a part of them has a record anyway. Each other
    # one has a frame, and the headers of its packet and of an acknowledgement. The first stream
    # has the 3 records/s of a source on a channel.
    frames = 3 * math.exp(-3 * 0.1)
    assert on_wire(3.0, 200.0) - on_wire(3.0, None) == pytest.approx(frames * (47 + 2 * 52))
    assert on_wire(3000.0, 200.0) == on_wire(3000.0, None)


@pytest.mark.parametrize(
    ("bytes_per_s", "forth", "back"), [(4_000.0, 5_501.0, 805.0), (420_000.0, 437_974.0, 9_112.0)]
)
def test_the_wire_takes_what_the_docs_say_of_records_of_100_bytes(bytes_per_s, forth, back):
    """docs/formulation.md, "The wire": at an MTU of 1500 and a buffer timeout of 100 ms."""
    one = np.array([1.0])
    taken = on_wire(
        bytes_per_s * one, bytes_per_s / 100 * one, 0 * one, 100 * one, np.inf * one, 32_768, 1500
    )
    assert taken.forward == pytest.approx([forth], abs=1)
    assert taken.back == pytest.approx([back], abs=1)


def test_results_that_a_window_sends_at_once_are_few_frames():
    """300 results of 28 bytes at once every 10 s: a frame of 8.4 kB, not ten a second."""
    cluster = Cluster(sites=(Site(id="here"),), mtu_bytes=1500)

    def to_count(flushes_per_s):
        job = combining(1.0, COMBINER)
        cost = StreamCost(
            source="combine",
            target="count",
            selectivity=60.0,
            bytes_per_record=28,
            flushes_per_s=flushes_per_s,
        )
        first, last = job.streams
        found = Channels.of(
            Traffic.of([job.revised(streams=(first, last.model_copy(update={"cost": cost})))]),
            cluster,
        )
        # After the two channels of the first stream; 30 records/s on each.
        return found.bytes_per_s[2]

    def frames(per_s):
        full = 30 * 28 / 32_768
        buffers = full + per_s
        packets = max((30 * 28 + 47 * buffers) / 1448 + buffers / 2, buffers)
        return 30 * 28 + 47 * buffers + 52 * (packets + buffers)

    assert to_count(None) == pytest.approx(frames(10 * (1 - math.exp(-3))))
    assert to_count(0.1) == pytest.approx(frames(0.1))
    # Flink does not flush more often than its timeout says.
    assert to_count(50.0) == to_count(None)
