"""The baselines against brute force: none is ever better, the exact ones are as good."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import (
    AtMost,
    ClassCost,
    Cluster,
    JobGraph,
    Node,
    Operator,
    OperatorCost,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
)
from edgeplace.solver.baselines import PUBLISHED, Budget
from edgeplace.solver.baselines.ascent import Ascent
from edgeplace.solver.baselines.caps import GRANULARITY
from edgeplace.solver.baselines.caps_load import largest_load
from edgeplace.solver.baselines.caps_tasks import Tasks
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.baselines.random_k import random_k
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.problem import build
from tests.support.oracle import Oracle
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream
from tests.support.strategies import instances

EXAMPLES = int(os.environ.get("EDGEPLACE_PROOFS", "40"))
some = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
EXACT = ("odp", "textbook")


def close(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 1e-6


def without_flush_laws(job):
    """The baselines count what timers flush: they do not know that a full link delays them."""
    streams = tuple(
        s.model_copy(update={"cost": s.cost and s.cost.model_copy(update={"flush_law": None})})
        for s in job.streams
    )
    return job.model_copy(update={"streams": streams})


@st.composite
def with_slack(draw):
    """Instances with limits of one kind, so that most have plans; and any instances."""
    job, cluster, rules, current = draw(instances())
    job = without_flush_laws(job)
    kept = draw(st.sampled_from(["slots", "cores", "bytes", "links", "credit", "rules", "all"]))
    if kept == "all":
        return job, cluster, rules, current
    job = job.model_copy(update={"operators": tuple(flowing(o) for o in job.operators)})

    def update(kind, limited, unlimited):
        return limited if kept == kind else unlimited

    nodes = [
        n.model_copy(
            update=update("cores", {"cores": draw(st.sampled_from([0.1, 0.5]))}, {"cores": 1e3})
        )
        for n in cluster.nodes
    ]
    tms = update("slots", {}, {"slots": 9})
    tms |= update("bytes", {}, {"memory_bytes": None, "disk_bytes": None})
    links = [
        a.model_copy(
            update={
                "bandwidth_bytes_per_s": update("links", draw(st.sampled_from([200.0, 2e3])), None)
            }
        )
        for a in cluster.links
    ]
    cluster = cluster.model_copy(
        update={
            "nodes": tuple(nodes),
            "task_managers": tuple(t.model_copy(update=tms) for t in cluster.task_managers),
            "links": tuple(links),
            **update("credit", {"buffer_bytes": 64}, {"buffers_per_channel": 10_000}),
        }
    )
    return job, cluster, rules if kept == "rules" else Rules(), current


def flowing(op):
    """The operator, its source's demand not zero."""
    if op.cost.demand is None:
        return op
    demand = SourceDemand(rates_per_s=tuple(max(r, 10.0) for r in op.cost.demand.rates_per_s))
    return op.model_copy(update={"cost": op.cost.model_copy(update={"demand": demand})})


def problem_of(instance):
    job, cluster, rules, current = instance
    return build([job], cluster, rules, Plan(jobs={job.name: current}) if current else None)


@pytest.mark.slow
@some
@given(instance=with_slack(), seed=st.integers(0, 3))
def test_no_baseline_beats_brute_force(instance, seed):
    problem = problem_of(instance)
    best = Oracle(*instance).optimum([("wan", 0.0)], soft=False)
    for name, method in PUBLISHED.items():
        found = method(problem, Budget(seed=seed))
        if found.bound is not None and best is not None:
            assert found.bound <= best[0] * (1 + 1e-6) + 1e-6, name
        if found.assignment is None:
            continue
        judged = assess(problem, found.assignment)
        if judged.feasible:
            assert best is not None, name
            assert judged.wan_cost >= best[0] - 1e-6 * abs(best[0]) - 1e-6, name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@some
