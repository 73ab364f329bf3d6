"""What was proved is not solved again, and nothing else is taken for it."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.control.loop.answering import known as module
from edgeplace.control.loop.answering.answer import answer
from edgeplace.control.loop.answering.carried import RateLoads
from edgeplace.control.loop.answering.known import NEAR, Known
from edgeplace.control.loop.answering.rates import AtRates, at_rates
from edgeplace.control.loop.events import Solve
from edgeplace.instances.families import generate
from edgeplace.model import Plan, Rules
from edgeplace.model.what_if.case import Case
from edgeplace.solver.tolerances import NEGLIGIBLE, OPTIMAL_GAP
from tests.support.loops import AT_PIS, AT_SERVER, RULES
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances

RATES = {"source": 1200.0}


def asked(known, rates, **more):
    ask = Solve(ticket=1, places=AT_SERVER, rates=rates, limit_s=20.0, **more)
    return answer(ask, filter_job(pi_rate_per_s=5000.0), filter_cluster(), RULES, 0.0, known=known)


def test_the_same_question_has_the_same_answer_without_a_search(monkeypatch):
    known = Known()
    first = asked(known, RATES, day=(1.0, 1.15))
    monkeypatch.setattr("edgeplace.solver.solve_case", None)
    assert asked(known, RATES, day=(1.0, 1.15)) == first


def test_another_rate_is_answered_by_the_same_plan_without_a_search(monkeypatch):
    known = Known()
    first = asked(known, RATES, day=(1.0, 1.15, 1.15**-2))
    monkeypatch.setattr("edgeplace.solver.solve_case", None)
    again = asked(known, {"source": 1250.0}, day=(1.0, 1.15, 1.15**-2))
    assert again.places == first.places and not again.problem


@pytest.mark.parametrize("name", ["seed-pis-3-1", "nexmark-4-2", "riotbench-4-2"])
def test_what_is_carried_over_is_never_a_wrong_proof(name):
    """Against a search of each question by itself, at rates that go up and down by source."""
    case = generate(name)
    (job,) = case.jobs
    chance = np.random.default_rng(7)
    nominal = {op.id: sum(op.cost.demand.rates_per_s) for op in job.sources()}
    first, known, carried_over = AtRates(Case((job,), case.cluster, case.rules)), Known(), 0
    factors = dict.fromkeys(nominal, 0.5)
    for _ in range(12):
        at = first.at({op: factor * nominal[op] for op, factor in factors.items()})
        family = known.families.get(at.family)
        bound = family.bound(RateLoads.of(at.problem)) if family else 0.0
        searches = len(known.found)
        warm = known.best(at, 20.0, None, ("wan",))
        cold = Known().best(at, 20.0, None, ("wan",), near=0.0)
        carried_over += len(known.found) == searches
        assert (warm.plan is None) == (cold.plan is None)
        if cold.plan is not None:
            assert max(bound, warm.wan_bound) <= cold.wan * (1 + OPTIMAL_GAP)
            assert at.wan(dict(warm.plan.of(job.name))) == (pytest.approx(warm.wan), True)
            assert warm.wan <= cold.wan * (1 + 2 * NEAR)
        which = chance.choice(list(factors))
        factors[which] = float(np.clip(factors[which] * chance.choice([0.7, 0.9, 1.1, 1.4]), 0, 3))
    assert carried_over > 0


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(instance=instances(), chance=st.randoms(use_true_random=False))
def test_a_bound_that_is_carried_over_holds_whatever_limits_rules_and_laws_there_are(
    instance, chance
):
    job, cluster, rules, current = instance
    placed = Plan(jobs={job.name: current}) if current else None
    first = AtRates(Case((job,), cluster, rules, placed))
    known = Known()
    for _ in range(3):
        at = first.at({op: chance.choice([0.5, 1, 1.3]) * sum(d) for op, d in first.demand.items()})
        family = known.families.get(at.family)
        bound = family.bound(RateLoads.of(at.problem)) if family else 0.0
        cold = known.best(at, 20.0, None, ("wan",), near=0.0)
        if cold.wan is not None:
            assert bound <= cold.wan * (1 + OPTIMAL_GAP) + NEGLIGIBLE


def test_what_depends_on_delays_is_not_carried_over():
    """Buffers fill sooner at higher rates: what was too late may be in time there."""
    rules = Rules(max_latency_ms=1e6)
    job = at_rates(filter_job(pi_rate_per_s=5000.0), RATES)
    case = Case((job,), filter_cluster(), rules, current=Plan(jobs={"filter": AT_SERVER}))
    known, first = Known(), AtRates(case)
    for rate in (1200.0, 1250.0):
        known.best(first.at({"source": rate}), 20.0, None)
    assert len(known.found) == 2


def test_a_plan_that_was_found_for_the_wan_alone_is_no_answer_where_moves_count():
    job = at_rates(filter_job(pi_rate_per_s=5000.0), RATES)
    case = Case((job,), filter_cluster(), RULES, current=Plan(jobs={"filter": AT_SERVER}))
    known, first = Known(), AtRates(case)
    for rate, terms, searched in (
        (1200.0, ("wan",), 1),
        (1250.0, ("wan", "moves"), 2),
        (1225.0, ("wan", "moves"), 2),
        (1225.0, ("wan",), 2),
        (1225.0, ("wan", "latency", "moves"), 3),
    ):
        known.best(first.at({"source": rate}), 20.0, None, terms)
        assert len(known.found) == searched
    # What runs moves nothing, whatever it was found for, unless it breaks a wish.
    stays = dataclasses.replace(case, current=Plan(jobs={"filter": AT_PIS}))
    wish = {"kind": "pin", "operators": ["filter"], "to": "cloud", "weight": 1}
    wishes = Rules.model_validate({"wishes": [wish]}).model_copy(update={"rules": RULES.rules})
    for rules, searched in ((RULES, 1), (wishes, 2)):
        known, first = Known(), AtRates(dataclasses.replace(stays, rules=rules))
        known.best(first.at({"source": 1200.0}), 20.0, None, ("wan",))
        known.best(first.at({"source": 1250.0}), 20.0, None, ("wan", "moves"))
        assert len(known.found) == searched


def test_what_was_not_proved_is_not_kept(monkeypatch):
    from edgeplace.solver import solve_case as really

    def unproved(*args, **more):
        return really(*args, **more).model_copy(update={"status": "feasible"})

    monkeypatch.setattr("edgeplace.solver.solve_case", unproved)
    known = Known()
    job = at_rates(filter_job(pi_rate_per_s=5000.0), RATES)
    case = Case((job,), filter_cluster(), RULES, current=Plan(jobs={"filter": AT_SERVER}))
    assert known.best(AtRates(case), 20.0, None).plan is not None
    assert known.found == {}


def test_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    known = Known()
    for rate in (1000.0, 1100.0, 1200.0):
        asked(known, {"source": rate}, parallelism={"sink": (1, 2)})
    assert len(known.found) == 2
