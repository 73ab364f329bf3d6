"""What ran is not called broken by less than its costs varied as they were measured."""

import pytest

from edgeplace.model import Cluster, Status
from edgeplace.solver import evaluate, policies, solve
from tests.support.saturated import RAN, saturated
from tests.support.seeds import filter_cluster


@pytest.fixture
def cluster() -> Cluster:
    return filter_cluster()


@pytest.mark.parametrize(
    ("over", "spread", "origin", "within"),
    [
        (0.007, 0.012, "measured", True),
        (0.007, 0.005, "measured", False),
        (0.007, None, "measured", False),
        (0.007, 0.012, "stated", False),
        (0.2, 0.012, "measured", False),
    ],
)
def test_less_than_the_measured_spread(cluster, over, spread, origin, within):
    found = evaluate(saturated(over, spread, origin), cluster, RAN)
    assert {v.kind for v in found.violations} == {"subtask busy"}
    assert found.within_measurement is within
    # Nothing is loosened: it is no feasible plan, and none is proved.
    assert not found.feasible


def test_a_plan_that_holds_needs_no_doubt(cluster):
    found = evaluate(saturated(-0.2, 0.5), cluster, RAN)
    assert found.feasible and not found.within_measurement


def test_a_full_slot_is_not_a_matter_of_measurement(cluster):
    fewer = tuple(
        t.model_copy(update={"slots": 1}) if t.id == "pi-0" else t for t in cluster.task_managers
    )
    found = evaluate(
        saturated(0.007, 0.012), cluster.model_copy(update={"task_managers": fewer}), RAN
    )
    assert "slots" in {v.kind for v in found.violations}
    assert not found.within_measurement


def test_cores_of_a_node_are_shared_by_operators_of_different_spread(cluster):
    few = tuple(n.model_copy(update={"cores": 1.25}) for n in cluster.nodes[:4])
    cluster = cluster.model_copy(update={"nodes": (*few, cluster.nodes[4])})
    found = evaluate(saturated(0.007, 0.012), cluster, RAN)
    (node,) = {v.kind: v for v in found.violations if v.where == "pi-0"}.values()
    assert node.kind == "node cpu"
    # The source's cost has no spread, and takes a part of the cores.
    assert 0.011 < node.spread < 0.012


def test_solve_proves_the_same_as_before(cluster):
    job = saturated(0.007, 0.012)
    result = solve(job, cluster, current=RAN)
    assert result.status is Status.INFEASIBLE
    (current,) = [p for p in policies(job, cluster, None, RAN) if p.name == "current"]
    assert current.evaluation.within_measurement
    assert solve(job.with_source_rate("source", 4 * 600 / 1.007), cluster).plan is not None