@given(instance=with_slack())
def test_exact_ones_equal_brute_force(name, instance):
    problem = problem_of(instance)
    best = Oracle(*instance).optimum([("wan", 0.0)], soft=False)
    found = PUBLISHED[name](problem, Budget())
    if best is None:
        assert found.assignment is None
        assert found.bound == float("inf")
        return
    judged = assess(problem, found.assignment)
    assert judged.feasible, judged.violations
    assert close(judged.wan_cost, best[0])
    assert close(found.bound, best[0])


@pytest.mark.slow
@some
@given(instance=with_slack(), data=st.data())
def test_state_agrees_with_the_evaluator(instance, data):
    problem = problem_of(instance)
    tms = st.integers(0, problem.m - 1)
    assignment = np.array([data.draw(tms) for _ in range(problem.n)], np.intp)
    state = State(problem, assignment)
    for _ in range(data.draw(st.integers(0, 3))):
        k = data.draw(st.integers(0, problem.n - 1))
        state.put(k, data.draw(tms))
    judged = assess(problem, state.assignment)
    assert all(state.holds(k) for k in range(problem.n)) == judged.feasible, judged.violations
    if all(v.kind != "route" for v in judged.violations):
        assert close(state.wan, judged.wan_cost)
    k = data.draw(st.integers(0, problem.n - 1))
    before, prices = state.wan, state.price(k)
    for t in range(problem.m):
        moved = state.assignment.copy()
        moved[k] = t
        after = assess(problem, moved)
        if all(v.kind != "route" for v in (*judged.violations, *after.violations)):
            step = prices[t] - prices[state.assignment[k]]
            assert close(after.wan_cost, before + step)


@pytest.mark.slow
@settings(some, max_examples=3 * EXAMPLES)
@given(instance=with_slack())
def test_a_step_from_a_plan_that_holds_is_judged_as_the_evaluator_does(instance):
    problem = problem_of(instance)
    plan = PUBLISHED["odp"](problem, Budget()).assignment
    assume(plan is not None)
    state = State(problem, plan)
    for k in range(problem.n):
        fits = state.fits(k)
        for t in range(problem.m):
            moved = plan.copy()
            moved[k] = t
            judged = assess(problem, moved)
            assert (fits[t] and state.carried(k, t)) == judged.feasible, judged.violations


def test_two_streams_between_the_same_operators_both_count():
    job = filter_job(1e6)
    twice = stream("source", "filter", ShipStrategy.FORWARD, 100, selectivity=1.0)
    job = job.model_copy(update={"streams": (twice, twice, job.streams[1])})
    problem = build([job], filter_cluster(1e6))
    at_pis, one_at_server = (
        np.array([0, 1, 2, 3, 0, 1, 2, 3, 4]),
        np.array([0, 1, 2, 3, 4, 1, 2, 3, 4]),
    )
    before, after = (assess(problem, a).wan_cost for a in (at_pis, one_at_server))
    price = State(problem, at_pis).price(4)
    assert price[4] - price[0] == pytest.approx(after - before)


def test_a_step_may_not_overload_a_node():
    cluster = filter_cluster(1e6)
    # A source takes 0.0006 cores of a Pi, and a filter as many again.
    small = tuple(
        n.model_copy(update={"cores": 0.001 if n.node_class == "pi" else 16}) for n in cluster.nodes
    )
    problem = build([filter_job(1e6)], cluster.model_copy(update={"nodes": small}))
    state = State(problem, np.array([0, 1, 2, 3, 4, 4, 4, 4, 4]))
    assert state.fits(4).tolist() == [False, False, False, False, True]


def test_a_step_may_not_outrun_a_credit_window():
    # 64-byte buffers carry some kB/s over 40 ms there and back, the source sends 60.
    cluster = filter_cluster(1e6).model_copy(update={"buffer_bytes": 64})
    state = State(build([filter_job(1e6)], cluster), np.array([0, 1, 2, 3, 0, 1, 2, 3, 0]))
    assert state.carried(4, 0)
    assert not state.carried(4, 4)


