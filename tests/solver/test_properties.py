"""Properties that hold whatever the instance."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan, Status
from edgeplace.solver import solve
from tests.support.strategies import instances

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def close(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 1e-6


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_relabelling_changes_nothing(instance, data):
    check_relabelled(instance, data, "milp")


@pytest.mark.slow
@settings(few, max_examples=5)
@given(instance=instances(), data=st.data())
def test_relabelling_changes_nothing_for_cbc(instance, data):
    check_relabelled(instance, data, "pulp:CBC")


def check_relabelled(instance, data, backend):
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    shuffled_cluster = cluster.model_copy(
        update={
            "sites": tuple(data.draw(st.permutations(cluster.sites))),
            "nodes": tuple(data.draw(st.permutations(cluster.nodes))),
            "task_managers": tuple(data.draw(st.permutations(cluster.task_managers))),
        }
    )
    shuffled_job = job.model_copy(
        update={
            "operators": tuple(data.draw(st.permutations(job.operators))),
            "streams": tuple(data.draw(st.permutations(job.streams))),
        }
    )
    a = solve(job, cluster, rules, current=plan, backend=backend)
    b = solve(shuffled_job, shuffled_cluster, rules, current=plan, backend=backend)
    assert a.status == b.status
    for one, other in zip(a.levels, b.levels, strict=True):
        assert close(one.value, other.value), one.name


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_more_capacity_is_never_worse(instance, data):
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    i = data.draw(st.integers(0, len(cluster.task_managers) - 1))
    with_slack = cluster.task_managers[i].model_copy(
        update={"slots": cluster.task_managers[i].slots + 2, "memory_bytes": None}
    )
    managers = list(cluster.task_managers)
    managers[i] = with_slack
    # Bandwidth shortens transfers and nothing else, so routes stay.
    links = tuple(
        a.model_copy(
            update={
                "bandwidth_bytes_per_s": a.bandwidth_bytes_per_s and a.bandwidth_bytes_per_s * 2
            }
        )
        for a in cluster.links
    )
    more = cluster.model_copy(
        update={
            "task_managers": tuple(managers),
            "links": links,
            "nodes": tuple(n.model_copy(update={"cores": n.cores * 2}) for n in cluster.nodes),
        }
    )
    before = solve(job, cluster, rules, objective=("wan",), current=plan)
    after = solve(job, more, rules, objective=("wan",), current=plan)
    if before.status is Status.OPTIMAL:
        assert after.status is Status.OPTIMAL
        assert after.levels[0].value <= before.levels[0].value * (1 + 1e-6) + 1e-6
