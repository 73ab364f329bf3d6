"""Advice on changes to a job: partial aggregates, key groups, shared sources."""

import math
import re
from pathlib import Path

import pytest

from edgeplace.model import PartialAggregate, Plan, ShipStrategy, StreamCost
from edgeplace.model.laws.by_rate import AtRate
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.solver import (
    SPLIT_CALL,
    CombiningVerdict,
    combining,
    evenest,
    shared_sources,
    skew_of,
    skews,
    solve,
)
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream

_PLAN = Plan(
    jobs={
        "filter": {
            "source": tuple(f"pi-{i}" for i in range(4)),
            "filter": tuple(f"pi-{i}" for i in range(4)),
            "sink": ("server",),
        }
    }
)


def _keyed(partial=None, **more):
    """The filter's sink groups by key: 4 x 420 records/s of 100 bytes go to the server."""
    job = filter_job(5000.0)
    names = {"name": more.pop("name", "sink")}
    sink = job.operators[2].model_copy(update=names)
    keyed = stream("filter", "sink", ShipStrategy.HASH, 100, partial=partial)
    return job.revised(operators=(*job.operators[:2], sink), streams=(job.streams[0], keyed))


def _law(keys, interval_s=1.0):
    return FlushLaw(
        gathering=Gathering(interval_s=interval_s), form="hot and cold", keys=keys, shape=0.0
    )


def test_a_partial_aggregate_sends_one_record_for_each_distinct_key_of_each_site():
    partial = PartialAggregate(law=_law(50), bytes_per_record=24)
    (found,) = combining(_keyed(partial), filter_cluster(1e6), _PLAN)
    assert found.wan_bytes_per_s == pytest.approx(4 * 420 * 100)
    distinct = 50 * (1 - math.exp(-420 / 50))
    assert found.partial_wan_bytes_per_s == pytest.approx(4 * distinct * 24)
    assert found.verdict is CombiningVerdict.COMBINE
    assert found.every_s == 1.0
    assert found.lever.lines == (SPLIT_CALL,)


def test_where_nearly_every_record_has_a_key_of_its_own_it_says_leave_it_raw():
    partial = PartialAggregate(law=_law(1e6), bytes_per_record=120)
    (found,) = combining(_keyed(partial), filter_cluster(1e6), _PLAN)
    assert found.verdict is CombiningVerdict.RAW
    assert found.partial_wan_bytes_per_s > found.wan_bytes_per_s


def test_without_figures_of_the_keys_it_says_which_are_missing():
    (found,) = combining(_keyed(), filter_cluster(1e6), _PLAN)
    assert found.verdict is CombiningVerdict.UNKNOWN
    assert found.partial_wan_bytes_per_s is None
    keys, size = found.missing
    assert "how many keys 'sink' has" in keys
    assert "partial` of stream filter -> sink: law" in keys
    assert "bytes_per_record" in size


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "GroupAggregate[4] -> Calc[5]",
            [
                "SET 'table.exec.mini-batch.enabled' = 'true';",
                "SET 'table.exec.mini-batch.allow-latency' = '2 s';",
                "SET 'table.exec.mini-batch.size' = '5000';",
                "SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';",
            ],
        ),
        (
            "WindowAggregate[4]",
            ["SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';"],
        ),
    ],
)
def test_of_sql_it_gives_the_options(name, lines):
    partial = PartialAggregate(law=_law(50, 2.0), bytes_per_record=24)
    (found,) = combining(_keyed(partial, name=name), filter_cluster(1e6), _PLAN)
    assert list(found.lever.lines) == lines


