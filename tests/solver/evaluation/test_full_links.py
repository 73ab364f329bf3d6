"""Links that are full: combiners flush later, and checkpoints wait for the last one.

One Pi and one server; a source of 100 records/s, a combiner, and a count. What the combiner puts
out is worked out by hand: 10 equally frequent keys, so nearly 10 records a flush.
"""

import pytest

from edgeplace.model import (
    Cluster,
    JobGraph,
    LimitKind,
    Plan,
    Rules,
    Status,
    StreamCost,
    parse,
)
from edgeplace.solver import evaluate, solve

AT_EDGE = Plan(jobs={"words": {"source": ("pi",), "combine": ("pi",), "count": ("server",)}})
BY_TIMER = 10 * 100.0
"""Bytes/s of the combiner that flushes each second: 10 keys of 100 bytes."""
BY_COUNT = 100 / 1000 * 10 * 100.0
"""Bytes/s if it flushes after 1,000 records only."""


def cluster(bytes_per_s: float | None) -> Cluster:
    return parse(
        {
            "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
            "nodes": [
                {"id": "pi", "site": "edge", "node_class": "any", "cores": 4},
                {"id": "server", "site": "cloud", "node_class": "any", "cores": 4},
            ],
            "task_managers": [
                {"id": "pi", "node": "pi", "slots": 3},
                {"id": "server", "node": "server", "slots": 3},
            ],
            "links": [
                {"source": a, "target": b, "bandwidth_bytes_per_s": bytes_per_s}
                for a, b in (("edge", "cloud"), ("cloud", "edge"))
            ],
            "link_target": 1.0,
            "checkpoint_storage": "cloud",
        },
        Cluster,
        "the cluster",
    )


def job(
    gathering: dict[str, float], rate: float = 100.0, combine: dict[str, object] | None = None
) -> JobGraph:
    fast = [{"node_class": "any", "true_rate_per_s": 1e9}]
    law = {"gathering": gathering, "form": "hot and cold", "keys": 10}
    out = 0.1 if "interval_s" in gathering else 0.01
    seen = [{"rate_per_s": 100, "selectivity": out, "bytes_per_record": 100}]
    return parse(
        {
            "name": "words",
            "operators": [
                {
                    "id": "source",
                    "name": "source",
                    "parallelism": 1,
                    "born_at": ["edge"],
                    "cost": {"classes": fast, "demand": {"rates_per_s": [rate]}},
                },
                {
                    "id": "combine",
                    "name": "combine",
                    "parallelism": 1,
                    "cost": {"classes": fast, **(combine or {})},
                },
                {"id": "count", "name": "count", "parallelism": 1, "cost": {"classes": fast}},
            ],
            "streams": [
                {
                    "source": "source",
                    "target": "combine",
                    "ship_strategy": "FORWARD",
                    "cost": {"selectivity": 1, "bytes_per_record": 1000},
                },
                {
                    "source": "combine",
                    "target": "count",
                    "ship_strategy": "HASH",
                    "cost": {"by_rate": seen, "flush_law": law},
                },
            ],
            "checkpoint_interval_ms": 1000,
        },
        JobGraph,
        "the job",
    )


WORDS = job({"interval_s": 1, "records": 1000})


def test_a_wide_link_has_what_the_timer_flushes():
    found = evaluate(WORDS, cluster(1e6), AT_EDGE)
    assert found.links[0].used == pytest.approx(BY_TIMER, rel=1e-3)
    assert found.feasible
    assert not found.notes


def test_a_link_that_is_too_thin_for_the_timer_is_full_and_holds():
    found = evaluate(WORDS, cluster(500), AT_EDGE)
    assert found.feasible
    assert found.links[0].used == 500
    assert "edge -> cloud is full" in found.notes[0]


def test_a_link_that_is_too_thin_for_whole_batches_does_not_hold():
    found = evaluate(WORDS, cluster(0.9 * BY_COUNT), AT_EDGE)
    broken = next(v for v in found.violations if v.kind is LimitKind.LINK_BANDWIDTH)
    assert broken.where == "edge -> cloud"
    assert broken.used == pytest.approx(BY_COUNT, rel=1e-3)


def test_rates_grow_until_whole_batches_fill_the_link():
    # rate = N x bandwidth / (D(N) x bytes) = 1000 x 500 / (10 x 100)
    found = evaluate(WORDS, cluster(500), AT_EDGE)
    assert 100 * found.headroom == pytest.approx(500, rel=1e-3)
    assert found.sustained == found.headroom


