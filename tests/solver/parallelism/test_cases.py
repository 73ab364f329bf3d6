"""Parallelism and place together, on cases with a known answer."""

import pytest

from edgeplace.model import (
    Case,
    ClassCost,
    Cluster,
    Colocate,
    Costs,
    InvalidInputError,
    JobGraph,
    Link,
    NeverMove,
    Node,
    Operator,
    OperatorCost,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    Stream,
    StreamCost,
    TaskManager,
)
from edgeplace.model.what_if.parallelism import with_costs_of_another
from edgeplace.solver import evaluate, solve


def operator(name, n, rate=None, true_rate=100.0, **more):
    cost = OperatorCost(
        operator=name,
        classes=(ClassCost(node_class="default", true_rate_per_s=true_rate),),
        selectivity=None if rate else 1.0,
        demand=SourceDemand(rates_per_s=(rate / n,) * n) if rate else None,
    )
    born = ("edge",) if rate else ()
    return Operator(id=name, name=name, parallelism=n, cost=cost, born_at=born, **more)


def stream(source, target, strategy, shares=None, size=10.0):
    cost = StreamCost(source=source, target=target, bytes_per_record=size, shares=shares)
    return Stream(source=source, target=target, ship_strategy=ShipStrategy(strategy), cost=cost)


def cluster(slots=8, edge_slots=2, cores=64.0):
    return Cluster(
        sites=(Site(id="edge"), Site(id="hub", tier="cloud")),
        nodes=(Node(id="pi", site="edge", cores=4), Node(id="server", site="hub", cores=cores)),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=edge_slots),
            TaskManager(id="server", node="server", slots=slots),
        ),
        links=(Link(source="edge", target="hub", delay_ms=10, both_ways=True),),
        cpu_target=1.0,
    )


def job(window=2, true_rate=100.0, rate=200.0, **more):
    """source -HASH-> window -FORWARD-> sink"""
    return JobGraph(
        name="job",
        operators=(
            operator("source", 2, rate=rate, true_rate=1e6),
            operator("window", window, true_rate=true_rate, **more),
            operator("sink", window, true_rate=1e6, **more),
        ),
        streams=(stream("source", "window", "HASH"), stream("window", "sink", "FORWARD")),
    )


def chosen(result, name="job"):
    return result.chosen.parallelism[name]


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_operators_joined_by_forward_change_together(backend):
    result = solve(
        job(),
        cluster(),
        objective=("latency",),
        parallelism={"window": range(2, 5)},
        backend=backend,
    )
    assert result.status is Status.OPTIMAL
    assert chosen(result)["window"] == chosen(result)["sink"]
    assert len(result.plan.of("job")["window"]) == chosen(result)["window"]
    assert result.chosen.vectors == 3
    assert result.chosen.open == 0


def test_more_subtasks_are_taken_where_a_thread_cannot_keep_up():
    # 450 records/s at 100 a thread: five subtasks at least, and with 128 key groups of which
    # the largest subtask of five has 26, six.
    assert solve(job(rate=450.0), cluster()).status is Status.INFEASIBLE
    result = solve(job(rate=450.0), cluster(), parallelism={"window": range(1, 9)})
    assert result.status is Status.OPTIMAL
    skewed = solve(job(rate=495.0), cluster(), parallelism={"window": (5,)})
    assert skewed.status is Status.INFEASIBLE
    even = solve(job(rate=495.0), cluster(), parallelism={"window": range(1, 9)})
    assert chosen(even)["window"] >= 6


def test_fewer_subtasks_are_taken_where_slots_are_few():
    tight = cluster(slots=1, edge_slots=2)
    wide = job(window=4, rate=50.0)
    assert solve(wide, tight).status is Status.INFEASIBLE
    result = solve(wide, tight, parallelism={"window": range(1, 9)})
    assert result.status is Status.OPTIMAL
    assert chosen(result)["window"] <= 3


