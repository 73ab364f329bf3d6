"""Of plans that are equal in every term, people get the one that they would choose."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import OBJECTIVES, Cluster, InvalidInputError, JobGraph, Plan, parse
from edgeplace.solver import evaluate, nearest_alike, solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from edgeplace.solver.search.tie_break import break_ties
from tests.support.depots import depots_cluster, parcels, pis
from tests.support.strategies import instances

DEPOTS = 12
VIDEO, DEPOT_CLUSTER = parcels(DEPOTS), depots_cluster(DEPOTS)


def test_each_chain_runs_beside_its_camera_where_it_stays_in_the_depot():
    """Four Pi 5 with a camera each: no one of them does the work of all."""
    plan = solve(VIDEO, DEPOT_CLUSTER).plan.of("parcels")
    at_home = [
        (camera, decode, detect)
        for camera, decode, detect in zip(
            plan["camera"], plan["decode"], plan["detect"], strict=True
        )
        if "depot" in decode
    ]
    assert len(at_home) >= len(pis(8))
    assert all(camera == decode == detect for camera, decode, detect in at_home)


def idle(places, nodes=3):
    """Return a job whose subtasks send nothing to one another, and alike nodes for it."""
    cost = {
        "demand": {"rates_per_s": [100]},
        "classes": [{"node_class": "default", "true_rate_per_s": 1000}],
    }
    job = parse(
        {
            "name": "idle",
            "operators": [
                {
                    "id": f"s{i}",
                    "name": f"s{i}",
                    "parallelism": 1,
                    "born_at": ["anywhere"],
                    "cost": cost,
                }
                for i in range(places)
            ],
        },
        JobGraph,
        "idle",
    )
    cluster = parse(
        {
            "sites": [{"id": "a"}],
            "nodes": [{"id": f"n{i}", "site": "a", "cores": 4, "slots": 9} for i in range(nodes)],
        },
        Cluster,
        "alike",
    )
    return job, cluster


def test_what_sends_nothing_goes_where_least_is_loaded():
    job, cluster = idle(7)
    problem = build(job, cluster)
    found = break_ties(problem, np.zeros(7, np.intp))
    assert sorted(np.bincount(found, minlength=3).tolist()) == [2, 2, 3]


def test_what_runs_now_stays_though_another_node_is_less_loaded():
    job, cluster = idle(7)
    now = Plan(jobs={"idle": {f"s{i}": ("n1",) for i in range(7)}})
    problem = build(job, cluster, current=now)
    assert break_ties(problem, np.ones(7, np.intp)).tolist() == [1] * 7
    # And it comes back, whatever the search has made of it.
    assert break_ties(problem, np.zeros(7, np.intp)).tolist() == [1] * 7


def test_what_can_come_home_only_together_does():
    """Of two full machines, a large subtask changes places with two small ones."""
    job, cluster = idle(3, nodes=2)
    large, *small = job.operators
    cost = {"node_class": "default", "true_rate_per_s": 500.0}
    slow = large.cost.model_copy(
        update={"classes": (large.cost.classes[0].model_copy(update=cost),)}
    )
    job = job.revised(operators=(large.model_copy(update={"cost": slow}), *small))
    # All three are a fifth of a core or two tenths, and a node has a fifth for plans.
    nodes = tuple(n.model_copy(update={"cores": 0.25}) for n in cluster.nodes)
    cluster = cluster.model_copy(update={"nodes": nodes})
    now = Plan(jobs={"idle": {"s0": ("n0",), "s1": ("n1",), "s2": ("n1",)}})
    problem = build(job, cluster, current=now)
    assert break_ties(problem, np.array([1, 0, 0])).tolist() == [0, 1, 1]
    # Machines of different sizes are not renamed.
    other = cluster.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"slots": 8}) if t.id == "n1" else t
                for t in cluster.task_managers
            )
        }
    )
    problem = build(job, other, current=now)
    assert break_ties(problem, np.array([1, 0, 0])).tolist() == [0, 1, 1]


def swapped(plan, names):
    """Return a plan with machines renamed."""
    return Plan(
        jobs={
            job: {op: tuple(names.get(t, t) for t in tms) for op, tms in places.items()}
            for job, places in plan.jobs.items()
        }
    )


def test_machines_that_are_alike_change_their_names_and_nothing_moves():
    result = solve(VIDEO, DEPOT_CLUSTER)
    there = swapped(result.plan, {"vm-0": "vm-3", "vm-3": "vm-0"})
    assert there != result.plan
    found = nearest_alike(VIDEO, DEPOT_CLUSTER, result, there)
    assert found.plan == there
    assert found.evaluation.wan_cost == pytest.approx(result.evaluation.wan_cost)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [["throughput", "wan"], ["wan"]])
def test_nothing_moves_from_where_it_runs_without_a_reason(objective):
    first = solve(VIDEO, DEPOT_CLUSTER, objective=objective).plan
    now = swapped(first, {"vm-0": "vm-3", "vm-3": "vm-0", "vm-1": "vm-2", "vm-2": "vm-1"})
    again = solve(VIDEO, DEPOT_CLUSTER, objective=objective, current=now)
    assert again.evaluation.moves == 0


def test_it_is_the_same_on_every_run():
    problem = build(VIDEO, DEPOT_CLUSTER)
    start = problem.assignment(solve(VIDEO, DEPOT_CLUSTER).plan)
    rng = np.random.default_rng(1)
    for _ in range(3):
        alike = problem.allowed() & (problem.tms.site == problem.tms.site[start][:, None])
        other = np.array([rng.choice(np.flatnonzero(row)) for row in alike])
        assert break_ties(problem, other).tolist() == break_ties(problem, other.copy()).tolist()


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), seed=st.integers(0, 2**16))
def test_no_term_and_no_limit_is_worse(instance, seed):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    try:
        problem = build(job, cluster, rules, now)
    except InvalidInputError:
        return
    assume(problem.allowed().any(axis=1).all())
    rng = np.random.default_rng(seed)
    start = np.array([rng.choice(np.flatnonzero(row)) for row in problem.allowed()])
    before = measure_usage(problem, start)
    found = break_ties(problem, start)
    after = measure_usage(problem, found)
    assert problem.allowed()[np.arange(problem.n), found].all()
    assert after.fixed_hold >= before.fixed_hold
    assert after.rated_hold >= before.rated_hold
    for name in OBJECTIVES:
        least = before.value(name)
        assert after.value(name) <= least + 1e-8 * abs(least) + 1e-12


def test_headroom_is_that_of_the_links_and_not_of_one_pi():
    found = solve(VIDEO, DEPOT_CLUSTER)
    assert found.evaluation.binding.kind == "link bandwidth"
    assert evaluate(VIDEO, DEPOT_CLUSTER, found.plan).headroom == pytest.approx(1.25)


def test_headroom_that_nobody_asked_for_and_nobody_sees_moves_nothing():
    """The second machine is as good as the first, but for a ten-thousandth of its cores."""
    job, cluster = idle(1, nodes=2)
    cores = {"n0": 0.13, "n1": 0.13 * 1.0001}
    nodes = tuple(n.model_copy(update={"cores": cores[n.id]}) for n in cluster.nodes)
    cluster = cluster.model_copy(update={"nodes": nodes})
    problem = build(job, cluster)
    there = np.zeros(1, np.intp)
    assert break_ties(problem, np.ones(1, np.intp), there, ("wan",)).tolist() == [0]
    assert break_ties(problem, np.ones(1, np.intp), there, ("throughput",)).tolist() == [1]


def test_equal_subtasks_change_back_across_sites_with_their_chains():
    """Frames of ten depots go on to the cloud: which ones, is one to people who look at moves."""
    job, cluster = parcels(40), depots_cluster(40)
    found = solve(job, cluster).plan.of("parcels")
    sent_on = [k for k, t in enumerate(found["decode"]) if "vm" in t]
    assert sent_on
    places = {op: list(tms) for op, tms in found.items()}
    for k in sent_on:
        region = link_of(cluster, found["camera"][k])
        alike = [
            j
            for j, t in enumerate(places["decode"])
            if "mini" in t and link_of(cluster, found["camera"][j]) == region
        ]
        for op in ("decode", "detect"):
            row = places[op]
            row[k], row[alike[-1]] = row[alike[-1]], row[k]
    near = Plan(jobs={"parcels": {op: tuple(tms) for op, tms in places.items()}})
    problem = build(job, cluster)
    wish = problem.assignment(near)
    start = problem.assignment(Plan(jobs={"parcels": found}))
    assert (start != wish).sum() >= 2 * len(sent_on)
    assert break_ties(problem, start, wish).tolist() == wish.tolist()


def link_of(cluster, tm):
    """Return the site behind the link of a Pi's depot."""
    depot = next(n.site for n in cluster.nodes if n.id == tm)
    return next(link.target for link in cluster.links if link.source == depot)


@pytest.mark.parametrize("step", [1, 2])
def test_equal_subtasks_of_three_sites_change_back_in_a_ring(step):
    job, cluster = idle(1)
    operator = job.operators[0].model_copy(update={"parallelism": 6, "born_at": ("anywhere",) * 6})
    job = job.revised(operators=(operator,))
    sites = parse({"sites": [{"id": s} for s in "abc"], "nodes": []}, Cluster, "three").sites
    nodes = tuple(
        n.model_copy(update={"site": s, "slots": 2})
        for n, s in zip(cluster.nodes, "abc", strict=True)
    )
    cluster = cluster.model_copy(update={"sites": sites, "nodes": nodes})
    problem = build(job, cluster)
    wish = np.array([0, 1, 2, 0, 1, 2])
    assert break_ties(problem, np.roll(wish, step), wish).tolist() == wish.tolist()