def test_what_is_behind_a_combiner_that_is_held_back_carries_less_too():
    words = WORDS.model_dump()
    end = {**words["operators"][2], "id": "end", "name": "end"}
    end["cost"] = {"classes": end["cost"]["classes"]}
    onward = {
        "source": "count",
        "target": "end",
        "ship_strategy": "FORWARD",
        "cost": {"selectivity": 1, "bytes_per_record": 100},
    }
    words["operators"] = [*words["operators"], end]
    words["streams"] = [*words["streams"], onward]
    longer = parse(words, JobGraph, "the job")
    pi, server = ("pi",), ("server",)
    places = {"source": pi, "combine": pi, "count": pi, "end": server}
    behind = Plan(jobs={"words": places})
    assert evaluate(longer, cluster(500), behind).feasible
    assert not evaluate(longer, cluster(0.9 * BY_COUNT), behind).feasible


def test_a_timer_alone_is_not_delayed():
    # It stands for windows of event time: what they have gathered does not depend on the link.
    found = evaluate(job({"interval_s": 1}), cluster(500), AT_EDGE)
    assert found.violations[0].used == pytest.approx(BY_TIMER, rel=1e-3)


def test_solve_finds_the_plan_whose_combiner_is_held_back():
    result = solve(WORDS, cluster(500), rules=None)
    assert result.status is Status.OPTIMAL
    assert solve(WORDS, cluster(0.9 * BY_COUNT)).status is Status.OPTIMAL  # All on the Pi.
    pinned = {"rules": [{"kind": "pin", "operators": ["count"], "to": "cloud"}]}
    rules = parse(pinned, Rules, "the rules")
    assert solve(WORDS, cluster(500), rules).plan == AT_EDGE
    assert solve(WORDS, cluster(0.9 * BY_COUNT), rules).status is Status.INFEASIBLE


LARGE = {"state_bytes": 1e5, "checkpointed_bytes": 1e5}


def test_late_checkpoints_leave_two_thirds_of_a_link_to_records():
    stated = job({"records": 1000}, combine=LARGE)
    found = evaluate(stated, cluster(600), AT_EDGE)
    assert not found.feasible
    assert 100 * found.sustained == pytest.approx(400, rel=1e-3)
    assert found.headroom == pytest.approx(600 / (1e5 + BY_COUNT), rel=1e-3)


def test_checkpoints_that_keep_their_interval_leave_the_headroom_as_it_is():
    little = {"state_bytes": 50.0, "checkpointed_bytes": 50.0}
    found = evaluate(job({"records": 1000}, combine=little), cluster(600), AT_EDGE)
    assert found.sustained == found.headroom == pytest.approx(600 / (50 + BY_COUNT), rel=1e-3)


@pytest.mark.parametrize("bytes_per_s", [5_000.0, 50_000.0])
def test_a_full_link_has_full_buffers(bytes_per_s):
    """All is at the edge but `count`, which gets records of 100 bytes."""
    stated = job({"records": 1000})
    onward = StreamCost(source="combine", target="count", selectivity=1, bytes_per_record=100)
    into, out = stated.streams
    streams = into, out.model_copy(update={"cost": onward})
    stated = stated.revised(streams=streams, checkpoint_interval_ms=None)
    thin = cluster(bytes_per_s).model_copy(update={"mtu_bytes": 1500})
    found = evaluate(stated, thin, AT_EDGE)
    # Of each byte of records: frames of 47 bytes a buffer, and packets of 1448, half of one more.
    buffers = 1 / thin.buffer_bytes
    payload = 1 + 47 * buffers
    of_a_byte = payload + 52 * (payload / 1448 + buffers / 2) + 52 * buffers
    assert 100 * found.sustained == pytest.approx(bytes_per_s / 100 / of_a_byte, rel=1e-4)
    # With parts of buffers at the ticks of the timer, the link is full before.
    assert found.headroom < 0.98 * found.sustained
    grown = stated.with_source_rate("source", 100 * 1.0001 * found.headroom)
    assert evaluate(grown, thin, AT_EDGE).links[0].used > bytes_per_s


def test_a_full_processor_sends_as_its_timer_says():
    slow = job(
        {"records": 1000}, combine={"classes": [{"node_class": "any", "true_rate_per_s": 50}]}
    )
    found = evaluate(slow, cluster(None).model_copy(update={"mtu_bytes": 1500}), AT_EDGE)
    assert found.sustained == found.headroom == pytest.approx(0.5)


def test_state_follows_its_law():
    law = {"fixed_bytes": 100.0, "held_bytes_s": 2.0}
    half = {"state_bytes": 400.0, "checkpointed_bytes": 200.0, "state_law": law}
    for rate in (100.0, 200.0):
        stated = job({"records": 1000}, rate, half)
        found = evaluate(stated, cluster(600), AT_EDGE)
        # A checkpoint writes half of the state, as measured.
        assert found.checkpoint_bytes_per_s == pytest.approx((100 + 2 * rate) / 2)
        assert rate * found.headroom == pytest.approx((600 - 50) / (1 + 1), rel=1e-3)
