"""Parallelism and place together, against every vector and every placement."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Cluster, InvalidInputError, Status, objective_levels, parse
from edgeplace.solver import evaluate, pareto, solve
from edgeplace.solver.explain.pareto import TERMS
from tests.support.oracle import Oracle
from tests.support.parallelism import asked_of, at, optimum, plan_of, vectors
from tests.support.strategies import OBJECTIVES, instances


def check(instance, data, objective, backend):
    job, cluster, rules, current = instance
    asked = asked_of(data.draw, job, cluster, rules)
    levels = [(v.name, v.tolerance) for v in objective_levels(objective)]
    soft = levels[0][0] == "throughput"
    try:
        result = solve(
            job,
            cluster,
            rules,
            objective,
            plan_of(job, current),
            parallelism=asked,
            backend=backend,
        )
    except InvalidInputError as e:
        # Nothing asked for can be mapped, or the instance itself is refused.
        now = {o.id: o.parallelism for o in job.operators}
        possible = [
            v
            for v in vectors(asked, job, rules)
            if at(job, rules, current, v) and v != {o: now[o] for o in v}
        ]
        if possible:
            with pytest.raises(InvalidInputError):
                for wanted in possible:
                    there = at(job, rules, current, wanted)
                    solve(there[0], cluster, there[1], objective, plan_of(job, there[2]))
        assert str(e)
        return
    best = optimum(job, cluster, rules, current, asked, levels, soft)
    if best is None:
        assert result.status is Status.INFEASIBLE
        assert any("no parallelism asked for helps" in note for note in result.notes)
        return
    assert result.status is Status.OPTIMAL, (result.stopped_by, result.levels, best)
    for level, least in zip(result.levels, best, strict=True):
        assert level.bound <= least * (1 + 2e-6) + 1e-6
        assert least * (1 - 2e-6) - 1e-6 <= level.value
        assert level.value <= least * (1 + level.tolerance) * (1 + 3e-6) + 1e-6
    wanted = result.chosen.parallelism[job.name]
    there = at(job, rules, current, wanted)
    found = evaluate(there[0], cluster, result.plan, there[1], plan_of(job, there[2]))
    for level in result.levels:
        assert abs(found.value(level.name) - level.value) <= 1e-9 * abs(level.value)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data(), objective=OBJECTIVES)
def test_the_best_of_all_vectors_is_found_and_proved(instance, data, objective):
    check(instance, data, objective, "milp")


@st.composite
def with_money(draw):
    """Return an instance whose links and cores cost money, some links with an included volume."""
    job, cluster, rules, current = draw(instances())
    prices = st.sampled_from([0.0, 1e-9, 4e-9])
    volumes = st.sampled_from([0.0, 1e9, 1e11])
    drawn = {
        (a.source, a.target): {"price_per_byte": draw(prices), "included_bytes": draw(volumes)}
        for a in cluster.links
    }
    for (a, b), figures in drawn.items():
        back = drawn.get((b, a), {})
        if figures["included_bytes"] and back.get("included_bytes"):
            # Opposite links that share a volume state the same figures: others are refused.
            figures.update(back)
    links = tuple(a.model_copy(update=drawn[a.source, a.target]) for a in cluster.links)
    hourly = st.sampled_from([0.0, 0.04, 1.0])
    nodes = tuple(
        n.model_copy(update={f"price_per_{what}_hour": draw(hourly) for what in ("core", "node")})
        for n in cluster.nodes
    )
    update = {"currency": "EUR", "links": links, "nodes": nodes}
    # Reading a document checks it, and a copy does not.
    return job, parse({**dict(cluster), **update}, Cluster, "the cluster"), rules, current


COSTS = st.sampled_from([("cost",), ("cost", "latency"), ("wan", "cost"), ("cost:10%", "moves")])


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=with_money(), data=st.data(), objective=COSTS)
def test_the_least_cost_of_all_vectors_is_found_and_proved(instance, data, objective):
    check(instance, data, objective, "milp")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data(), objective=OBJECTIVES)
def test_the_best_of_all_vectors_is_found_by_cp_sat_too(instance, data, objective):
    check(instance, data, objective, "cp-sat")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_no_plan_of_any_vector_dominates_a_proved_point_of_the_front(instance, data):
    job, cluster, rules, current = instance
    asked = asked_of(data.draw, job, cluster, rules)
    try:
        front = pareto(job, cluster, rules, plan_of(job, current), parallelism=asked)
    except InvalidInputError:
        # test_the_best_of_all_vectors_is_found_and_proved says when.
        return
    held = []
    for wanted in vectors(asked, job, rules):
        if there := at(job, rules, current, wanted):
            plans = Oracle(there[0], cluster, there[1], there[2]).everything()
            held += [[v.values[t] for t in TERMS] for _, v in plans if not v.broken]
    assert (front.infeasible is not None) == (not held)
    for p in front.points:
        mine = [p.evaluation.value(t) for t in TERMS]
        slack = [1e-5 * abs(y) + 1e-5 for y in mine]
        dominating = [
            other
            for other in held
            if all(x <= y + s for x, y, s in zip(other, mine, slack, strict=True))
            and any(x < y - s for x, y, s in zip(other, mine, slack, strict=True))
        ]
        assert not (p.proved and dominating), (p, dominating)
    for i, _ in enumerate(TERMS) if held else ():
        best = min(p.evaluation.value(TERMS[i]) for p in front.points)
        assert best == pytest.approx(min(v[i] for v in held), rel=1e-5, abs=1e-5)