def test_a_step_may_not_exceed_a_cap():
    rules = Rules(rules=(AtMost(operators=("filter",), count=1),))
    problem = build([filter_job(1e6)], filter_cluster(1e6), rules)
    state = State(problem, np.array([0, 1, 2, 3, 0, 1, 2, 3, 4]))
    assert state.fits(4).tolist() == [True, False, False, False, True]


def test_a_step_may_not_break_the_limit_on_latency():
    job, cluster = filter_job(1e6), filter_cluster(1e6)
    plan = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4])
    at_server = assess(build([job], cluster), plan).latency_ms
    # From a Pi to another it is 20 ms more than to the server.
    for limit, may in ((at_server + 10, False), (at_server + 30, True)):
        state = State(build([job], cluster, Rules(max_latency_ms=limit)), plan)
        assert state.carried(8, 0) == may


@pytest.mark.slow
@some
@given(instance=with_slack())
def test_searches_never_worsen_what_they_start_from(instance):
    problem = problem_of(instance)
    greedy, local, tabu = (
        assess(problem, PUBLISHED[name](problem, Budget()).assignment)
        for name in ("greedy-first-fit", "local-search", "tabu")
    )
    for start, found in ((greedy, local), (local, tabu)):
        if start.feasible:
            assert found.feasible, found.violations
            assert found.wan_cost <= start.wan_cost * (1 + 1e-6) + 1e-6


@pytest.mark.slow
@some
@given(instance=with_slack())
def test_nebulastream_s_ilp_never_sends_anything_down(instance):
    problem = problem_of(instance)
    found = PUBLISHED["nes-ilp"](problem, Budget()).assignment
    assume(found is not None)
    never_down(problem, found)


def test_nebulastream_s_ilp_never_sends_anything_down_though_it_would_pay():
    # Sent back down between, the swollen stream would count as bytes won back.
    demand = SourceDemand(rates_per_s=(100.0,))
    job = JobGraph(
        name="swells",
        operators=(
            operator("source", 1, cost("source", 1e6, 1e6, demand=demand), born_at=("pi-0",)),
            operator("swell", 1, cost("swell", 1e6, 1e6)),
            operator("shrink", 1, cost("shrink", 1e6, 1e6)),
            operator("sink", 1, cost("sink", 1e6, 1e6)),
        ),
        streams=(
            stream("source", "swell", ShipStrategy.FORWARD, 10, selectivity=1.0),
            stream("swell", "shrink", ShipStrategy.FORWARD, 100, selectivity=1.0),
            stream("shrink", "sink", ShipStrategy.FORWARD, 10, selectivity=1.0),
        ),
    )
    problem = build([job], filter_cluster())
    never_down(problem, PUBLISHED["nes-ilp"](problem, Budget()).assignment)


def never_down(problem, found):
    paths = Ascent.of(problem).paths
    site = problem.tms.site[found]
    for k, j in zip(
        problem.channels.source.tolist(), problem.channels.target.tolist(), strict=True
    ):
        assert site[j] in paths[site[k]]


@pytest.mark.slow
@some
@given(instance=with_slack())
def test_caps_finds_a_plan_whenever_the_slots_suffice(instance):
    problem = problem_of(instance)
    every = itertools.product(*(np.flatnonzero(row) for row in problem.allowed()))
    fitting = [a for a in map(np.array, every) if fits_slots(problem, a)]
    found = PUBLISHED["caps"](problem, Budget()).assignment
    if not fitting:
        assert found is None
        return
    assert fits_slots(problem, found)
    assert problem.allowed()[np.arange(problem.n), found].all()
    least = min(largest_load(problem, a) for a in fitting)
    assert largest_load(problem, found) >= least - 1e-9


def test_caps_takes_tasks_for_alike_only_if_their_partners_are():
    # Each source is held at a Pi of its own, so the filter behind it is one of a kind too.
    tasks = Tasks.of(build([filter_job(1e6)], filter_cluster()))
    assert [m.tolist() for m in tasks.members] == [[k] for k in range(9)]
    lone = Tasks.of(balancing([1, 1], 3, 2, ShipStrategy.FORWARD))
    assert [m.tolist() for m in lone.members] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.slow
