"""What `solve` promises, on instances small enough to reason about."""

import time
from unittest.mock import patch

import pytest

from edgeplace.model import (
    ClassCost,
    InvalidInputError,
    Link,
    Node,
    Pin,
    Plan,
    Rules,
    Site,
    Status,
    StoppedBy,
    TaskManager,
)
from edgeplace.solver import SearchParameters, assumptions, evaluate, policies, solve, why
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.search.stages import aggregated, exact
from tests.support.seeds import cost, filter_cluster, filter_job, one_site, two_operators

BACKENDS = ("milp", "cp-sat", "pulp:CBC")


@pytest.mark.parametrize("bandwidth", [12_500.0, 62_500.0, 1_250_000.0])
@pytest.mark.parametrize("backend", BACKENDS)
def test_moving_the_filter_to_the_pis_raises_headroom_by_one_over_its_selectivity(
    bandwidth, backend
):
    # Measured by the flink-placement project: 1.41 to 1.43 at every bandwidth.
    job = filter_job(pi_rate_per_s=50_000.0)
    cluster = filter_cluster(bandwidth)
    result = solve(job, cluster, objective=("throughput", "wan"), backend=backend)
    others = {p.name: p.evaluation for p in policies(job, cluster)}
    assert result.status is Status.OPTIMAL
    assert all(tm.startswith("pi-") for tm in result.plan.of("filter")["filter"])
    gain = result.evaluation.headroom / others["all-server"].headroom
    assert gain == pytest.approx(1.43, abs=0.01)
    assert result.evaluation.binding.kind == "link bandwidth"


def test_a_slow_filter_makes_the_pi_cpu_bind():
    job = filter_job(pi_rate_per_s=769.0)
    result = solve(job, filter_cluster(125_000.0), objective=("wan", "throughput"))
    found = result.evaluation
    assert all(tm.startswith("pi-") for tm in result.plan.of("filter")["filter"])
    assert found.binding.kind in ("subtask busy", "node cpu")
    assert "pi-" in found.binding.where


def test_throughput_first_answers_an_overload_with_the_share_that_is_sustained():
    job = filter_job(pi_rate_per_s=50_000.0, demand_per_s=5000.0)
    assert solve(job, filter_cluster()).status is Status.INFEASIBLE
    result = solve(job, filter_cluster(), objective=("throughput",))
    assert result.status is Status.OPTIMAL
    assert result.evaluation.headroom == pytest.approx(50_000 / (5000 * 0.7 * 100))


@pytest.mark.parametrize(("bandwidth", "share"), [(10e3, 1.0), (5e3, 0.5)])
def test_throughput_that_runs_out_of_time_sustains_what_plans_for_wan_do(bandwidth, share):
    # With the filter at the Pis, each sends 6 kB/s. Of 8 kB/s that is less; of 4 kB/s it is more,
    # and half of it is less.
    def out_of_time(run):
        def instead(state):
            if state.task.levels[0].name == "throughput":
                raise OutOfTimeError("the time limit is over")
            return run(state)

        return instead

    job, cluster = filter_job(50_000.0), filter_cluster(bandwidth)
    source, keeps, sink = job.operators
    keeps = keeps.model_copy(update={"cost": cost("filter", 50_000.0, 200_000.0, selectivity=0.1)})
    job = job.revised(operators=(source, keeps, sink))
    assert max(p.evaluation.headroom for p in policies(job, cluster)) < share
    parameters = SearchParameters(neighbourhoods=False, large_model=1)
    with (
        patch.object(aggregated, "run", out_of_time(aggregated.run)),
        patch.object(exact, "run", out_of_time(exact.run)),
    ):
        result = solve(job, cluster, objective=("throughput", "wan"), search=parameters)
    assert result.status is Status.FEASIBLE
    assert result.evaluation.headroom >= share


