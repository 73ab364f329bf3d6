"""Credit windows beside busy processors, by an exact analysis of small closed networks.

The exact figures come from the state probabilities of a cyclic queue (product form), which share
nothing with the approximation: buffers of one loop go round between a delay and two processors.
"""

import math

import pytest

from edgeplace.model import JobGraph, Plan, parse
from edgeplace.solver import evaluate
from tests.support.credit_loop import APART, BUFFER, RECORD_BYTES, ROUND_TRIP_MS, cluster, job

JOINED = Plan(jobs={"j": {"far": ("pi",), "near": ("server",), "sink": ("server",)}})


def pipeline(sources: dict[str, float], busy_ms: dict[str, float], streams: str) -> JobGraph:
    """Return a job; `sources` in records/s, `busy_ms` of a buffer of ten records, streams as
    `a b, b c`."""
    operators = [
        {
            "id": name,
            "name": name,
            "parallelism": 1,
            "cost": {
                "operator": name,
                "classes": [
                    {"node_class": "any", "true_rate_per_s": 1000 * BUFFER / RECORD_BYTES / ms}
                ],
                **({"demand": {"rates_per_s": [sources[name]]}} if name in sources else {}),
            },
            **({"born_at": ["cloud" if name == "near" else "edge"]} if name in sources else {}),
        }
        for name, ms in busy_ms.items()
    ]
    ends = [pair.split() for pair in streams.split(", ")]
    return parse(
        {
            "name": "j",
            "operators": operators,
            "streams": [
                {
                    "source": a,
                    "target": b,
                    "ship_strategy": "HASH",
                    "cost": {
                        "source": a,
                        "target": b,
                        "selectivity": 1,
                        "bytes_per_record": RECORD_BYTES,
                    },
                }
                for a, b in ends
            ],
        },
        JobGraph,
        "the job",
    )


def joined(per_s: tuple[float, float]) -> JobGraph:
    """Return a join whose thread is busy for 90 %, with a far and a near input."""
    total = sum(per_s) * RECORD_BYTES / BUFFER
    far, near = per_s
    busy = {"far": 1e-6, "near": 1e-6, "sink": 900 / total}
    return pipeline({"far": far, "near": near}, busy, "far sink, near sink")


def relayed(relay_ms: float) -> JobGraph:
    busy = {"source": 1e-6, "relay": relay_ms, "sink": 1e-6}
    return pipeline({"source": 500.0}, busy, "source relay, relay sink")


def exact_buffers_per_s(window: int, *service_ms: float) -> float:
    """Return the throughput of a closed network by its normalisation constant (Buzen 1973)."""
    constant = [1.0, *(0.0 for _ in range(window))]
    for n in range(1, window + 1):
        constant[n] = ROUND_TRIP_MS**n / math.factorial(n)
    for ms in service_ms:
        for n in range(1, window + 1):
            constant[n] += ms * constant[n - 1]
    return 1000 * constant[window - 1] / constant[window]


def sustained_buffers_per_s(window: int, *service_ms: float) -> float:
    found = evaluate(job(*service_ms), cluster(window), APART)
    return found.sustained * RECORD_BYTES / BUFFER


@pytest.mark.parametrize("window", [1, 2, 3, 10, 40])
@pytest.mark.parametrize(
    "service_ms", [(0.1, 0.1), (5.0, 5.0), (10.0, 0.1), (0.1, 12.0), (10.0, 10.0), (40.0, 3.0)]
)
def test_a_loop_carries_what_an_exact_analysis_says(window, service_ms):
    # Schweitzer's approximation is known to be some per cent low.
    exact = exact_buffers_per_s(window, *service_ms)
    assert sustained_buffers_per_s(window, *service_ms) == pytest.approx(exact, rel=0.07)


def test_with_idle_processors_the_window_is_the_limit():
    found = evaluate(job(1e-6, 1e-6), cluster(10), APART)
    assert found.sustained == pytest.approx(found.headroom, rel=1e-6)
    assert found.headroom * RECORD_BYTES / BUFFER == pytest.approx(10 / 0.1)