def test_if_no_parallelism_helps_the_conflict_says_so():
    result = solve(job(rate=5000.0), cluster(), parallelism={"window": range(1, 9)})
    assert result.status is Status.INFEASIBLE
    assert result.plan is None
    assert result.conflict is not None
    assert any(
        note.startswith("no parallelism asked for helps: none of the 8 has a plan, proved")
        for note in result.notes
    )


def test_all_stands_for_every_operator_but_sources():
    result = solve(job(), cluster(), objective=("wan",), parallelism="all")
    assert result.status is Status.OPTIMAL
    assert set(chosen(result)) == {"window", "sink"}
    assert any("source keeps 2: it is a source" in note for note in result.notes)
    limited = solve(job(), cluster(), objective=("wan",), parallelism={"all": range(1, 5)})
    assert limited.chosen.vectors == 4


def test_of_equal_answers_the_parallelism_that_runs_is_kept():
    result = solve(job(window=3), cluster(edge_slots=8), objective=("wan",), parallelism="all")
    assert chosen(result)["window"] == 3


def test_it_is_never_worse_than_what_runs():
    now = Plan(jobs={"job": {o: ("pi",) * 2 for o in ("source", "window", "sink")}})
    result = solve(job(), cluster(), current=now, parallelism={"window": range(1, 5)})
    before = evaluate(job(), cluster(), now)
    assert result.evaluation.wan_cost <= before.wan_cost
    assert result.evaluation.moves == 0


def test_two_jobs_are_decided_together():
    first, second = job(rate=450.0), job().model_copy(update={"name": "other"})
    result = solve(
        [first, second.revised(operators=_renamed(second), streams=_restreamed(second))],
        cluster(slots=16, edge_slots=8),
        objective=("wan",),
        parallelism={"window": range(1, 9)},
    )
    assert result.status is Status.OPTIMAL
    assert set(result.chosen.parallelism) == {"job"}


def _renamed(graph):
    return tuple(
        op.model_copy(update={"id": f"{op.id}-2", "name": f"{op.name}-2", "cost": None}).model_copy(
            update={"cost": op.cost.model_copy(update={"operator": f"{op.id}-2"})}
        )
        for op in graph.operators
    )


def _restreamed(graph):
    return tuple(
        stream(f"{s.source}-2", f"{s.target}-2", s.ship_strategy.value) for s in graph.streams
    )


