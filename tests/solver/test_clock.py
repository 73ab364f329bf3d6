"""Time limits: told by a clock that the tests set, and by what was begun too late."""

import time
from contextlib import suppress
from unittest.mock import patch

import pytest

from edgeplace.instances.families import generate
from edgeplace.model import Pin, Rules, Status, StoppedBy
from edgeplace.solver import advice, policies, prices, solve
from edgeplace.solver.clock import (
    afford,
    limited,
    look,
    overrun_s,
    prolonged,
    running,
    unhurried,
)
from edgeplace.solver.fleet import solve_fleet
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.worker_load import balance
from tests.support.fleets import fleet
from tests.support.seeds import filter_cluster, filter_job

TICK_S = 0.001


class Ticking:
    """A clock on which every look takes a millisecond, and nothing else takes any time."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        self.now += TICK_S
        return self.now


@pytest.fixture
def clock(monkeypatch):
    ticking = Ticking()
    monkeypatch.setattr(time, "monotonic", ticking.monotonic)
    return ticking


def test_what_is_tried_after_the_limit_is_late_by_no_more_than_its_time(clock):
    with limited(10.0):
        with prolonged(0.5) as early:
            assert 9 < early.left() < 10
        clock.now += 9.8
        with prolonged(0.5) as near:
            assert 0.4 < near.left() <= 0.5
        clock.now += 0.4
        with prolonged(0.5) as late:
            assert 0.2 < late.left() < 0.35
        clock.now += 0.4
        with prolonged(0.5) as too_late:
            assert too_late.left() == 0


def test_a_call_inside_a_call_has_no_more_than_what_is_left_of_it(clock):
    with limited(10.0):
        clock.now += 8
        with limited(5.0) as inner:
            assert inner.left() < 2
        with limited(None) as inner:
            assert inner.left() < 2
        with limited(1.0) as inner:
            assert inner.left() < 1
    assert running().left() is None


def test_what_is_over_raises_at_the_next_look_and_judging_a_plan_does_not(clock):
    with limited(1.0):
        look()
        clock.now += 1
        with pytest.raises(OutOfTimeError):
            look()
        with unhurried():
            look()
        with prolonged(0.5):
            look()


def test_work_that_cannot_look_is_not_begun_where_it_would_end_too_late(clock, monkeypatch):
    monkeypatch.setattr(time, "process_time", lambda: (clock.now - 1000.0) / 4)
    with limited(10.0):
        # The machine gives a quarter of its time: 3 s of work take 12.
        clock.now += 2
        afford(1.9)
        with pytest.raises(OutOfTimeError):
            afford(2.1)


def begun_late(work, seconds):
    """Return what was begun later than the limit and what is granted for a first plan."""
    late = []

    def note(what):
        def begin(*args, **more):
            if time.monotonic() > began + seconds + 0.5 + 20 * TICK_S:
                late.append(what)
            return real[what](*args, **more)

        return begin

    names = (
        "edgeplace.solver.linear.highs._run",
        "edgeplace.solver.linear.cpsat.run",
        "edgeplace.solver.formulation.formulation.slots",
        "edgeplace.solver.evaluation.usage.measure_usage",
    )
    real = {}
    began = time.monotonic()
    with suppress(OutOfTimeError):
        patches = []
        for name in names:
            p = patch(name, note(name))
            real[name], _ = p.get_original()
            patches.append(p)
        for p in patches:
            p.start()
        try:
            work()
        finally:
            for p in patches:
                p.stop()
    return late


CLASHING = Rules(
    rules=(Pin(operators=("filter",), to="server"), Pin(operators=("filter",), to="pi-1"))
)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
@pytest.mark.parametrize(
    "case",
    [
        ("riotbench-4-0", ("wan", "latency")),
        ("multi-query-6-1", ("latency", "wan")),
        ("scale-100-1", ("throughput", "wan")),
        ("infeasible-4-1", ("wan",)),
        ("infeasible-4-2", ("wan",)),
    ],
    ids=str,
)
@pytest.mark.usefixtures("clock")
def test_no_model_is_built_and_no_solver_begun_after_the_limit(case, backend, seconds):
    name, objective = case
    it = generate(name)

    def work():
        solve(
            it.jobs,
            it.cluster,
            it.rules,
            objective,
            it.current,
            time_limit_s=seconds,
            backend=backend,
        )

    assert begun_late(work, seconds) == []


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
@pytest.mark.usefixtures("clock")
def test_balance_and_fleets_begin_nothing_after_the_limit(seconds):
    it = generate("riotbench-4-0")
    assert begun_late(lambda: balance(it.jobs, it.cluster, time_limit_s=seconds), seconds) == []
    many = fleet(7, counts=(150, 70), tightness=0.45, latency=False)
    assert begun_late(lambda: solve_fleet(many, time_limit_s=seconds), seconds) == []


def test_input_that_is_not_read_in_in_time_is_an_answer(clock):
    def slow(*args):
        clock.now += 100
        look()

    with patch("edgeplace.solver.problem.problem.source_restrictions", side_effect=slow):
        result = solve(filter_job(50_000.0), filter_cluster(), time_limit_s=1.0)
    assert result.status is Status.UNKNOWN
    assert result.stopped_by is StoppedBy.TIME_LIMIT
    assert "the time limit was over" in result.notes[0]


def test_a_conflict_that_there_was_no_time_for_is_an_answer(clock):
    job, cluster = filter_job(50_000.0), filter_cluster()

    def over(*args):
        clock.now += 100
        return ()

    with patch("edgeplace.solver.solve.Search.offer_current", side_effect=over):
        result = solve(job, cluster, CLASHING, time_limit_s=10.0)
    assert result.status is Status.INFEASIBLE
    assert result.conflict is None or not result.conflict.irreducible


def test_what_is_compared_ends_with_the_call_around_it(clock):
    job, cluster = filter_job(50_000.0), filter_cluster()
    result = solve(job, cluster)
    with limited(1.0):
        clock.now += 1
        with patch(
            "edgeplace.solver.explain.advice.solve", side_effect=AssertionError("begun late")
        ):
            assert advice(job, cluster, result) == ()
        assert policies(job, cluster)
        found = prices(job, cluster, result.plan, time_limit_s=10.0)
    assert not found.prices


def test_highs_is_not_begun_where_it_may_not_look_at_the_clock_in_time(clock):
    from edgeplace.solver.linear.model import Affine, Kind, LinearModel

    model = LinearModel()
    model.at_most(Affine({model.column(Kind.BINARY): 1.0}), 1.0)
    with (
        limited(1.0),
        patch("edgeplace.solver.linear.highs.overrun_s", return_value=1.1),
        patch("edgeplace.solver.linear.highs._run", side_effect=AssertionError("begun")),
    ):
        milp = Milp(model)
        with pytest.raises(OutOfTimeError):
            milp.minimise(Affine(), seconds=None, gap=0.0, start=None)
    assert overrun_s(700_000) > 10