def test_with_a_wide_window_the_processor_is_the_limit():
    found = evaluate(job(20.0, 1e-6), cluster(2_000), APART)
    assert found.headroom * RECORD_BYTES / BUFFER == pytest.approx(1000 / 20)
    assert found.sustained == pytest.approx(found.headroom, rel=0.002)


def test_where_both_are_near_their_limits_both_are_missed():
    # The window lets 100 buffers/s through, and so does the sink.
    found = evaluate(job(1e-6, 10.0), cluster(10), APART)
    assert found.headroom * RECORD_BYTES / BUFFER == pytest.approx(100)
    assert 0.7 < found.sustained / found.headroom < 0.85


def test_cores_that_a_target_keeps_free_have_no_queue():
    stated, whole = (evaluate(job(1e-6, 5.0), cluster(10, target), APART) for target in (0.6, 1.0))
    assert stated.sustained == pytest.approx(whole.sustained)


def test_within_a_site_there_is_no_window():
    here = Plan(jobs={"j": {"source": ("pi",), "sink": ("pi",)}})
    found = evaluate(job(6.0, 4.0), cluster(1), here)
    assert found.sustained == found.headroom


def beside(per_s: float, sink_ms: float, others: JobGraph, places: Plan) -> float:
    """Return the sustained factor of a job with a loop, and another job beside it."""
    both = [job(1e-6, sink_ms, per_s), others]
    plan = Plan(jobs={**APART.jobs, **places.jobs})
    return evaluate(both, cluster(10), plan).sustained


def at_the_server(other: JobGraph) -> tuple[JobGraph, Plan]:
    """Return the job under another name, all of it at the server."""
    there = tuple(
        op.model_copy(update={"born_at": ("cloud",) if op.cost.demand else ()})
        for op in other.operators
    )
    local = other.model_copy(update={"name": "k", "operators": there})
    return local, Plan(jobs={"k": {"source": ("server",), "sink": ("server",)}})


@pytest.mark.parametrize(("sink_ms", "used"), [(0.01, 0.75), (2.0, 0.5), (5.0, 0.3), (9.0, 0.1)])
def test_work_of_others_makes_a_processor_slower(sink_ms, used):
    # 80 buffers/s; others use a share of the server, and grow alike.
    local, places = at_the_server(job(used, 1e-6, 10_000.0))
    found = beside(800.0, sink_ms, local, places)

    def carried(factor: float) -> float:
        free = 1 - min(factor * used, 0.999999)
        return exact_buffers_per_s(10, 1e-6, sink_ms / free)

    low, high = 0.0, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if 80 * middle < carried(middle) else (low, middle)
    assert found == pytest.approx(min(low, 1 / used), rel=0.07)


def test_a_thread_that_hardly_works_for_a_loop_does_not_hold_it_back():
    # The thread works for local records nearly all of the time.
    found = evaluate(joined(per_s=(10.0, 990.0)), cluster(10), JOINED)
    assert found.headroom == pytest.approx(1 / 0.9, rel=1e-6)
    assert found.sustained == pytest.approx(found.headroom, rel=0.01)


def test_a_relay_s_way_out_does_not_shorten_its_way_in():
    # The same thread with the same work per buffer, whether its output crosses a link or not.
    plan = Plan(jobs={"j": {"source": ("pi",), "relay": ("server",), "sink": ("pi",)}})
    inside = Plan(jobs={"j": {"source": ("pi",), "relay": ("server",), "sink": ("server",)}})
    both, one = (evaluate(relayed(9.0), cluster(10), p).sustained for p in (plan, inside))
    assert both == pytest.approx(one, rel=1e-6)


def test_two_loops_share_a_server():
    # Two alike loops through one server: each has half of it.
    both = [job(1e-6, 10.0), job(1e-6, 10.0).model_copy(update={"name": "k"})]
    places = {**APART.jobs, "k": APART.jobs["j"]}
    found = evaluate(both, cluster(10), Plan(jobs=places))
    alone = exact_buffers_per_s(20, 1e-6, 10.0)
    # Of 20 buffers that go round between a delay and the server, half are of each loop.
    assert 2 * found.sustained * RECORD_BYTES / BUFFER == pytest.approx(alone, rel=0.07)
