"""Evaluator and back ends against brute force, on random instances of every constraint kind."""

import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import ObjectiveLevel, Plan, Status
from edgeplace.solver import evaluate, solve
from edgeplace.solver.formulation import formulate
from edgeplace.solver.formulation.crossings import PairCrossings, TreeCrossings
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.pulp_backend import Pulp
from edgeplace.solver.problem import build
from edgeplace.solver.tolerances import HIGHS_RESOLUTION
from tests.support.oracle import Oracle
from tests.support.strategies import OBJECTIVES, instances

EXAMPLES = int(os.environ.get("EDGEPLACE_PROOFS", "150"))
RATED = {"link bandwidth", "node cpu", "subtask busy", "credit window"}
wide = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
# A solver of PuLP runs in a process of its own, which takes a second to start.
narrow = settings(wide, max_examples=max(1, EXAMPLES // 8))


def close(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 1e-6


def plan_of(job, placement):
    return Plan(jobs={job.name: placement}) if placement else None


@pytest.mark.slow
@wide
@given(data=st.data())
def test_evaluator_agrees_with_the_oracle_on_any_placement(data):
    job, cluster, rules, current = instance = data.draw(instances())
    oracle = Oracle(job, cluster, rules, current)
    ids = [t.id for t in cluster.task_managers]
    place = {k: data.draw(st.sampled_from(ids)) for k in oracle.subtasks}
    plan = Plan(
        jobs={
            job.name: {
                o.id: tuple(place[o.id, i] for i in range(o.parallelism)) for o in job.operators
            }
        }
    )
    found = evaluate(job, cluster, plan, rules, plan_of(job, current))
    verdict = oracle.judge(place)
    assert found.feasible == (not verdict.broken), (found.violations, verdict.broken)
    if "route" in verdict.broken:
        return
    for name, value in verdict.values.items():
        assert close(found.value(name), value), name
    factor = found.sustained
    if factor is not None and 1e-3 < factor < 1e3:
        assert held_back_at(0.999 * factor, instance, place) <= 1, "sources are held back before"
        assert held_back_at(1.001 * factor, instance, place) >= 1, "they could send more"


def held_back_at(factor, instance, place):
    """Return the largest utilisation at a factor of all rates, with late checkpoints."""
    job, cluster, rules, current = instance
    operators = []
    for op in job.operators:
        changes = {}
        if op.cost.demand:
            rates = tuple(factor * rate for rate in op.cost.demand.rates_per_s)
            changes["demand"] = op.cost.demand.model_copy(update={"rates_per_s": rates})
        if not op.cost.state_law and op.cost.checkpointed_bytes:
            changes["checkpointed_bytes"] = factor * op.cost.checkpointed_bytes
        operators.append(op.model_copy(update={"cost": op.cost.model_copy(update=changes)}))
    grown = job.model_copy(update={"operators": tuple(operators)})
    return Oracle(grown, cluster, rules, current).judge(place).held_back


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
@wide
@given(instance=instances(), objective=OBJECTIVES)
def test_back_ends_agree_with_brute_force(backend, instance, objective):
    check_against_brute_force(backend, instance, objective)


@pytest.mark.slow
@narrow
@given(instance=instances(), objective=OBJECTIVES)
def test_cbc_agrees_with_brute_force(instance, objective):
    check_against_brute_force("pulp:CBC", instance, objective)


def check_against_brute_force(backend, instance, objective):
    job, cluster, rules, current = instance
    levels = [ObjectiveLevel.parse(o) for o in objective]
    soft = levels[0].name == "throughput"
    best = Oracle(job, cluster, rules, current).optimum(
        [(v.name, v.tolerance) for v in levels], soft
    )
    result = solve(job, cluster, rules, objective, plan_of(job, current), backend=backend)
    if best is None:
        assert result.status is Status.INFEASIBLE
        assert result.plan is None
        assert result.conflict is not None
        assert result.conflict.confirmed
        assert result.conflict.cure
        return
    assert result.status is Status.OPTIMAL
    again = evaluate(job, cluster, result.plan, rules, plan_of(job, current))
    assert again == result.evaluation
    assert all(soft and v.kind in RATED for v in again.violations)
    for level, value in zip(result.levels, best, strict=True):
        assert level.bound <= value * (1 + 1e-6) + 1e-6
        assert level.value <= value * (1 + level.tolerance) * (1 + 1e-6) + 1e-6


@pytest.mark.slow
@wide
@given(instance=instances(tree=True), objective=OBJECTIVES)
def test_general_network_form_agrees_with_the_tree_form(instance, objective):
    job, cluster, rules, current = instance
    problem = build([job], cluster, rules, plan_of(job, current))
    assume(problem.allowed().any(axis=1).all())
    name = ObjectiveLevel.parse(objective[0]).name
    found = []
    for crossings in (TreeCrossings, PairCrossings):
        form = formulate(problem, [name], form=crossings, soft_rates=name == "throughput")
        answer = Milp(form.model).minimise(
            form.model.objectives[name], seconds=None, gap=0.0, start=None
        )
        found.append((answer.outcome, answer.bound))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1] or close(found[0][1], found[1][1])


@pytest.mark.slow
@narrow
@given(instance=instances(), objective=OBJECTIVES)
def test_the_model_means_the_same_through_pulp(instance, objective):
    job, cluster, rules, current = instance
    problem = build([job], cluster, rules, plan_of(job, current))
    assume(problem.allowed().any(axis=1).all())
    name = ObjectiveLevel.parse(objective[0]).name
    form = formulate(problem, [name], soft_rates=name == "throughput")
    goal = form.model.objectives[name]
    answer = Milp(form.model).minimise(goal, seconds=None, gap=0.0, start=None)
    other = Pulp(form.model, "CBC").minimise(goal, seconds=None, gap=0.0, start=None)
    assert answer.outcome is other.outcome
    if answer.values is None:
        return
    # "The bound of HiGHS is lowered by the amount that it does not distinguish from 0": of an
    # objective whose largest coefficient is scaled to 1e4, by a power of two.
    largest = max(map(abs, goal.terms.values()), default=0.0)
    unseen = 2 * HIGHS_RESOLUTION * largest / 1e4
    assert close(answer.bound, other.bound) or 0 <= other.bound - answer.bound <= unseen
