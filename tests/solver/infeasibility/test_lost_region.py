"""A region is lost, and what hangs on it has no way to the cloud."""

import numpy as np
import pytest

from edgeplace.model import Case, LimitKind, Status
from edgeplace.model.what_if.cluster_changes import without_site
from edgeplace.solver import build, solve
from edgeplace.solver.evaluation.evaluate import assess
from tests.support.depots import depots_cluster, forklifts, parcels


def _without_links(cluster, site):
    """Return a cluster with a site that has neither links nor slots."""
    links = tuple(a for a in cluster.links if site not in (a.source, a.target))
    return cluster.model_copy(update={"links": links})


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
@pytest.mark.parametrize(
    "objective", [("wan", "latency"), ("latency", "wan"), ("throughput", "wan"), ("server_cores",)]
)
def test_a_lost_site_is_a_site_that_never_was(objective, backend):
    lost = Case((forklifts(4),), depots_cluster(4)).without_site("depot-03")
    cluster = _without_links(lost.cluster, "depot-03")
    left = tuple(n for n in cluster.nodes if n.site != "depot-03")
    gone = cluster.model_copy(
        update={
            "sites": tuple(s for s in cluster.sites if s.id != "depot-03"),
            "nodes": left,
            "task_managers": tuple(
                t for t in cluster.task_managers if t.node in {n.id for n in left}
            ),
        }
    )
    found = solve(lost.jobs, cluster, objective=objective, backend=backend)
    without = solve(lost.jobs, gone, objective=objective, backend=backend)
    assert found.status is without.status is Status.OPTIMAL
    for a, b in zip(found.levels, without.levels, strict=True):
        assert (a.value, a.bound) == (pytest.approx(b.value), pytest.approx(b.bound))


def test_sites_of_which_one_is_lost_are_still_a_tree():
    lost = Case((parcels(5),), depots_cluster(5)).without_site("depot-03")
    problem = build(lost.jobs, _without_links(lost.cluster, "depot-03"))
    assert problem.network.tree is None
    assert problem.without_idle_sites().network.tree is not None
    # A plan with subtasks at the lost site lacks routes, as before.
    there = next(i for i, slots in enumerate(problem.tms.slots) if slots == 0)
    for assignment in (np.full(problem.n, there), np.arange(problem.n) % problem.m):
        before, now = (assess(p, assignment) for p in (problem, problem.without_idle_sites()))
        assert [(v.kind, v.where) for v in before.violations] == [
            (v.kind, v.where) for v in now.violations
        ]
        assert before.wan_bytes_per_s == pytest.approx(now.wan_bytes_per_s)


@pytest.mark.parametrize("why", ["slots", "storage"])
def test_a_site_that_plans_use_is_not_left_out(why):
    cluster = Case((parcels(5),), depots_cluster(5)).without_site("region-mid").cluster
    if why == "storage":
        cluster = cluster.model_copy(update={"checkpoint_storage": "region-mid"})
    else:
        cluster = cluster.model_copy(
            update={
                "task_managers": tuple(
                    t.model_copy(update={"slots": t.slots or 1}) for t in cluster.task_managers
                )
            }
        )
    assert build((parcels(5),), cluster).without_idle_sites().network.tree is None


@pytest.mark.slow
def test_the_cure_is_links_and_no_slot_that_nobody_needs():
    """The depots are to go on without their region: they are not lost with it."""
    found = solve((parcels(), forklifts()), without_site(depots_cluster(), "region-north"))
    assert found.status is Status.INFEASIBLE
    assert found.conflict.confirmed
    assert found.conflict.nearest
    assert found.conflict.minimal
    assert {v.kind for v in found.conflict.shortfalls} == {LimitKind.ROUTE}
    assert [c.where for c in found.conflict.changes] == [
        f"depot-{d:02d} -> cloud" for d in range(0, 40, 5)
    ]