def test_a_shrinking_operator_at_selectivity_one_goes_to_the_edge():
    # Record selectivity cannot see it; bytes do.
    job = filter_job(50_000.0)
    first, second = job.streams
    shrunk = second.model_copy(
        update={
            "cost": second.cost.model_copy(update={"bytes_per_record": 5.0, "selectivity": 1.0})
        }
    )
    job = job.revised(streams=(first, shrunk))
    result = solve(job, filter_cluster())
    assert all(tm.startswith("pi-") for tm in result.plan.of("filter")["filter"])
    held = {p.name: p.plan for p in policies(job, filter_cluster())}
    assert result.evaluation.wan_bytes_per_s == pytest.approx(4 * 600 * 5)
    assert "server" in held["all-server"].of("filter")["filter"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("cluster", [one_site(slots=2), one_site(memory=1e9), one_site(cores=0.2)])
def test_exactly_enough_is_enough(cluster, backend):
    assert solve(two_operators(), cluster, backend=backend).status is Status.OPTIMAL


def test_slot_sharing_takes_the_largest_operator_of_a_group():
    assert (
        solve(two_operators(slot_sharing_group="one"), one_site(slots=1)).status is Status.OPTIMAL
    )


def test_an_unknown_pin_names_the_place_and_what_there_is():
    rules = Rules(rules=(Pin(operators=("filter",), to="atlantis"),))
    with pytest.raises(InvalidInputError, match="atlantis") as error:
        solve(filter_job(50_000.0), filter_cluster(), rules)
    assert "pi-0" in error.value.cure


def test_missing_costs_are_listed_all_at_once():
    job = filter_job(50_000.0)
    bare = job.revised(
        streams=tuple(s.model_copy(update={"cost": None}) for s in job.streams),
        operators=tuple(o.model_copy(update={"cost": None}) for o in job.operators),
    )
    with pytest.raises(InvalidInputError) as error:
        solve(bare, filter_cluster())
    for part in ("rate:source=N", "bytes per record of stream 'source' -> 'filter'", "selectivity"):
        assert part in str(error.value)
    assert "docs/job.md" in error.value.cure


def test_a_source_without_a_place_is_refused():
    job = filter_job(50_000.0)
    without_place = tuple(o.model_copy(update={"born_at": ()}) for o in job.operators)
    with pytest.raises(InvalidInputError, match="no place where its data is born"):
        solve(job.revised(operators=without_place), filter_cluster())


def test_a_class_never_measured_needs_speeds_and_is_then_labelled_an_estimate():
    job = filter_job(50_000.0)
    seen = tuple(
        o.model_copy(update={"cost": o.cost.model_copy(update={"classes": o.cost.classes[1:]})})
        for o in job.operators
    )
    job = job.revised(operators=seen)
    assert any("estimate" in n for n in solve(job, filter_cluster()).notes)
    without = filter_cluster().model_copy(update={"node_classes": ()})
    with pytest.raises(InvalidInputError, match="never seen on node class 'pi'") as refused:
        solve(job, without)
    assert "{kind: pin, operators: [source], to: SITE}" in refused.value.cure
    # As the cure says: with a rule that keeps the operators off the class, no cost is missed.
    first = job.operators[0].model_copy(update={"born_at": ("cloud",)})
    here = job.revised(operators=(first, *job.operators[1:]))
    rules = Rules(rules=(Pin(operators=("source", "filter", "sink"), to="cloud"),))
    assert solve(here, without, rules).plan


def with_weak_filter(node_class):
    """The filter's cost on one class was measured at a trickle."""
    job = filter_job(50_000.0)
    source, op, sink = job.operators
    classes = tuple(
        c.model_copy(update={"weak": "busy 0.40% of the time", "busy_share": 0.004})
        if c.node_class == node_class
        else c
        for c in op.cost.classes
    )
    op = op.model_copy(update={"cost": op.cost.model_copy(update={"classes": classes})})
    return job.revised(operators=(source, op, sink))


@pytest.mark.parametrize("node_class", ["pi", "server"])
def test_a_plan_that_rests_on_a_weak_cost_says_so(node_class):
    job = with_weak_filter(node_class)
    (note,) = [n for n in solve(job, filter_cluster()).notes if "weak" in n]
    assert note.startswith(
        f"the CPU cost of 'filter' on '{node_class}' is weak (busy 0.40% of the time)"
    )
    assert "at 13 times this rate" in note
    assert job.operators[1].cost.on(node_class).better_log in note
    assert note in assumptions(job, filter_cluster())
    assert not any("weak" in n for n in solve(filter_job(50_000.0), filter_cluster()).notes)


def test_a_weak_cost_where_the_operator_may_not_run_is_not_noted():
    job, at_a_pi = with_weak_filter("server"), Rules(rules=(Pin(operators=("filter",), to="pi-0"),))
    assert not any("weak" in n for n in assumptions(job, filter_cluster(), at_a_pi))


@pytest.mark.parametrize(
    ("names", "noted"),
    [
        (("pie", "server"), True),
        (("pi", "server", "jetson"), False),
        (("server",), False),
    ],
)
def test_a_class_that_no_node_has_is_named_where_one_of_the_clusters_is_not_known(names, noted):
    job = filter_job(50_000.0)
    op = job.operators[1]
    known = tuple(ClassCost(node_class=n, true_rate_per_s=200_000.0) for n in names)
    op = op.model_copy(update={"cost": op.cost.model_copy(update={"classes": known})})
    job = job.revised(operators=(job.operators[0], op, job.operators[2]))
    said = (
        "the costs of 'filter' name class 'pie', which no node of the cluster has; its classes "
        "are pi, server"
    )
    notes = solve(job, filter_cluster()).notes
    assert [n for n in notes if "which no node" in n] == ([said] if noted else [])


def test_a_throttled_source_is_said_to_be_a_lower_bound():
    job = filter_job(50_000.0)
    source = job.operators[0]
    demand = source.cost.demand.model_copy(update={"throttled": True})
    held = source.model_copy(update={"cost": source.cost.model_copy(update={"demand": demand})})
    result = solve(job.revised(operators=(held, *job.operators[1:])), filter_cluster())
    assert any("lower bound of demand" in n for n in result.notes)


def test_never_worse_than_the_current_placement_when_time_is_up():
    job = filter_job(50_000.0)
    best = solve(job, filter_cluster())
    result = solve(job, filter_cluster(), current=best.plan, time_limit_s=0.0)
    assert result.status is Status.FEASIBLE
    assert result.stopped_by is StoppedBy.TIME_LIMIT
    assert result.evaluation.wan_cost == best.evaluation.wan_cost
    assert result.evaluation.moves == 0


def test_moves_break_ties_only():
    job = filter_job(50_000.0)
    best = solve(job, filter_cluster())
    again = solve(job, filter_cluster(), current=best.plan)
    assert again.evaluation.moves == 0
    assert again.status is Status.OPTIMAL


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_same_input_and_seed_give_the_same_plan(backend):
    job = filter_job(50_000.0)
    plans = [solve(job, filter_cluster(), backend=backend, seed=3).plan for _ in range(2)]
    assert plans[0] == plans[1]


def test_two_jobs_share_one_cluster():
    first = filter_job(50_000.0)
    second = first.revised(name="second")
    result = solve([first, second], filter_cluster(80_000.0))
    assert result.status is Status.INFEASIBLE
    wide = solve([first, second], filter_cluster(200_000.0))
    assert wide.status is Status.OPTIMAL
    assert set(wide.plan.jobs) == {"filter", "second"}


@pytest.mark.parametrize("objective", [(), ("wan", "wan"), ("speed",), ("wan:-1%",)])
def test_an_objective_that_makes_no_sense_is_refused(objective):
    with pytest.raises(InvalidInputError):
        solve(filter_job(50_000.0), filter_cluster(), objective=objective)


def test_tolerance_lets_a_later_level_improve():
    job = filter_job(50_000.0)
    strict = solve(job, filter_cluster(1e6), objective=("server_cores", "wan"))
    loose = solve(job, filter_cluster(1e6), objective=("wan:60%", "server_cores"))
    assert loose.evaluation.wan_cost <= 1.6 * loose.levels[0].bound * (1 + 1e-6)
    assert loose.status is Status.OPTIMAL
    assert strict.evaluation.server_cores <= loose.evaluation.server_cores + 1e-9


def test_the_time_limit_bounds_the_whole_call():
    job = filter_job(50_000.0)
    began = time.monotonic()
    result = solve(job, filter_cluster(), time_limit_s=30.0)
    assert result.runtime_s <= time.monotonic() - began
    assert result.stopped_by is StoppedBy.PROOF


def test_one_site_means_no_wan():
    result = solve(two_operators(), one_site())
    assert result.evaluation.wan_cost == 0
    assert result.status is Status.OPTIMAL


def test_a_thin_credit_window_forbids_a_far_channel():
    job = filter_job(50_000.0)
    cluster = filter_cluster(1e9)
    slow = cluster.model_copy(
        update={
            "buffers_per_channel": 1,
            "floating_buffers_per_gate": 0,
            "buffer_bytes": 1024,
            "links": tuple(Link(**{**a.model_dump(), "delay_ms": 50.0}) for a in cluster.links),
        }
    )
    # 1 KiB per 100 ms round trip carries 10,240 bytes/s; the filter would send 42,000.
    result = solve(job, slow, Rules(rules=(Pin(operators=("sink",), to="cloud"),)))
    assert result.status is Status.INFEASIBLE
    assert {v.kind for v in result.conflict.shortfalls} == {"credit window"}


def test_every_reason_is_what_the_evaluator_says():
    job = filter_job(50_000.0)
    cluster = filter_cluster()
    result = solve(job, cluster)
    reasons = {r.operator: r for r in why(job, cluster, result.plan)}
    assert "born at" in reasons["source"].held_by
    other = reasons["filter"].alternatives[0]
    assert other.place == "on servers"
    moved = {**result.plan.of("filter"), "filter": ("server",) * 4}
    expected = evaluate(job, cluster, Plan(jobs={"filter": moved}))
    assert other.after == pytest.approx(expected.wan_cost)
    assert other.breaks.kind == "link bandwidth"


def test_threshold_offloads_by_selectivity_or_true_rate_and_no_other():
    names = {}
    for rate in (50_000.0, 769.0):
        job = filter_job(rate)
        slow = job.operators[1].cost.model_copy(
            update={
                "classes": tuple(
                    c.model_copy(update={"true_rate_per_s": rate})
                    for c in job.operators[1].cost.classes
                )
            }
        )
        filtering = job.operators[1].model_copy(update={"cost": slow})
        job = job.revised(operators=(job.operators[0], filtering, job.operators[2]))
        found = {p.name: p for p in policies(job, filter_cluster())}
        names[rate] = set(found["threshold"].plan.of("filter")["filter"])
    assert names[50_000.0] == {f"pi-{i}" for i in range(4)}
    assert names[769.0] == {"server"}


def test_neighbours_share_a_task_manager_where_nothing_is_lost():
    job = filter_job(50_000.0)
    pis = [Node(id=f"pi-{i}", site="edge", node_class="pi", cores=4) for i in range(4)]
    cluster = filter_cluster().model_copy(
        update={
            "sites": (Site(id="edge"), Site(id="cloud", tier="cloud")),
            "nodes": (*pis, filter_cluster().nodes[-1]),
            "links": (Link(source="edge", target="cloud", delay_ms=20, both_ways=True),),
        }
    )
    placement = solve(job, cluster).plan.of("filter")
    assert placement["filter"] == placement["source"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_in_billions_of_bytes_is_solved_to_the_byte(backend):
    base = one_site(slots=8, memory=7e9 + 3, cores=8.0)
    twin = TaskManager(id="u", node="n", slots=8, memory_bytes=4e9 + 1)
    cluster = base.model_copy(update={"task_managers": (*base.task_managers, twin)})
    job = two_operators()
    heavy = tuple(
        o.model_copy(update={"parallelism": 1, "memory_bytes": size, "cost": o.cost})
        for o, size in zip(job.operators, (4e9 + 1, 6e9 + 3), strict=True)
    )
    result = solve(job.revised(operators=heavy), cluster, backend=backend)
    # The second keeps 1e9 bytes of state too: only one way fits, and with no byte to spare.
    assert result.status is Status.OPTIMAL
    assert result.plan.of("j") == {"a": ("u",), "b": ("t",)}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_latency_of_nought_is_proved(backend):
    # Idle sources, no buffer timeout: every column of the latency is 0.
    job = two_operators()
    demand = job.operators[0].cost.demand.model_copy(update={"rates_per_s": (0.0,)})
    idle = job.operators[0].cost.model_copy(update={"demand": demand})
    still = job.operators[0].model_copy(update={"cost": idle})
    job = job.revised(operators=(still, job.operators[1]), buffer_timeout_ms=0.0)
    result = solve(job, one_site(), objective=("latency",), backend=backend)
    assert result.status is Status.OPTIMAL
    assert result.levels[0].value == 0


def test_ctrl_c_in_a_solver_keeps_its_incumbent_and_its_bound():
    job, cluster = filter_job(50_000.0), filter_cluster(1e6)
    best = solve(job, cluster, objective=("wan",))
    by_model = SearchParameters(by_site=False, baselines=False)
    with patch(
        "edgeplace.solver.linear.highs._run",
        side_effect=lambda highs, _: bool(highs.run()) and False,
    ):
        result = solve(job, cluster, objective=("wan", "latency"), search=by_model)
    assert result.stopped_by is StoppedBy.INTERRUPT
    assert result.status is Status.FEASIBLE
    assert result.levels[0].value == best.levels[0].value
    assert result.levels[0].bound == pytest.approx(best.levels[0].value)