@settings(some, max_examples=20)
@given(
    loads=st.lists(st.integers(1, 9), min_size=2, max_size=3),
    parallelism=st.integers(1, 2),
    workers=st.integers(2, 3),
    strategy=st.sampled_from([None, ShipStrategy.FORWARD, ShipStrategy.REBALANCE]),
)
def test_caps_balances_as_well_as_brute_force(loads, parallelism, workers, strategy):
    problem = balancing(loads, parallelism, workers, strategy)
    found = PUBLISHED["caps"](problem, Budget()).assignment
    every = itertools.product(range(workers), repeat=problem.n)
    fitting = [a for a in map(np.array, every) if fits_slots(problem, a)]
    least = min(largest_load(problem, a) for a in fitting)
    assert largest_load(problem, found) <= least + GRANULARITY


@pytest.mark.slow
@settings(some, max_examples=15)
@given(instance=with_slack(), seed=st.integers(0, 3))
def test_the_same_seed_gives_the_same_plan(instance, seed):
    problem = problem_of(instance)
    for name, method in PUBLISHED.items():
        once, again = (method(problem, Budget(seed=seed)).assignment for _ in range(2))
        assert (once is None and again is None) or (once == again).all(), name


def test_seeds_matter():
    problem = build([filter_job(1e6)], filter_cluster(1e6))
    drawn = [random_k(problem, Budget(seed=s), draws=1).assignment.tolist() for s in range(5)]
    assert len({tuple(a) for a in drawn}) > 1


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_time_is_no_error(name):
    problem = build([filter_job(1e6)], filter_cluster())
    found = PUBLISHED[name](problem, Budget(time_limit_s=0.0))
    assert found.assignment is None or len(found.assignment) == problem.n


def test_searches_find_the_filter_s_place():
    # A filter of 70 % at every Pi is the optimum; all on the server is where greedy ends.
    problem = build([filter_job(1e6)], filter_cluster(1e6))
    at_pis = assess(problem, np.array([0, 1, 2, 3, 0, 1, 2, 3, 4])).wan_cost
    for name in ("local-search", "tabu", "odp", "textbook"):
        found = PUBLISHED[name](problem, Budget())
        assert assess(problem, found.assignment).wan_cost == pytest.approx(at_pis), name
        if name in EXACT:
            assert found.bound == pytest.approx(at_pis), name


def placed(name, job, cluster, rules=None):
    problem = build([job], cluster, rules)
    found = PUBLISHED[name](problem, Budget())
    return problem.plan(found.assignment).jobs[job.name]


def test_bottom_up_stays_at_the_input_while_there_is_room():
    with_slack = placed("nes-bottom-up", filter_job(1e6), filter_cluster())
    assert with_slack["filter"] == ("pi-0", "pi-1", "pi-2", "pi-3")
    assert with_slack["sink"] == ("server",)
    full = placed("nes-bottom-up", filter_job(1e6), with_slots(filter_cluster(), 1))
    assert full["filter"] == ("server",) * 4


def test_top_down_stays_at_the_consumer_while_there_is_room():
    with_slack = placed("nes-top-down", filter_job(1e6), filter_cluster())
    assert with_slack["filter"] == ("server",) * 4
    full = placed("nes-top-down", filter_job(1e6), with_slots(filter_cluster(), 2, server=3))
    assert full["filter"] == ("pi-0", "pi-1", "server", "server")


def test_nebulastream_s_ilp_trades_bytes_for_slots_it_does_not_have():
    # Filters at the Pis save 18 kB/s of 62.5 kB/s each, less than a slot used beyond is charged.
    with_slack = placed("nes-ilp", filter_job(1e6), filter_cluster())
    assert with_slack["filter"] == ("pi-0", "pi-1", "pi-2", "pi-3")
    full = placed("nes-ilp", filter_job(1e6), with_slots(filter_cluster(), 1))
    assert full["filter"] == ("server",) * 4
    slow = with_slots(filter_cluster(bandwidth_bytes_per_s=6_250.0), 1)
    assert placed("nes-ilp", filter_job(1e6), slow)["filter"] == ("pi-0", "pi-1", "pi-2", "pi-3")


