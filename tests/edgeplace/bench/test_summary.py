import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeplace.bench.profile import profile
from edgeplace.bench.record import Run, RunOutcome, gap, negligible, primal_integral
from edgeplace.bench.summary import fastest_proofs, ratios, shifted_geometric_mean, summarise
from tests.support.seeds import filter_cluster


def ran(instance, backend, status, run_s, wan=100.0, best=100.0, **more):
    fields = dict.fromkeys(Run.model_fields)
    proof_s = run_s if status in (RunOutcome.OPTIMAL, RunOutcome.INFEASIBLE) else None
    known = {
        "kind": "run",
        "instance": instance,
        "subtasks": 9,
        "nodes": 3,
        "sites": 2,
        "backend": backend,
        "status": status,
        "wan": wan,
        "best_known_wan": best,
        "proof_s": proof_s,
        "run_s": run_s,
        "build_s": 0.1,
        "breaks": (),
        "wrong": (),
        "message": "",
    }
    return Run(**{**fields, **known, **more})


RUNS = [
    ran("a", "fast", RunOutcome.OPTIMAL, 1.0, memory_bytes=10),
    ran("a", "slow", RunOutcome.OPTIMAL, 4.0),
    ran("b", "fast", RunOutcome.FEASIBLE, 10.0, wan=201.0),
    ran("b", "slow", RunOutcome.INFEASIBLE, 2.0, wan=None, wrong=("a plan holds",)),
    ran("c", "fast", RunOutcome.INFEASIBLE, 0.001, wan=None, best=None, memory_bytes=30),
    ran("c", "slow", RunOutcome.KILLED, 50.0, wan=None, best=None),
]


def test_runs_are_counted_by_how_they_ended():
    fast, slow = summarise(RUNS, 10.0)
    counts = ("runs", "solved", "feasible", "wrong", "without", "failed")
    assert [getattr(fast, c) for c in counts] == [3, 2, 1, 0, 0, 0]
    assert [getattr(slow, c) for c in counts] == [3, 1, 0, 1, 1, 1]
    assert fast.memory_bytes == 30


def test_averages_are_over_solved_instances_and_par_2_over_all():
    fast, slow = summarise(RUNS, 10.0)
    assert fast.mean_1_s == pytest.approx(math.sqrt(2 * 1.001) - 1)
    assert fast.mean_10_s == pytest.approx(math.sqrt(11 * 10.001) - 10)
    assert fast.par_2_s == pytest.approx((1 + 20 + 0.001) / 3)
    assert slow.par_2_s == pytest.approx((4 + 20 + 20) / 3)
    assert slow.to_virtual_best == pytest.approx(4.0)
    assert fast.to_best_value == pytest.approx(math.sqrt(202 / 101))


def test_a_wrong_proof_is_no_proof_of_the_virtual_best():
    assert fastest_proofs(RUNS) == {"a": 1.0, "c": 0.01}
    assert ratios([r for r in RUNS if r.backend == "slow"], fastest_proofs(RUNS)) == [4.0]


def test_means_of_nothing_are_not_known():
    (only,) = summarise([ran("a", "x", RunOutcome.NONE, 10.0, wan=None)], 10.0)
    assert only.mean_1_s is only.to_virtual_best is only.to_best_value is None
    assert only.par_2_s == 20.0


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    st.sampled_from([1.0, 10.0]),
)
def test_a_shifted_mean_lies_between_least_and_most(values, shift):
    mean = shifted_geometric_mean(values, shift)
    assert min(values) - 1e-6 <= mean <= max(values) * (1 + 1e-9) + 1e-6


def test_the_primal_integral_is_the_area_above_the_incumbents():
    assert primal_integral([], 50.0, 10.0, 1e-6) == 10.0
    assert primal_integral([(2.0, 100.0), (4.0, 50.0)], 50.0, 10.0, 1e-6) == pytest.approx(
        2 + 2 * 0.5
    )
    assert primal_integral([(2.0, 100.0)], 50.0, 10.0, 1e-6) == pytest.approx(2 + 8 * 0.5)
    assert primal_integral([(12.0, 50.0)], 50.0, 10.0, 1e-6) == 10.0
    assert primal_integral([(1.0, 0.0)], 0.0, 10.0, 1e-6) == 1.0


def test_a_gap_is_relative_to_the_value():
    assert gap(200.0, 150.0, 1e-6) == 0.25
    assert gap(0.0, 0.0, 1e-6) == 0.0
    assert gap(None, 1.0, 1e-6) is None
    assert gap(1.0, None, 1e-6) is None


def test_a_gap_of_little_money_is_no_gap_of_nothing():
    """2 EUR a month are 7.6e-7 EUR/s, which is more than a millionth of a byte costs."""
    cluster = filter_cluster()
    links = tuple(a.model_copy(update={"price_per_byte": 4e-9}) for a in cluster.links)
    paid = cluster.model_copy(update={"links": links, "currency": "EUR"})
    assert negligible(cluster) == 1e-6
    assert gap(7.6e-7, 3.8e-7, negligible(paid)) == 0.5


def test_the_profile_rises_to_the_share_that_was_solved():
    svg = ElementTree.fromstring(profile({"fast": [1.0, 1.0], "a<b": [4.0]}, 4))  # noqa: S314
    lines = [e for e in svg if e.tag.endswith("polyline")]
    ends = [float(e.attrib["points"].split()[-1].split(",")[1]) for e in lines]
    starts = [float(e.attrib["points"].split()[0].split(",")[1]) for e in lines]
    rise = [a - b for a, b in zip(starts, ends, strict=True)]
    assert rise[0] == pytest.approx(2 * rise[1], abs=0.2)
    assert "a<b" in [e.text for e in svg]


def test_a_profile_of_nothing_is_drawn_too():
    assert "polyline" in profile({"none": []}, 3)