def test_a_distinct_aggregate_gets_the_split_option():
    partial = PartialAggregate(law=_law(50), bytes_per_record=24)
    job = _keyed(partial, name="GroupAggregate[4](select=[COUNT(DISTINCT user)])")
    (found,) = combining(job, filter_cluster(1e6), _PLAN)
    assert found.lever.lines[-1] == "SET 'table.optimizer.distinct-agg.split.enabled' = 'true';"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("GlobalGroupAggregate[6]", CombiningVerdict.COMBINED),
        ("Join[3]", CombiningVerdict.WHOLE),
        (
            "GroupWindowAggregate[4](window=[SessionGroupWindow('w$, t, 9)])",
            CombiningVerdict.WHOLE,
        ),
        ("WindowAggregate[4](window=[SESSION(win_end=[$w$], gap=[1 s])])", CombiningVerdict.WHOLE),
        ("EventTimeSessionWindows -> results: Writer", CombiningVerdict.WHOLE),
        ("DynamicProcessingTimeSessionWindows", CombiningVerdict.WHOLE),
        ("TumblingProcessingTimeWindows", CombiningVerdict.WHOLE),
        ("GlobalWindows -> Sink: top", CombiningVerdict.WHOLE),
    ],
)
def test_what_is_combined_or_cannot_be_is_said_so(name, verdict):
    partial = PartialAggregate(law=_law(50), bytes_per_record=24)
    (found,) = combining(_keyed(partial, name=name), filter_cluster(1e6), _PLAN)
    assert found.verdict is verdict
    assert found.lever.lines == ()


def test_a_checkpoint_makes_a_partial_aggregate_flush_unless_its_law_says_otherwise():
    """120 keys, which all come within a second, flushed each 8 s and at a checkpoint each 10 s."""
    stated = PartialAggregate(law=_law(120, 8.0), bytes_per_record=30)
    job = _keyed(stated).revised(checkpoint_interval_ms=10_000)
    (found,) = combining(job, filter_cluster(1e6), _PLAN)
    # A checkpoint falls into the middle of a flush interval, and adds a flush of all keys.
    assert found.partial_wan_bytes_per_s == pytest.approx(4 * 30 * 120 * (1 / 8 + 1 / 10), rel=0.01)


@pytest.mark.parametrize(
    "name", ["Calc[2] -> LocalGroupAggregate[3]", "Source: clicks -> totals-combine", "combine"]
)
def test_behind_a_combiner_nothing_more_is_advised(name):
    job = _keyed(PartialAggregate(law=_law(50), bytes_per_record=24))
    source = job.operators[1].model_copy(update={"name": name})
    job = job.revised(operators=(job.operators[0], source, job.operators[2]))
    (found,) = combining(job, filter_cluster(1e6), _PLAN)
    assert found.verdict is CombiningVerdict.COMBINED


def test_the_law_of_the_window_behind_the_stream_tells_its_keys():
    """Each of two window subtasks has 30 keys: 60 in all, half of the records to each."""
    job = filter_job(5000.0)
    seen = AtRate(rate_per_s=840.0, selectivity=30 / 840, bytes_per_record=40)
    window = operator("window", 2, cost("window", 1e5, 1e5))
    sink = operator("end", 1, cost("end", 1e6, 1e6))
    out = StreamCost(source="window", target="end", by_rate=(seen,), flush_law=_law(30))
    job = job.revised(
        operators=(*job.operators[:2], window, sink),
        streams=(
            job.streams[0],
            stream("filter", "window", ShipStrategy.HASH, 100),
            stream("window", "end", ShipStrategy.REBALANCE, 1).model_copy(update={"cost": out}),
        ),
    )
    places = {**_PLAN.of("filter"), "window": ("server",) * 2, "end": ("server",)}
    del places["sink"]
    (found,) = combining(job, filter_cluster(1e6), Plan(jobs={"filter": places}))
    each = 2 * 30 * (1 - math.exp(-420 / 60))
    assert found.partial_wan_bytes_per_s == pytest.approx(4 * each * 40)
    assert "'window' puts out" in found.known_from


