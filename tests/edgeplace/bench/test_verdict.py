"""A plan that holds is a fact; whoever denies it is wrong."""

import pytest

from edgeplace.bench.record import RunAnswer, RunOutcome, negligible
from edgeplace.bench.verdict import RECORD, improves, judge
from edgeplace.instances.families import generate
from edgeplace.instances.index import BestKnown
from edgeplace.solver import solve
from edgeplace.views.terms import Terms

BYTES, LEAST = Terms(), 1e-6


def answered(instance, cluster):
    """Return the answer of `solve` to an instance on a cluster."""
    result = solve(instance.jobs, cluster, instance.rules, objective=("wan",))
    return RunAnswer(
        outcome=RunOutcome.OPTIMAL,
        claimed_wan=result.evaluation.wan_cost,
        bound=result.bound,
        plan=result.plan,
        evaluation=result.evaluation,
        exact=True,
    )


@pytest.fixture(scope="module")
def solved():
    instance = generate("seed-pis-2-1")
    return answered(instance, instance.cluster)


def revised(answer, wan_factor=1.0, **changes):
    """Return an answer whose plan costs another `wan`, by the evaluator."""
    wan = answer.evaluation.wan_cost * wan_factor
    judged = answer.evaluation.model_copy(update={"wan_cost": wan})
    return answer.model_copy(
        update={"evaluation": judged, "claimed_wan": wan, "bound": wan, **changes}
    )


def record(**fields):
    return BestKnown(by="a test", day="2026-11-21", **fields)


def test_answers_that_agree_are_right(solved):
    found = judge(
        {"a": solved, "b": solved}, record(wan=solved.wan, bound=solved.wan), BYTES, LEAST
    )
    assert found.wrong == {}
    assert found.best_wan == solved.wan


def test_a_plan_that_breaks_a_limit_is_wrong(solved):
    broken = (solved.evaluation.nodes[0].model_copy(update={"used": 99.0, "capacity": 1.0}),)
    judged = solved.evaluation.model_copy(update={"violations": broken})
    bad = solved.model_copy(update={"evaluation": judged})
    assert "its plan breaks node cpu" in judge({"a": bad}, None, BYTES, LEAST).wrong["a"][0]
    # Methods that overlook limits do not claim that their plans hold.
    heuristic = bad.model_copy(update={"exact": False, "claimed_wan": None, "bound": None})
    assert judge({"a": heuristic}, None, BYTES, LEAST).wrong == {}
    assert heuristic.wan is None


def test_a_figure_that_the_evaluator_does_not_confirm_is_wrong(solved):
    bad = solved.model_copy(update={"claimed_wan": solved.wan * 0.99, "bound": None})
    assert "the evaluator" in judge({"a": bad}, None, BYTES, LEAST).wrong["a"][0]


def test_a_bound_above_another_plan_is_wrong(solved):
    worse = revised(solved, 1.5)
    found = judge({"good": solved, "bad": worse}, None, BYTES, LEAST)
    assert set(found.wrong) == {"bad"}
    assert "above the plan of good" in found.wrong["bad"][0]


def test_optimal_that_another_plan_beats_is_wrong_without_a_bound_too(solved):
    worse = revised(solved, 1.5, bound=None)
    assert (
        "is not optimal"
        in judge({"good": solved, "bad": worse}, None, BYTES, LEAST).wrong["bad"][0]
    )


def test_feasible_that_another_plan_beats_is_right(solved):
    worse = revised(solved, 1.5, bound=solved.wan * 0.9, outcome=RunOutcome.FEASIBLE)
    assert judge({"good": solved, "late": worse}, None, BYTES, LEAST).wrong == {}


def test_infeasible_where_a_plan_holds_is_wrong(solved):
    denies = RunAnswer(outcome=RunOutcome.INFEASIBLE, exact=True)
    assert set(judge({"good": solved, "bad": denies}, None, BYTES, LEAST).wrong) == {"bad"}
    assert set(judge({"bad": denies}, record(wan=5.0), BYTES, LEAST).wrong) == {"bad"}
    assert judge({"a": denies, "b": denies}, record(infeasible=True), BYTES, LEAST).wrong == {}


def test_the_record_may_be_wrong(solved):
    assert RECORD in judge({"a": solved}, record(bound=solved.wan * 1.1), BYTES, LEAST).wrong
    assert RECORD in judge({"a": solved}, record(infeasible=True), BYTES, LEAST).wrong
    assert "a" in judge({"a": solved}, record(wan=solved.wan * 0.9), BYTES, LEAST).wrong


def test_rounding_is_no_contradiction(solved):
    near = revised(solved, 1 + 1e-7)
    assert (
        judge({"a": solved, "b": near}, record(wan=solved.wan * (1 - 1e-7)), BYTES, LEAST).wrong
        == {}
    )


def test_what_beats_the_record_is_said(solved):
    wan = solved.wan
    assert improves(solved, record(wan=wan, bound=wan), BYTES, LEAST) is None
    assert "a plan with" in improves(solved, record(wan=wan * 1.1), BYTES, LEAST)
    assert "the bound" in improves(solved, record(wan=wan, bound=wan * 0.5), BYTES, LEAST)
    infeasible = RunAnswer(outcome=RunOutcome.INFEASIBLE, exact=True)
    assert improves(infeasible, record(), BYTES, LEAST) == "proved infeasible"
    assert improves(infeasible, record(infeasible=True), BYTES, LEAST) is None
    assert improves(solved, None, BYTES, LEAST) is None


def test_small_money_is_told_apart():
    """At 4 EUR/GB, a plan of 90 EUR a month has a `wan` of 0.000034 EUR/s: 3 % less are 1e-6."""
    instance = generate("seed-pis-2-1")
    dear = tuple(a.model_copy(update={"price_per_byte": 4e-9}) for a in instance.cluster.links)
    cluster = instance.cluster.model_copy(update={"links": dear, "currency": "EUR"})
    good = answered(instance, cluster)
    bad = revised(good, 1 + 1e-4)
    assert abs(good.wan - bad.wan) < 1e-6
    found = judge({"good": good, "bad": bad}, None, Terms.of(cluster), negligible(cluster))
    assert set(found.wrong) == {"bad"}
