"""Credit windows beside busy processors, by an exact analysis of small closed networks.

The exact figures come from the state probabilities of a cyclic queue (product form), which share
nothing with the approximation: buffers of one loop go round between a delay and two processors.
"""

import math

import pytest

from edgeplace.model import Plan
from edgeplace.solver import evaluate
from tests.support.credit_loop import APART, BUFFER, RECORD_BYTES, ROUND_TRIP_MS, cluster, job


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


def test_two_loops_share_a_server():
    # Two alike loops through one server: each has half of it.
    both = [job(1e-6, 10.0), job(1e-6, 10.0).model_copy(update={"name": "k"})]
    places = {**APART.jobs, "k": APART.jobs["j"]}
    found = evaluate(both, cluster(10), Plan(jobs=places))
    alone = exact_buffers_per_s(20, 1e-6, 10.0)
    # Of 20 buffers that go round between a delay and the server, half are of each loop.
    assert 2 * found.sustained * RECORD_BYTES / BUFFER == pytest.approx(alone, rel=0.07)
