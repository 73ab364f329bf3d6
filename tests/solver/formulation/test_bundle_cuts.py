"""Rows for what goes together or must be packed lose no plan, and the first look proves nothing."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    Pin,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    TaskManager,
)
from edgeplace.solver import SearchParameters, solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.formulation import formulate
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import build
from edgeplace.solver.search.groups import Groups
from tests.support.groups import close, heavy_job, twins, two_sites
from tests.support.oracle import Oracle
from tests.support.seeds import cost, operator, stream
from tests.support.strategies import instances

some = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
STEPS = ("parse", "filter", "model")


def lines(slots, sizes, load=0.05, below=False):
    """Lines of three steps that pay only together, on one Pi; `below`: on the way to a server."""
    operators = [operator("sink", 1, cost("sink", 1e9, 1e9, selectivity=0.0))]
    streams = []
    for i, size in enumerate(sizes):
        demand = SourceDemand(rates_per_s=(100.0,))
        before = f"source-{i}"
        operators.append(
            operator(before, 1, cost(before, 1e9, 1e9, demand=demand), born_at=("pi",))
        )
        for step in STEPS:
            name = f"{step}-{i}"
            operators.append(operator(name, 1, cost(name, 100 / load, 400 / load)))
            streams.append(stream(before, name, ShipStrategy.FORWARD, size, selectivity=1.0))
            before = name
        streams.append(stream(before, "sink", ShipStrategy.FORWARD, 1, selectivity=1.0))
    nodes = [
        Node(id="pi", site="edge", node_class="pi", cores=1.0),
        Node(id="server", site="cloud", node_class="server", cores=64.0),
    ]
    links = [Link(source="edge", target="cloud", both_ways=True)]
    sites = [Site(id="edge"), Site(id="cloud", tier="cloud")]
    if below:
        nodes.append(Node(id="low", site="low", node_class="pi", cores=0.2))
        sites.append(Site(id="low"))
        links.append(Link(source="low", target="edge", both_ways=True))
    room = {"pi": slots, "low": 2, "server": 99}
    cluster = Cluster(
        sites=tuple(sites),
        nodes=tuple(nodes),
        task_managers=tuple(TaskManager(id=n.id, node=n.id, slots=room[n.id]) for n in nodes),
        links=tuple(links),
        cpu_target=1.0,
    )
    job = JobGraph(name="lines", operators=tuple(operators), streams=tuple(streams))
    return job, cluster, Rules(rules=(Pin(operators=("sink",), to="server"),))


def relaxed(problem, tightened):
    form = formulate(problem, ["wan"], counted=True)
    milp, goal = Milp(form.model), form.model.objectives["wan"]
    bundles = form.bundles()
    tighten = bundles.broken if tightened else None
    return milp.relax(goal, seconds=None, tighten=tighten)[0], form, milp


def test_part_of_a_line_is_not_left_behind():
    # Beside the sources there are four slots, for one line and a third of the other.
    job, cluster, rules = lines(6, (100, 100))
    problem = build([job], cluster, rules)
    plain, tight = relaxed(problem, False)[0], relaxed(problem, True)[0]
    assert plain == pytest.approx((100 * 2 + 1 * 4) * 100 / 3, rel=1e-6)
    assert tight == pytest.approx(100 * 100 + 1 * 100, rel=1e-6)
    best = solve(job, cluster, rules, objective=("wan",))
    assert best.levels[0].value == pytest.approx(tight, rel=1e-6)


@pytest.mark.slow
@some
@given(
    slots=st.integers(3, 14),
    sizes=st.lists(st.sampled_from([5, 60, 61, 200]), min_size=2, max_size=4),
    load=st.sampled_from([0.05, 0.12, 0.3]),
    below=st.booleans(),
    seed=st.integers(0, 100),
)
def test_the_rows_hold_for_every_plan(slots, sizes, load, below, seed):
    slots = max(slots, len(sizes))
    job, cluster, rules = lines(slots, sizes, load, below)
    problem = build([job], cluster, rules)
    bound, form, milp = relaxed(problem, True)
    rng = np.random.default_rng(seed)
    goal = form.model.objectives["wan"]
    # The best plans for other prices are plans that make use of the capacities.
    for _ in range(4):
        other = formulate(problem, ["wan"])
        aim = other.model.objectives["wan"]
        aim.terms = {c: v * rng.uniform(0.2, 3) for c, v in aim.terms.items()}
        answer = Milp(other.model).minimise(aim, seconds=None, gap=0.0, start=None)
        plan = other.assignment(answer.values)
        for column, value in form.start(plan).items():
            milp._highs.changeColBounds(column, value, value)
        held = milp.relax(goal, seconds=None)
        assert held is not None
        wan = measure_usage(problem, plan).value("wan")
        assert close(held[0], wan)
        assert bound <= wan * (1 + 1e-6)


@some
@given(
    share=st.floats(0.1, 1.0),
    cores=st.floats(0.3, 3.0),
    pis=st.integers(2, 4),
)
def test_what_fits_on_machines_takes_no_more_than_there_are(share, cores, pis):
    each = int(np.floor(cores / share * (1 + 1e-9)))
    if not each:
        return
    problem = build([heavy_job(share, each * pis)], two_sites(pis, cores))
    groups = Groups.alike(problem)
    filters = problem.subtasks.range_of(1)
    for group, need in groups.packed(4):
        assert group == 0
        assert need[filters].sum() <= pis * (1 + 1e-9)


def test_more_than_half_of_a_machine_takes_one():
    groups = Groups.alike(build([heavy_job(0.6, 3)], two_sites()))
    filters = groups.problem.subtasks.range_of(1)
    first = next(need for _, need in groups.packed(1))
    assert first[filters].tolist() == [1.0] * 3


def test_a_subtask_is_not_where_it_would_be_too_much_by_itself():
    problem = build([heavy_job(0.9, 2)], two_sites(cores=0.5))
    places = problem.keeps_up[problem.subtasks.range_of(1)]
    assert places.tolist() == [[False, False, True]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("family", [instances(tree=True), twins()], ids=["trees", "twins"])
@some
@given(data=st.data())
def test_looking_near_first_agrees_with_brute_force(family, data):
    job, cluster, rules, *current = data.draw(family)
    place = current[0] if current else None
    if place or rules.max_moves is not None:
        return
    best = Oracle(job, cluster, rules, None).optimum([("wan", 0.0)], False)
    near_first = SearchParameters(by_site=False, large_model=0)
    result = solve(job, cluster, rules, objective=("wan",), search=near_first)
    if best is None:
        assert result.status is Status.INFEASIBLE
        return
    assert result.status is Status.OPTIMAL
    assert close(result.levels[0].value, best[0])


def test_a_large_model_without_a_plan_in_time_starts_from_a_local_search():
    job, cluster, rules = lines(6, (100, 100))
    only_exact = SearchParameters(
        by_site=False, baselines=False, growing_sites=False, aggregated=False, neighbourhoods=False
    )
    with patch("edgeplace.solver.search.stages.exact.run", side_effect=OutOfTimeError):
        result = solve(job, cluster, rules, objective=("wan",), time_limit_s=60, search=only_exact)
    assert result.status is Status.FEASIBLE
    assert result.evaluation.feasible