def test_span_edge_splits_local_from_global():
    plan = placed("span-edge", filter_job(1e6), filter_cluster())
    assert plan["filter"] == ("pi-0", "pi-1", "pi-2", "pi-3")
    # From the server every Pi is 20 ms away, from a Pi the others are 40 ms away.
    assert plan["sink"] == ("server",)


def test_greedy_first_fit_takes_the_first_of_the_list_that_has_room():
    cluster = with_slots(filter_cluster(1e6), 4, server=2)
    plan = placed("greedy-first-fit", filter_job(1e6), cluster)
    assert plan["filter"][:2] == ("server", "server")
    assert plan["filter"][2:] == ("pi-0", "pi-0")


def test_local_search_mends_what_greedy_broke():
    # The filter doubles its input, so it costs least in the cloud. First-fit gives it both slots
    # there, and the sink, which comes last and must run there, has none.
    job = filter_job(1e6)
    source, doubles, sink = job.operators
    doubles = doubles.model_copy(
        update={"cost": doubles.cost.model_copy(update={"selectivity": 2.0})}
    )
    job = job.model_copy(update={"operators": (source, doubles, sink)})
    cluster = with_slots(filter_cluster(1e6), 4, server=1)
    second = TaskManager(id="server-2", node="server", slots=1)
    cluster = cluster.model_copy(update={"task_managers": (*cluster.task_managers, second)})
    problem = build([job], cluster, Rules(rules=(Pin(operators=("sink",), to="cloud"),)))
    greedy, mended = (
        assess(problem, PUBLISHED[name](problem, Budget()).assignment)
        for name in ("greedy-first-fit", "local-search")
    )
    assert [v.kind for v in greedy.violations] == ["slots"]
    assert mended.feasible


def fits_slots(problem, assignment):
    return all(t.shortfall == 0 for t in assess(problem, assignment).task_managers)


def with_slots(cluster, pi, server=16):
    slots = {t.id: server if t.id == "server" else pi for t in cluster.task_managers}
    return cluster.model_copy(
        update={
            "task_managers": tuple(
                t.model_copy(update={"slots": slots[t.id]}) for t in cluster.task_managers
            )
        }
    )


def balancing(loads, parallelism, workers, strategy):
    """A chain of operators, or lone ones without a strategy, on like workers of one site."""
    operators = tuple(
        Operator(
            id=f"o{i}",
            name=f"o{i}",
            parallelism=parallelism,
            slot_sharing_group=f"o{i}",
            born_at=("anywhere",) if i == 0 or strategy is None else (),
            cost=OperatorCost(
                operator=f"o{i}",
                classes=(
                    ClassCost(node_class="default", true_rate_per_s=1e6, cpu_ms_per_record=load),
                ),
                demand=SourceDemand(rates_per_s=(1.0,)) if i == 0 or strategy is None else None,
                checkpointed_bytes=10.0 * load * load,
            ),
        )
        for i, load in enumerate(loads)
    )
    streams = tuple(
        stream(a.id, b.id, strategy, 100.0 * loads[i], selectivity=1.0)
        for i, (a, b) in enumerate(itertools.pairwise(operators))
        if strategy is not None
    )
    nodes = tuple(Node(id=f"n{i}", site="s", cores=1) for i in range(workers))
    tms = tuple(TaskManager(id=n.id, node=n.id, slots=2 * parallelism) for n in nodes)
    job = JobGraph(name="job", operators=operators, streams=streams, checkpoint_interval_ms=1000.0)
    return build([job], Cluster(sites=(Site(id="s"),), nodes=nodes, task_managers=tms))
