"""`--time-limit` is that of the whole command: told by what it grants, not by how long it takes."""

from unittest.mock import patch

import pytest

from edgeplace import solver
from edgeplace.model import Status, StoppedBy
from edgeplace.solver.clock import running
from edgeplace.solver.explain.prices import prices


def test_both_searches_and_the_comparison_share_the_limit(edgeplace, job, wide):
    granted, left = [], []
    solve, policies = solver.solve_case, solver.policies

    def searched(*args, **more):
        granted.append(more["time_limit_s"])
        left.append(running().left())
        return solve(*args, **more)

    def compared(*args):
        left.append(running().left())
        return policies(*args)

    with (
        patch.object(solver, "solve_case", searched),
        patch.object(solver, "policies", compared),
    ):
        ran = edgeplace("solve", job, wide, "--set", "rate=x2", "--time-limit", "1000")
    assert ran.status == 0
    assert len(granted) == 2
    assert all(seconds < rest for seconds, rest in zip(granted, left, strict=False))
    assert left == sorted(left, reverse=True)
    assert left[0] <= 1000
    assert running().left() is None


def test_without_a_limit_nothing_is_cut_short(edgeplace, job, wide):
    granted = []
    solve = solver.solve_case

    def searched(*args, **more):
        granted.append(more["time_limit_s"])
        return solve(*args, **more)

    with patch.object(solver, "solve_case", searched):
        edgeplace("solve", job, wide)
    assert granted == [None]


def test_what_there_was_no_time_to_compare_is_said(edgeplace, job, wide):
    with patch("edgeplace.case.answering.time_is_over", return_value=True):
        ran = edgeplace("solve", job, wide, "--time-limit", "1000")
    assert "the time limit was over before everything was compared" in ran.out


def test_a_plan_without_the_settings_that_was_not_proved_is_said_to_be(edgeplace, job, wide):
    stopped = {"status": Status.FEASIBLE, "stopped_by": StoppedBy.TIME_LIMIT}
    solve = solver.solve_case
    answers = []

    def searched(*args, **more):
        found = solve(*args, **more)
        answers.append(found)
        return found if len(answers) == 1 else found.model_copy(update=stopped)

    with patch.object(solver, "solve_case", searched):
        ran = edgeplace("solve", job, wide, "--set", "rate=x2")
    assert "the plan without --set was not proved best: stopped by time limit" in ran.out
    assert "not proved best" not in edgeplace("solve", job, wide, "--set", "rate=x2").out


def test_prices_have_what_the_explanation_leaves(edgeplace, job, wide, tmp_path):
    plan = tmp_path / "plan.json"
    edgeplace("solve", job, wide, "-o", plan)
    granted = []

    def priced(*args):
        granted.append(args[6])
        return prices(*args)

    with patch("edgeplace.solver.prices", priced):
        edgeplace("explain", job, wide, plan, "--prices", "--time-limit", "20")
    assert granted[0] < 20


@pytest.mark.parametrize("seconds", ["-1", "nan"])
def test_a_wrong_limit_is_named(edgeplace, job, wide, seconds):
    ran = edgeplace("solve", job, wide, "--time-limit", seconds)
    assert ran.status == 2
    assert f"--time-limit {seconds!r} is not a time" in ran.err
