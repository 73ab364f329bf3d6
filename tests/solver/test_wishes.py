"""Wishes: what they cost beside the objective, and what `explain` says of them."""

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeplace.model import InvalidInputError, Plan, Rules, SourceDemand
from edgeplace.solver import evaluate, solve, wish_prices
from edgeplace.views.reasons import show_wish_prices
from edgeplace.views.terms import Terms
from tests.solver.test_proofs import check_against_brute_force, narrow, plan_of
from tests.support.oracle import Oracle
from tests.support.strategies import instances
from tests.support.wishes import SPREAD, wishing


@st.composite
def wishes(draw, job, cluster):
    ids, sizes = [o.id for o in job.operators], {o.id: o.parallelism for o in job.operators}
    level = st.sampled_from(["site", "node", "task_manager"])
    found = []
    for _ in range(draw(st.integers(1, 3))):
        op = draw(st.sampled_from(ids))
        same = [o for o in ids if sizes[o] == sizes[op] and o != op]
        wish = draw(
            st.sampled_from(
                [
                    {"kind": "pin", "to": draw(st.sampled_from([n.id for n in cluster.nodes]))},
                    {"kind": "match", "labels": {"node_class": cluster.nodes[0].node_class}},
                    {"kind": "exlocate", "level": draw(level)},
                    {"kind": "at_most", "count": draw(st.integers(0, 2)), "level": draw(level)},
                    {"kind": "stay_on_site"},
                    {"kind": "spread", "level": draw(level)},
                    *({"kind": "colocate", "level": draw(level), "with": o} for o in same[:1]),
                ]
            )
        )
        other = wish.pop("with", None)
        operators = [op, other] if other else [op]
        found.append({**wish, "operators": operators, "weight": draw(st.integers(1, 100))})
    return Rules.model_validate({"wishes": found}).wishes


@st.composite
def wished(draw):
    job, cluster, rules, current = draw(instances())
    rules = rules.model_copy(update={"wishes": draw(wishes(job, cluster))})
    return job, cluster, rules, current


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milp", "cp-sat", "pulp:CBC"])
@narrow
@given(
    instance=wished(),
    objective=st.sampled_from([("wan", "wishes"), ("wishes", "wan"), ("wan:20%", "wishes")]),
)
def test_plans_with_wishes_agree_with_brute_force(backend, instance, objective):
    check_against_brute_force(backend, instance, objective)


@narrow
@given(data=st.data())
def test_the_evaluator_counts_wishes_as_the_oracle(data):
    job, cluster, rules, current = data.draw(wished())
    oracle = Oracle(job, cluster, rules, current)
    ids = [t.id for t in cluster.task_managers]
    place = {k: data.draw(st.sampled_from(ids)) for k in oracle.subtasks}
    placed = {o.id: tuple(place[o.id, i] for i in range(o.parallelism)) for o in job.operators}
    found = evaluate(job, cluster, plan_of(job, placed), rules, plan_of(job, current))
    assert found.wishes == oracle.judge(place).values["wishes"]
    assert found.wishes == sum(u.weight * u.subtasks for u in found.unmet)


def test_wishes_come_after_the_stated_objective_and_cost_it_nothing():
    job, cluster, rules = wishing(SPREAD)
    found = solve(job, cluster, rules)
    assert [v.name for v in found.levels][-1] == "wishes"
    # East is nearer: `latency` comes first, so that three of track stay together.
    assert sorted(found.plan.jobs["job"]["track"]) == ["e", "e", "e", "pi"]
    assert found.evaluation.unmet[0].subtasks == 1, "the fair share is 2, at each of three sites"
    assert found.evaluation.wishes == 3
    spread = solve(job, cluster, rules, ("wan", "wishes", "latency"))
    assert not spread.evaluation.unmet
    assert spread.levels[0].value == found.levels[0].value


def test_a_subtask_that_a_wish_names_twice_counts_once():
    twice = {"kind": "pin", "operators": ["camera"], "subtasks": [0, 0], "to": "east"}
    found = solve(*wishing({**twice, "weight": 2}))
    assert found.status.value == "optimal"
    assert found.evaluation.wishes == 2


def test_explain_says_what_a_wish_would_cost_and_that_none_can_meet_it():
    onto_the_pi = {"kind": "pin", "operators": ["track"], "to": "edge"}
    job, cluster, rules = wishing(SPREAD, onto_the_pi)
    plan = solve(job, cluster, rules).plan
    spread, pinned = wish_prices(job, cluster, plan, rules)
    assert (spread.wish.wish, spread.least, spread.proved) == ("spread track over sites", 0, True)
    assert spread.objective == "latency"
    assert spread.after > spread.before
    # The camera shares the one slot of its Pi with one of the four, as it does now.
    assert (pinned.wish.subtasks, pinned.least, pinned.proved) == (3, 3, True)
    assert pinned.objective is None


def test_a_price_is_that_of_the_best_plan_also_where_rates_exceed_limits_or_no_plan_holds():
    job, cluster, rules = wishing(SPREAD, {"kind": "pin", "operators": ["track"], "to": "edge"})
    plan = solve(job, cluster, rules).plan
    camera = job.operators[0]
    fast = camera.cost.model_copy(update={"demand": SourceDemand(rates_per_s=(990.0,))})
    fast = job.revised(operators=(camera.model_copy(update={"cost": fast}), job.operators[1]))
    # The camera itself does not bear it, so every plan exceeds a limit.
    hard = wish_prices(fast, cluster, plan, rules)
    assert [(p.least, p.proved) for p in hard] == [(None, True)] * 2
    told = Mock()
    show_wish_prices(told, hard, Terms.of(cluster))
    assert "no plan meets it" in str(told.table.call_args)
    spread, _ = wish_prices(fast, cluster, plan, rules, objective=("throughput", "latency"))
    assert (spread.least, spread.proved, spread.behind) == (0, True, "throughput")
    assert spread.objective == "latency"
    # A tolerance would leave the term that it belongs to anywhere within it.
    now = Plan(jobs={"job": {"camera": ("pi",), "track": ("e", "e", "w", "w")}})
    loose, _ = wish_prices(job, cluster, plan, rules, now, ("wan:50%", "moves"))
    assert (loose.least, loose.objective) == (0, "moves")


def test_wishes_are_refused_where_they_would_be_left_out():
    job, cluster, rules = wishing(SPREAD)
    with pytest.raises(InvalidInputError, match="wishes"):
        solve(job, cluster, rules, parallelism="all")
    with pytest.raises(InvalidInputError, match="no operator"):
        solve(job, cluster, wishing({**SPREAD, "operators": ["trakc"]})[2])
    with pytest.raises(ValueError, match="100"):
        wishing({**SPREAD, "weight": 101})


def test_a_plan_of_one_place_breaks_no_wish_that_it_keeps():
    job, cluster, rules = wishing(
        {"kind": "match", "operators": ["track"], "labels": {"node_class": "vm"}}
    )
    plan = Plan(jobs={"job": {"camera": ("pi",), "track": ("e", "e", "w", "pi")}})
    assert evaluate(job, cluster, plan, rules).wishes == 1
