"""Equal TaskManagers taken as one, and told apart where they must be."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import (
    Cluster,
    Exlocate,
    JobGraph,
    Link,
    Node,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    TaskManager,
)
from edgeplace.solver import SearchParameters, solve
from edgeplace.solver.formulation import formulate
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.problem import build
from edgeplace.solver.search.groups import Groups
from tests.support.groups import close, heavy_job, twins, two_sites
from tests.support.oracle import Oracle
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream

EXAMPLES = int(os.environ.get("EDGEPLACE_PROOFS", "150"))
BY_MODEL = SearchParameters(by_site=False)
wide = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)


def test_equal_pis_are_one_group():
    groups = Groups.alike(build([heavy_job(0.5, 2)], two_sites()))
    assert groups.of.tolist() == [0, 0, 1]
    assert groups.aggregated.tms.node_cores.tolist() == [2.0, 16.0]
    assert groups.aggregated.tms.slots.tolist() == [18, 9]


def test_pis_that_differ_are_no_group():
    problem = build([filter_job(50_000.0)], filter_cluster())
    assert Groups.alike(problem) is None
    twins = build([heavy_job(0.5, 2)], two_sites())
    assert Groups.alike(twins, np.array([True, False, False])) is None


def test_rules_that_count_on_nodes_keep_nodes_apart():
    rules = Rules(rules=(Exlocate(operators=("filter",)),))
    assert Groups.alike(build([heavy_job(0.5, 2)], two_sites(), rules)) is None
    by_site = Rules(rules=(Exlocate(operators=("filter",), level="site"),))
    assert Groups.alike(build([heavy_job(0.5, 2)], two_sites(), by_site)) is not None


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_what_fits_a_group_but_none_of_its_members_is_told_apart(backend):
    # Three filters of 0.6 cores fit the two cores of the Pis together; only two can be dealt out.
    job = heavy_job(0.6, 3)
    result = solve(job, two_sites(), objective=("wan",), backend=backend, search=BY_MODEL)
    assert result.status is Status.OPTIMAL
    placed = result.plan.of("heavy")["filter"]
    assert sorted(placed) == ["pi-0", "pi-1", "server"]
    # The third one's input goes to the server, its output comes back to the sink.
    assert result.levels[0].value == pytest.approx(100 * 10 + 100 * 0.1 * 10)


@pytest.mark.slow
@wide
@given(instance=twins(), name=st.sampled_from(["wan", "latency", "server_cores"]))
def test_twins_agree_with_brute_force(instance, name):
    job, cluster, rules = instance
    best = Oracle(job, cluster, rules, None).optimum([(name, 0.0)], False)
    result = solve(job, cluster, rules, objective=(name,), search=BY_MODEL)
    if best is None:
        assert result.status is Status.INFEASIBLE
        return
    assert result.status is Status.OPTIMAL
    assert result.evaluation.feasible
    assert close(result.levels[0].value, best[0])


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    windows=st.integers(2, 4),
    slots=st.integers(3, 6),
    load=st.sampled_from([0.05, 0.4]),
    sizes=st.lists(st.sampled_from([5, 60, 200]), min_size=4, max_size=4),
    cloud_slots=st.integers(2, 8),
)
def test_counting_and_envelopes_lose_no_plan(windows, slots, load, sizes, cloud_slots):
    job = windowed(windows, load, sizes)
    cluster = tight_cluster(slots, cloud_slots)
    problem = build([job], cluster)
    found = []
    for counted in (True, False):
        model = formulate(problem, ["wan"], counted=counted).model
        goal = model.objectives["wan"]
        answer = Milp(model).minimise(goal, seconds=None, gap=0.0, start=None)
        found.append((answer.outcome, answer.bound))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1] or close(found[0][1], found[1][1])


def windowed(windows, load, sizes):
    """Four sources, a filter each, and windows behind a HASH exchange."""
    demand = SourceDemand(rates_per_s=(100.0,))
    operators, streams = [], []
    for i, size in enumerate(sizes):
        source = cost(f"s{i}", 1e9, 1e9, demand=demand)
        operators.append(operator(f"s{i}", 1, source, born_at=(f"site-{i % 2}",)))
        operators.append(operator(f"f{i}", 1, cost(f"f{i}", 100 / load, 400 / load)))
        streams.append(stream(f"s{i}", f"f{i}", ShipStrategy.FORWARD, 2 * size, selectivity=1.0))
        streams.append(stream(f"f{i}", "window", ShipStrategy.HASH, size, selectivity=1.0))
    rate = 400 / windows
    window = cost("window", rate / load, 4 * rate / load)
    operators.append(operator("window", windows, window, max_parallelism=windows * 4))
    operators.append(operator("sink", 1, cost("sink", 1e9, 1e9)))
    streams.append(stream("window", "sink", ShipStrategy.REBALANCE, 1, selectivity=1.0))
    return JobGraph(name="w", operators=tuple(operators), streams=tuple(streams))


def tight_cluster(slots, cloud_slots):
    nodes = (
        *(Node(id=f"pi-{s}", site=f"site-{s}", node_class="pi", cores=1.0) for s in range(2)),
        Node(id="server", site="cloud", node_class="server", cores=1.0),
    )
    room = {"server": cloud_slots}
    return Cluster(
        sites=(Site(id="site-0"), Site(id="site-1"), Site(id="cloud", tier="cloud")),
        nodes=nodes,
        task_managers=tuple(
            TaskManager(id=n.id, node=n.id, slots=room.get(n.id, slots)) for n in nodes
        ),
        links=tuple(Link(source=f"site-{s}", target="cloud", both_ways=True) for s in range(2)),
        cpu_target=1.0,
    )