def test_a_hash_stream_within_a_site_is_no_advice():
    cluster = filter_cluster(1e6)
    job = _keyed()
    alone = job.revised(
        operators=(
            job.operators[0].model_copy(update={"born_at": ("server",)}),
            *job.operators[1:],
        )
    )
    assert combining(alone, cluster, solve(alone, cluster).plan) == ()


def test_skew_by_key_groups_is_the_closed_form():
    for groups, n in ((128, 100), (128, 96), (256, 3), (128, 128), (720, 17)):
        expected = math.ceil(groups / n) * n / groups
        assert skew_of([1.0] * groups, n) == pytest.approx(expected)


def test_the_evenest_parallelism_is_exact_for_given_loads():
    loads = [5.0, 1, 1, 1, 1, 1]
    assert evenest([1.0] * 12, [5, 6]) == (6, 1.0)
    # One group has half of everything: two subtasks are even but for it, three are not.
    assert evenest(loads, [3, 2]) == (2, pytest.approx(7 / 10 * 2))


def test_a_parallelism_that_the_groups_do_not_divide_by_is_named_with_a_better_one():
    job = filter_job(5000.0)
    window = operator("window", 100, cost("window", 1e5, 1e5, selectivity=0.0))
    job = job.revised(
        operators=(*job.operators[:2], window.model_copy(update={"max_parallelism": 128})),
        streams=(job.streams[0], stream("filter", "window", ShipStrategy.HASH, 100)),
    )
    (found,) = skews(job)
    assert found.fullest == found.of_groups == pytest.approx(2 * 100 / 128)
    assert (found.better, found.better_fullest) == (128, 1.0)
    assert not found.measured


def test_measured_shares_beyond_the_groups_are_hot_keys():
    job = filter_job(5000.0)
    window = operator("window", 4, cost("window", 1e5, 1e5, selectivity=0.0))
    keyed = stream("filter", "window", ShipStrategy.HASH, 100, shares=(0.7, 0.1, 0.1, 0.1))
    job = job.revised(operators=(*job.operators[:2], window), streams=(job.streams[0], keyed))
    (found,) = skews(job)
    assert found.measured
    assert found.fullest == pytest.approx(2.8)
    assert (found.of_groups, found.better) == (1.0, None)


def test_jobs_that_read_one_source_are_told_what_one_statement_set_would_send():
    first = _keyed()
    second = first.revised(name="other")
    plan = Plan(jobs={"filter": _PLAN.of("filter"), "other": _PLAN.of("filter")})
    # Filters beside the sources: the sources themselves cross no link.
    assert shared_sources([first, second], filter_cluster(1e6), plan) == ()
    away = {**_PLAN.of("filter"), "filter": ("server",) * 4}
    plan = Plan(jobs={"filter": away, "other": away})
    (found,) = shared_sources([first, second], filter_cluster(1e6), plan)
    assert (found.source, found.jobs) == ("source", ("filter", "other"))
    assert found.wan_bytes_per_s == pytest.approx(2 * 4 * 600 * 100)
    assert found.once_wan_bytes_per_s == pytest.approx(4 * 600 * 100)
    assert shared_sources(first, filter_cluster(1e6), _PLAN) == ()


def test_the_call_of_the_advice_is_one_that_the_jar_has():
    source = Path(__file__).parents[3] / "adapters/flink/split/src/dev/edgeplace/flink/split"
    if not source.is_dir():
        pytest.skip(f"{source} is not beside these tests")
    found = re.fullmatch(r"(\w+)\.(\w+)\((.*)\)", SPLIT_CALL)
    assert found
    of_class, method, arguments = found.groups()
    text = (source / f"{of_class}.java").read_text()
    declared = re.findall(rf"public static [^=;{{]*\b{method}\(([^)]*)\)", text)
    generic = [re.sub(r"<[^<>]*>", "", each) for each in declared]
    names = [", ".join(part.split()[-1] for part in each.split(",")) for each in generic]
    assert arguments in names