def test_side_outputs_take_the_parallelism_of_their_consumer():
    graph = job()
    late = operator("late", 1, true_rate=1e6)
    aside = graph.revised(
        operators=(*graph.operators, late),
        streams=(
            stream("source", "window", "HASH"),
            Stream(
                source="window",
                target="sink",
                ship_strategy=ShipStrategy.FORWARD,
                cost=StreamCost(
                    source="window", target="sink", selectivity=0.9, bytes_per_record=10
                ),
            ),
            Stream(
                source="window",
                target="late",
                ship_strategy=ShipStrategy.REBALANCE,
                cost=StreamCost(
                    source="window", target="late", selectivity=0.1, bytes_per_record=10
                ),
            ),
        ),
    )
    result = solve(aside, cluster(), parallelism={"window": (2, 3), "late": (1, 2)})
    assert result.status is Status.OPTIMAL
    assert result.chosen.vectors == 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"window": (0, 1)}, "0"),
        ({"window": ()}, "nothing"),
        ({"window": (200,)}, "128 key groups"),
        ({"source": (1, 2)}, "it is a source"),
        ({"window": (1, 2), "sink": (2, 3)}, "have one parallelism"),
        ({"nobody": (1,)}, "nobody"),
        ({}, "names no operator"),
        ("some", "names no operator"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(asked, said):
    with pytest.raises(InvalidInputError, match=said):
        solve(job(), cluster(), parallelism=asked)


def test_rules_that_keep_subtasks_refuse_another_parallelism():
    now = Plan(jobs={"job": {o: ("pi",) * 2 for o in ("source", "window", "sink")}})
    held = Rules(rules=(NeverMove(operators=("sink",)),))
    with pytest.raises(InvalidInputError, match="never_move sink"):
        solve(job(), cluster(), held, current=now, parallelism={"window": (1, 2)})


def test_pins_of_single_subtasks_are_mapped_by_key_group_or_left_out_with_the_reason():
    pinned = Rules(rules=(Pin(operators=("window",), subtasks=(0,), to="pi"),))
    result = solve(job(), cluster(edge_slots=4), pinned, parallelism={"window": (2, 3, 4)})
    assert result.chosen.vectors == 2
    assert any("not tried with 3" in note and "key groups" in note for note in result.notes)
    four = solve(job(), cluster(edge_slots=4), pinned, parallelism={"window": (4,)})
    assert four.plan.of("job")["window"][:2] == ("pi", "pi")


def test_colocated_operators_change_together():
    rules = Rules(rules=(Colocate(operators=("window", "late"), level="site"),))
    graph = job()
    both = graph.revised(
        operators=(*graph.operators, operator("late", 2, true_rate=1e6)),
        streams=(*graph.streams, stream("sink", "late", "REBALANCE")),
    )
    result = solve(both, cluster(), rules, parallelism={"window": (1, 2, 3)})
    assert len({chosen(result)[o] for o in ("window", "sink", "late")}) == 1


def test_measured_shares_are_mapped_by_key_group():
    graph = job()
    shared = graph.revised(
        streams=(stream("source", "window", "HASH", shares=(0.75, 0.25)), graph.streams[1])
    )
    case = Case((shared,), cluster())
    four = case.with_parallelism({"job": {"window": 4, "sink": 4}})
    assert four.jobs[0].streams[0].cost.shares == pytest.approx((0.375, 0.375, 0.125, 0.125))
    three = case.with_parallelism({"job": {"window": 3, "sink": 3}})
    # 43 of the first subtask's 64 key groups, 21 of these and 22 of the other's, and 42.
    assert three.jobs[0].streams[0].cost.shares == pytest.approx(
        (0.75 * 43 / 64, 0.75 * 21 / 64 + 0.25 * 22 / 64, 0.25 * 42 / 64)
    )
    assert case.in_parallelism_of(Plan(jobs={"job": {"window": ("pi",) * 2}})) is case


def test_shares_that_are_not_by_key_refuse_another_parallelism():
    graph = job()
    custom = graph.revised(
        streams=(stream("source", "window", "CUSTOM", shares=(0.75, 0.25)), graph.streams[1])
    )
    with pytest.raises(InvalidInputError, match="known by subtask, and not by key group"):
        solve(custom, cluster(), parallelism={"window": (1, 2, 3)})


def test_a_time_limit_of_nothing_leaves_an_answer_without_a_proof():
    result = solve(job(), cluster(), parallelism="all", time_limit_s=0)
    assert result.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert result.chosen.open > 0


def test_costs_measured_in_another_parallelism_are_mapped_by_key_group():
    """Costs of two windows, the first with three quarters of the records; now four run."""
    running = job(window=4)
    shares = tuple(op.model_copy(update={"cost": None}) for op in running.operators)
    bare = running.model_copy(update={"operators": shares})
    measured = Costs(
        job="job",
        operators=tuple(op.cost for op in job(window=2).operators),
        streams=(
            StreamCost(source="source", target="window", bytes_per_record=10, shares=(0.75, 0.25)),
            StreamCost(source="window", target="sink", bytes_per_record=10),
        ),
    )
    found = with_costs_of_another(bare, measured)
    assert [op.parallelism for op in found.operators] == [2, 4, 4]
    assert found.streams[0].cost.shares == pytest.approx((0.375, 0.375, 0.125, 0.125))
    same = with_costs_of_another(bare, measured.model_copy(update={"streams": ()}))
    assert same == bare.with_costs(measured.model_copy(update={"streams": ()}))
