"""How sure a plan is, by the intervals of its costs."""

import pytest

from edgeplace.model import Case, LimitKind, Plan, Rules
from edgeplace.solver import certainty, evaluate, solve
from edgeplace.views.confidence import certainty_lines
from tests.support.seeds import filter_cluster, filter_job

AT_THE_EDGE = Plan(
    jobs={
        "filter": {
            "source": tuple(f"pi-{i}" for i in range(4)),
            "filter": tuple(f"pi-{i}" for i in range(4)),
            "sink": ("server",),
        }
    }
)


def job(pi_rate_per_s, **changes):
    """Return the filter of 600 records/s for each Pi, with a change of each CPU cost."""
    model, operators = filter_job(pi_rate_per_s), []
    for op in model.operators:
        classes = tuple(c.model_copy(update=changes) for c in op.cost.classes)
        cost = op.cost.model_copy(update={"classes": classes})
        operators.append(op.model_copy(update={"cost": cost}))
    return model.model_copy(update={"operators": tuple(operators)})


@pytest.mark.parametrize(
    ("pi_rate_per_s", "changes", "verdict"),
    [
        (2_000, {"relative_spread": 0.1}, "holds at 90 %"),
        # 600 / 650 of the time, and a tenth more with 0.13 of spread.
        (650, {"relative_spread": 0.1}, "estimate"),
        (2_000, {}, "estimate"),
        (2_000, {"relative_spread": 0.1, "origin": "estimated"}, "estimate"),
        (500, {"relative_spread": 0.01}, "does not hold"),
    ],
    ids=["far", "near", "no interval", "never seen", "too much"],
)
def test_a_plan_holds_or_is_an_estimate(pi_rate_per_s, changes, verdict):
    found = certainty(job(pi_rate_per_s, **changes), filter_cluster(), AT_THE_EDGE)

    assert found.verdict == verdict
    assert all(line.startswith(verdict[:8]) for line in certainty_lines(found)[:1]) or (
        verdict == "does not hold"
    )


def test_the_limit_in_doubt_is_named_with_both_shares():
    found = certainty(job(650, relative_spread=0.1), filter_cluster(), AT_THE_EDGE)

    near = next(d for d in found.in_doubt if d.measured.kind is LimitKind.SUBTASK_BUSY)
    assert near.measured.utilisation == pytest.approx(600 / 650, rel=0.01)
    # 1.2816 standard deviations are exceeded once in ten times.
    assert near.upper_end.utilisation == pytest.approx(600 / 650 * 1.136, rel=0.002)


def test_a_bound_on_latency_is_in_doubt_although_it_does_not_grow_with_the_rates():
    varied, cluster = job(2_000, relative_spread=0.1), filter_cluster()
    taken_ms = evaluate(varied, cluster, AT_THE_EDGE).latency_ms

    found = certainty(varied, cluster, AT_THE_EDGE, Rules(max_latency_ms=taken_ms + 1e-3))

    assert found.verdict == "estimate"
    assert [d.upper_end.kind for d in found.in_doubt] == [LimitKind.LATENCY]
    assert "worst path (latency)" in certainty_lines(found)[0]


def test_the_costs_of_the_plan_have_their_intervals():
    found = certainty(job(2_000, relative_spread=0.1), filter_cluster(), AT_THE_EDGE)

    assert [(c.operator, c.node_class) for c in found.costs] == [
        ("source", "pi"),
        ("filter", "pi"),
        ("sink", "server"),
    ]
    # 1.645 standard deviations to either side are 90 %.
    assert found.costs[1].interval_ms == pytest.approx((0.5 / 1.1783, 0.5 * 1.1783), rel=1e-3)


def test_confidence_of_the_library_plans_with_the_upper_ends():
    varied, cluster = job(900, relative_spread=0.1), filter_cluster()
    case = Case((varied,), cluster).at_confidence(0.9)

    found = solve(varied, cluster, confidence=0.9)

    there = solve(case.jobs, cluster)
    assert (found.plan, found.evaluation, found.bound) == (
        there.plan,
        there.evaluation,
        there.bound,
    )
    assert found.evaluation.server_cores > solve(varied, cluster).evaluation.server_cores
    assert "6 of 6 have an interval or a spread" in found.notes[0]
