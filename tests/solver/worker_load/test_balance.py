"""`balance` against brute force, CAPS and plans that are known to be best."""

import itertools
import math
import os
import signal
import threading
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from edgeplace.model import (
    ClassCost,
    Cluster,
    InvalidInputError,
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
from edgeplace.solver.baselines import Budget
from edgeplace.solver.baselines.caps import caps
from edgeplace.solver.baselines.caps_load import largest_load, worker_loads
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from edgeplace.solver.worker_load import balance, decide
from edgeplace.solver.worker_load.annealing import Exchanges, exchanged, spread
from edgeplace.solver.worker_load.cpsat_model import LoadModel
from edgeplace.solver.worker_load.loads import Loads
from edgeplace.solver.worker_load.pattern_bound import bound_by_patterns
from edgeplace.solver.worker_load.symmetry import Kinds
from tests.support.seeds import cost, operator, stream
from tests.support.strategies import instances

EXAMPLES = int(os.environ.get("EDGEPLACE_PROOFS", "25"))
some = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
READINGS = st.sampled_from(["flink", "caps"])
STRATEGIES = [ShipStrategy.FORWARD, ShipStrategy.RESCALE, ShipStrategy.HASH, ShipStrategy.REBALANCE]


def like_workers(number, slots):
    return Cluster(
        sites=(Site(id="s"),),
        nodes=tuple(Node(id=f"n{i}", site="s", cores=1) for i in range(number)),
        task_managers=tuple(
            TaskManager(id=f"n{i}", node=f"n{i}", slots=slots) for i in range(number)
        ),
    )


def row(loads, parallelism, strategies, shared=False, rate=1.0):
    """Operators in a row; load and parallelism of each, and the ship strategies between them."""
    operators = tuple(
        Operator(
            id=f"o{i}",
            name=f"o{i}",
            parallelism=parallelism[i],
            slot_sharing_group="all" if shared else f"o{i}",
            born_at=("anywhere",) if i == 0 else (),
            cost=OperatorCost(
                operator=f"o{i}",
                classes=(
                    ClassCost(
                        node_class="default", true_rate_per_s=1e6, cpu_ms_per_record=load or 1e-3
                    ),
                ),
                demand=SourceDemand(rates_per_s=(rate,) * parallelism[0]) if i == 0 else None,
                checkpointed_bytes=10.0 * load * load,
            ),
        )
        for i, load in enumerate(loads)
    )
    streams = tuple(
        stream(
            a.id,
            b.id,
            ShipStrategy.RESCALE
            if s is ShipStrategy.FORWARD and a.parallelism != b.parallelism
            else s,
            100.0 * loads[i] + 50.0,
            selectivity=1.0,
        )
        for i, ((a, b), s) in enumerate(zip(itertools.pairwise(operators), strategies, strict=True))
    )
    return JobGraph(name="job", operators=operators, streams=streams, checkpoint_interval_ms=1000.0)


@st.composite
def rows(draw, most_operators=3, most_parallelism=3, most_workers=3):
    """Rows of operators on like workers, so small that all plans can be tried."""
    n = draw(st.integers(1, most_operators))
    loads = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    wide = draw(st.lists(st.integers(1, most_parallelism), min_size=n, max_size=n))
    ships = draw(st.lists(st.sampled_from(STRATEGIES), min_size=n - 1, max_size=n - 1))
    job = row(loads, wide, ships, shared=draw(st.booleans()))
    workers = draw(st.integers(1, most_workers))
    return build([job], like_workers(workers, draw(st.integers(1, sum(wide)))))


def every_plan(problem):
    places = [np.flatnonzero(own) for own in problem.allowed()]
    for places_of_all in itertools.product(*places):
        assignment = np.array(places_of_all)
        if (measure_usage(problem, assignment).slots <= problem.tms.slots).all():
            yield assignment


def least(problem, reading="flink"):
    return min((largest_load(problem, a, reading) for a in every_plan(problem)), default=math.inf)


def confirm(problem, found, best, reading="flink"):
    assert found.proved
    assert found.bound <= best * (1 + 1e-12) + 1e-12
    if best == math.inf:
        assert found.assignment is None
        return
    assert found.value == pytest.approx(best, rel=1e-6, abs=2e-9)
    assert found.value == largest_load(problem, found.assignment, reading)
    assert (measure_usage(problem, found.assignment).slots <= problem.tms.slots).all()
    assert problem.allowed()[np.arange(problem.n), found.assignment].all()


@pytest.mark.slow
@some
@given(problem=rows(most_operators=4, most_parallelism=2), reading=READINGS)
def test_alike_workers_are_balanced_as_by_brute_force(problem, reading):
    confirm(problem, decide(problem, reading=reading), least(problem, reading), reading)


@pytest.mark.parametrize(
    ("loads", "wide", "ships", "shared", "slots"),
    [
        # CP-SAT branched on the steps of the largest load for ever.
        ([2, 3, 5, 7], [2, 1, 2, 2], ["FORWARD", "HASH", "REBALANCE"], False, 7),
        ([0, 9, 4, 2], [2, 2, 2, 2], ["HASH", "HASH", "FORWARD"], True, 8),
        ([6, 6, 0, 7], [1, 2, 2, 2], ["HASH", "REBALANCE", "REBALANCE"], True, 6),
    ],
)
def test_a_search_without_a_limit_ends(loads, wide, ships, shared, slots):
    job = row(loads, wide, [ShipStrategy(s) for s in ships], shared)
    problem = build([job], like_workers(2, slots))
    confirm(problem, decide(problem, reading="caps"), least(problem, "caps"), "caps")


@pytest.mark.slow
@some
@given(instance=instances())
def test_unlike_workers_and_rules_of_place_too(instance):
    job, cluster, rules, current = instance
    problem = build([job], cluster, rules, Plan(jobs={job.name: current}) if current else None)
    confirm(problem, decide(problem), least(problem))


@some
@given(problem=rows(), seed=st.integers(0, 99), reading=READINGS)
def test_counts_say_all_of_the_loads(problem, seed, reading):
    # Any counts, dealt out, load as the counts say: the best of all ways to deal them.
    kinds = Kinds.find(problem, reading)
    loads = Loads.of(kinds)
    drawn = np.random.default_rng(seed).integers(0, problem.m, problem.n)
    count = kinds.counted(drawn)
    dealt = kinds.dealt(count)
    assert (kinds.counted(dealt) == count).all()
    said = loads.of_all(count).max()
    assert said == pytest.approx(largest_load(problem, dealt, reading), abs=1e-9)
    assert said <= largest_load(problem, drawn, reading) + 1e-9
    slots = measure_usage(problem, dealt).slots
    assert (loads.slots(count.T) == slots).all()


@some
@given(
    problem=rows(most_operators=4, most_parallelism=9, most_workers=4),
    seed=st.integers(0, 99),
    reading=READINGS,
)
def test_whole_numbers_say_the_same_but_for_a_rounding_down(problem, seed, reading):
    kinds = Kinds.find(problem, reading)
    loads = Loads.of(kinds)
    drawn = np.random.default_rng(seed).integers(0, problem.m, problem.n)
    count = kinds.counted(drawn)
    for w in range(problem.m):
        full = LoadModel(loads, [w])
        for row_, number in zip(full.count, count[:, w].tolist(), strict=True):
            full.model.add(row_[0] == number)
        full.model.minimize(full.limit)
        solver, status = full.solve(0, math.inf)
        fits = bool(loads.fit(count[None, :, w], w)[0])
        assert (status == cp_model.OPTIMAL) == fits
        if fits:
            said = float(loads.of_worker(count[:, w], w))
            assert said - 1e-7 <= full.load(solver.objective_value) <= said + 1e-12


@pytest.mark.slow
@some
@given(problem=rows(most_workers=3))
def test_patterns_never_prove_too_much(problem):
    best = least(problem)
    if best == math.inf:
        return
    loads = Loads.of(Kinds.find(problem))
    start = spread(loads, math.inf)
    if start is None:
        return
    _, patterns = exchanged(loads, start, 0, math.inf)
    # As if a plan twice as loaded were all that is known.
    found = bound_by_patterns(loads, 2 * best + 0.1, patterns, 1e-7, 0, math.inf)
    assert found.bound <= best * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@settings(some, max_examples=10)
@given(
    loads=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    wide=st.lists(st.integers(1, 6), min_size=4, max_size=4),
    ships=st.lists(st.sampled_from(STRATEGIES), min_size=3, max_size=3),
    workers=st.integers(2, 5),
    reading=READINGS,
)
def test_never_worse_than_caps(loads, wide, ships, workers, reading):
    n = len(loads)
    job = row(loads, wide[:n], ships[: n - 1])
    problem = build([job], like_workers(workers, -(-sum(wide[:n]) // workers)))
    theirs = caps(problem, Budget(time_limit_s=2), reading).assignment
    found = decide(problem, 5, reading=reading)
    assert found.bound <= found.value
    if theirs is not None:
        most = largest_load(problem, theirs, reading)
        assert found.value <= most * (1 + 1e-6) + 1e-9


def narrowing():
    """FORWARD from five to three to two: Flink's RESCALE, so uneven subtasks."""
    ships = [ShipStrategy.REBALANCE, ShipStrategy.RESCALE, ShipStrategy.RESCALE]
    return row([8, 8, 7, 4], [3, 5, 3, 2], ships)


def test_the_best_by_one_reading_is_not_the_best_by_the_other():
    problem = build([narrowing()], like_workers(3, 5))
    found = {r: decide(problem, 20, reading=r).assignment for r in ("flink", "caps")}
    for own, other in (("flink", "caps"), ("caps", "flink")):
        best = largest_load(problem, found[own], own)
        assert best < 0.99 * largest_load(problem, found[other], own)
        theirs = caps(problem, Budget(), own).assignment
        assert best <= largest_load(problem, theirs, own) + 1e-9


def test_caps_own_weights_are_those_of_its_formulas():
    ships = [ShipStrategy.RESCALE, ShipStrategy.REBALANCE]
    problem = build([row([2, 3, 1], [3, 2, 2], ships)], like_workers(2, 7))
    # Worker 0 has 2 of 3, 0 of 2 and 1 of 2 tasks, worker 1 the others.
    assignment = np.array([0, 0, 1, 1, 1, 0, 1])
    bytes_of = [problem.channels.bytes_per_s[problem.channels.source == k].sum() for k in range(5)]
    first, second = sum(bytes_of[:3]) / 3, sum(bytes_of[3:]) / 2
    compute, state, network = worker_loads(problem, assignment, "caps").T
    assert network == pytest.approx([2 * first, 2 * second * (1 - 1 / 2)])
    # By Flink's channels one of the two takes the records of two senders.
    cores = problem.work.cores[:, 0] / problem.tms.node_cores[0]
    assert cores[3] != pytest.approx(cores[4])
    even = [cores[:3].mean(), cores[3:5].mean(), cores[5:].mean()]
    assert compute == pytest.approx([np.dot([2, 0, 1], even), np.dot([1, 2, 1], even)])
    assert state.sum() == pytest.approx(problem.footprint.checkpoint_bytes_per_s.sum())


def test_caps_own_weights_know_no_subtasks_that_are_told_apart():
    pinned = Rules(rules=(Pin(operators=("o1",), subtasks=(0,), to="n0"),))
    with pytest.raises(InvalidInputError, match="may run at unlike places"):
        balance(narrowing(), like_workers(4, 8), pinned, reading="caps")


@pytest.mark.slow
def test_a_planted_optimum_of_many_subtasks_is_proved():
    # Lone operators, as many subtasks of each as there are workers: one of each is even.
    loads = [1, 3, 7, 2]
    job = row(loads, [60] * 4, [ShipStrategy.REBALANCE] * 3)
    silent = job.model_copy(
        update={
            "streams": tuple(
                s.model_copy(update={"cost": s.cost.model_copy(update={"bytes_per_record": 0.0})})
                for s in job.streams
            )
        }
    )
    found = decide(build([silent], like_workers(12, 20)))
    assert found.proved
    assert found.value == pytest.approx(0.0, abs=1e-9)


def test_one_worker_has_everything():
    found = decide(build([row([1, 2], [2, 3], [ShipStrategy.HASH])], like_workers(1, 5)))
    assert found.proved
    assert found.assignment.tolist() == [0] * 5


def test_no_load_at_all_is_balanced():
    job = row([0, 0], [4, 4], [ShipStrategy.FORWARD], rate=0.0)
    found = decide(build([job], like_workers(2, 8)))
    assert found.proved
    assert found.value == 0.0


def test_too_few_slots_are_proved_to_be_too_few():
    found = balance(row([1, 2], [2, 3], [ShipStrategy.HASH]), like_workers(2, 2))
    assert found.plan is None
    assert found.evaluation is None
    assert found.bound == math.inf
    assert found.proved


def test_partners_of_a_rescaled_stream_stay_together():
    # Three hubs with two leaves each on three workers: nothing need be sent.
    job = row([5, 5], [3, 6], [ShipStrategy.RESCALE])
    problem = build([job], like_workers(3, 3))
    found = decide(problem)
    assert found.proved
    assert found.value == pytest.approx(0.0, abs=1e-9)
    a, b = problem.channels.feeding
    assert (found.assignment[a] == found.assignment[b]).all()


def test_a_plan_is_evaluated_and_a_pin_is_kept():
    job = row([1, 2, 3], [2, 2, 2], [ShipStrategy.HASH] * 2)
    rules = Rules(rules=(Pin(operators=("o1",), to="n2"),))
    found = balance(job, like_workers(3, 2), rules)
    assert found.proved
    assert found.plan.jobs["job"]["o1"] == ("n2", "n2")
    assert found.evaluation.feasible
    assert found.bound == pytest.approx(found.largest_load, rel=1e-6)


def test_a_negative_time_is_refused():
    with pytest.raises(InvalidInputError, match="time limit"):
        balance(row([1], [1], []), like_workers(1, 1), time_limit_s=-1.0)


def test_without_time_there_is_a_plan_or_none_and_never_a_false_proof():
    problem = build([row([4, 3, 2], [5, 4, 3], [ShipStrategy.HASH] * 2)], like_workers(3, 4))
    found = decide(problem, 0.0)
    assert found.bound <= decide(problem).value
    assert not found.proved or found.value == pytest.approx(decide(problem).value)


def test_what_comes_late_goes_where_slots_are_free():
    problem = build([row([4, 3, 2], [5, 4, 3], [ShipStrategy.HASH] * 2)], like_workers(3, 4))
    loads = Loads.of(Kinds.find(problem))
    count = spread(loads, deadline=0.0)
    assert (count.sum(axis=1) == loads.kinds.size).all()
    assert loads.slots(count.T).tolist() == [4, 4, 4]


def test_two_streams_in_stars_that_cross_are_told_apart():
    # Four readers in pairs behind two sources, and in threes and ones behind another: no tree.
    a, b, c = (
        operator(
            name,
            width,
            cost(name, 1e3, 1e3, demand=SourceDemand(rates_per_s=(1.0,)) if name != "c" else None),
            **({"born_at": ("anywhere",)} if name != "c" else {}),
        )
        for name, width in (("a", 2), ("b", 3), ("c", 6))
    )
    job = JobGraph(
        name="job",
        operators=(a, b, c),
        streams=(
            stream("a", "c", ShipStrategy.RESCALE, 100.0, selectivity=1.0),
            stream("b", "c", ShipStrategy.RESCALE, 70.0, selectivity=1.0),
        ),
    )
    nodes = tuple(Node(id=f"n{i}", site="s", cores=1, node_class="pi") for i in range(2))
    tms = tuple(TaskManager(id=n.id, node=n.id, slots=6) for n in nodes)
    problem = build([job], Cluster(sites=(Site(id="s"),), nodes=nodes, task_managers=tms))
    confirm(problem, decide(problem), least(problem))


@pytest.mark.parametrize("selectivity", [0.0, 0.1])
def test_only_the_channels_of_a_star_say_which_partners_stay_together(selectivity):
    # A second stream between the two operators, a side output say, joins them all to all.
    job = row([5, 5], [3, 6], [ShipStrategy.RESCALE])
    side = stream("o0", "o1", ShipStrategy.HASH, 100.0, selectivity=selectivity)
    job = job.model_copy(update={"streams": (side, *job.streams)})
    problem = build([job], like_workers(2, 5))
    confirm(problem, decide(problem), least(problem))


def lone(cpu_ms, checkpointed):
    """Operators of one subtask without streams."""
    operators = tuple(
        operator(
            f"o{i}",
            1,
            OperatorCost(
                operator=f"o{i}",
                classes=(
                    ClassCost(node_class="default", true_rate_per_s=1e6, cpu_ms_per_record=ms),
                ),
                demand=SourceDemand(rates_per_s=(1.0,)),
                checkpointed_bytes=state,
            ),
            born_at=("anywhere",),
        )
        for i, (ms, state) in enumerate(zip(cpu_ms, checkpointed, strict=True))
    )
    return JobGraph(name="job", operators=operators, checkpoint_interval_ms=1000.0)


@pytest.mark.slow
@some
@given(steps=st.lists(st.integers(0, 9), min_size=6, max_size=6), digits=st.floats(4.0, 12.0))
def test_subtasks_that_load_nearly_the_same_are_balanced(steps, digits):
    # The slots are just enough: an even share and the most that fits one worker differ by little.
    cpu_ms = [1.0 + step * 10.0**-digits for step in steps]
    problem = build([lone(cpu_ms, cpu_ms[::-1])], like_workers(2, 3))
    found = decide(problem)
    best = least(problem)
    assert found.bound <= best + 1e-8
    assert found.value == pytest.approx(best, rel=1e-6, abs=1e-7)


def test_loads_as_small_as_numbers_get_are_no_loads():
    problem = build([lone([1.0, 2.0, 3.0], [1e-320, 2e-320, 5e-320])], like_workers(2, 2))
    confirm(problem, decide(problem), least(problem))


def test_slots_without_end_are_as_many_as_there_are_subtasks():
    job = row([3, 2], [3, 2], [ShipStrategy.HASH], shared=True)
    found = decide(build([job], like_workers(2, 10**15)))
    assert found.proved
    assert found.value == decide(build([job], like_workers(2, 5))).value


@pytest.mark.slow
def test_exchanges_between_many_kinds_take_no_memory_for_all_pairs_of_them():
    # Four subtasks a worker: 24 exchanges at a time, and not 40,200.
    job = lone(range(1, 201), range(1, 201))
    loads = Loads.of(Kinds.find(build([job], like_workers(50, 4))))
    start = spread(loads, math.inf)
    tracemalloc.start()
    with patch("edgeplace.solver.worker_load.annealing._MOST_STEPS", 20):
        exchanged(loads, start, 0, math.inf)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 200 * 40_200 / 10


@given(counts=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6))
def test_exchanges_are_the_same_whether_kept_or_made(counts):
    mine, theirs = np.array(counts).T
    kept = Exchanges(len(counts)).between(mine, theirs)
    with patch("edgeplace.solver.worker_load.annealing._FEW_KINDS", 0):
        made = Exchanges(len(counts)).between(mine, theirs)
    assert sorted(kept.tolist()) == sorted(made.tolist())
    assert len(made) == len(np.unique(made, axis=0))


def test_ctrl_c_ends_the_search_of_cp_sat(python_handles_ctrl_c):
    # Far from proved when it is pressed; CP-SAT itself would take it for the end of its time.
    job = row([9, 7, 5, 3], [40] * 4, [ShipStrategy.HASH] * 3)
    loads = Loads.of(Kinds.find(build([job], like_workers(8, 20))))
    full = LoadModel(loads, range(8))
    for own, size in zip(full.count, loads.kinds.size.tolist(), strict=True):
        full.model.add(sum(own) == size)
    full.model.minimize(full.limit)
    main = threading.main_thread().ident
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        full.solve(0, math.inf)
