"""Solvers that do not look at the clock: the call ends all the same, with what they had told."""

import subprocess
import sys
import threading

import highspy
import pytest
from ortools.sat.python import cp_model

from edgeplace.model import Status, StoppedBy
from edgeplace.model.errors import InvalidInputError
from edgeplace.solver import SearchParameters, evaluate, solve
from edgeplace.solver.clock import limited
from edgeplace.solver.linear import left_behind
from edgeplace.solver.linear.cpsat import CpSat
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from tests.support.stars import star

BACK_ENDS = (Milp, CpSat)


@pytest.fixture
def _never_return(monkeypatch):
    """HiGHS and CP-SAT that find plans, and then do not come back before the test is over."""
    over = threading.Event()
    start, search = highspy.Highs.startSolve, cp_model.CpSolver.solve

    def started(highs):
        highs.cbMipImprovingSolution += lambda event: over.wait()
        return start(highs)

    def searched(solver, model, found=None):
        status = search(solver, model, found)
        over.wait()
        return status

    monkeypatch.setattr(highspy.Highs, "startSolve", started)
    monkeypatch.setattr(cp_model.CpSolver, "solve", searched)
    yield
    over.set()
    while left_behind.at_work():
        threading.Event().wait(0.01)


def two_columns():
    model = LinearModel()
    both = Affine({model.column(Kind.BINARY): -1.0, model.column(Kind.BINARY): -1.0})
    model.at_most(both, -1.0)
    return model, Affine({0: 1.0, 1: 2.0})


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
@pytest.mark.usefixtures("_never_return")
def test_a_call_ends_with_its_time_and_keeps_the_plan_of_a_solver_that_does_not(backend):
    job, cluster, rules = star(4, 1)
    result = solve(
        job,
        cluster,
        rules,
        objective=("wan",),
        backend=backend,
        time_limit_s=1.0,
        search=SearchParameters(by_site=False, baselines=False),
    )
    assert left_behind.at_work(backend)
    assert result.status is Status.FEASIBLE
    assert result.stopped_by is StoppedBy.TIME_LIMIT
    assert evaluate(job, cluster, result.plan, rules).feasible


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.usefixtures("_never_return")
def test_what_a_solver_told_before_it_was_left_behind_is_known(back_end):
    model, cost = two_columns()
    told = []
    with limited(0.2), pytest.raises(OutOfTimeError):
        back_end(model).minimise(cost, seconds=None, gap=0.0, start=None, found=told.append)
    assert told
    assert all(each.sum() >= 1 for each in told)


@pytest.mark.slow
@pytest.mark.usefixtures("_never_return")
def test_highs_is_not_begun_beside_one_that_was_left_behind_and_cp_sat_may_be():
    model, cost = two_columns()
    with limited(0.2), pytest.raises(OutOfTimeError):
        Milp(model).minimise(cost, seconds=None, gap=0.0, start=None)
    with limited(10.0), pytest.raises(OutOfTimeError):
        Milp(model).minimise(cost, seconds=None, gap=0.0, start=None)
    with pytest.raises(InvalidInputError, match="new process"):
        Milp(model).minimise(cost, seconds=None, gap=0.0, start=None)
    told = []
    # On a busy machine CP-SAT takes a while to begin.
    with limited(3.0), pytest.raises(OutOfTimeError):
        CpSat(model).minimise(cost, seconds=None, gap=0.0, start=None, found=told.append)
    assert told


DEAF = """
import sys

import highspy
import numpy as np
from edgeplace.cli import main
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.solver.clock import limited
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError

option = highspy.Highs.setOptionValue
highspy.Highs.setOptionValue = lambda highs, name, value: option(
    highs, name, highspy.kHighsInf if name == "time_limit" else value
)
highspy.Highs.cancelSolve = lambda highs: None

def call():
    # Three sums that 40 numbers must meet: HiGHS searches for hours.
    model, draw = LinearModel(), np.random.default_rng(1)
    columns = model.columns(Kind.BINARY, np.ones(40))
    for weights in draw.integers(1, 1000, (3, 40)).astype(float):
        terms = dict(zip(columns.tolist(), weights.tolist(), strict=True))
        model.equal(Affine(terms), float(weights.sum() // 2))
    try:
        with limited(0.5):
            Milp(model).minimise(Affine({0: 1.0}), seconds=None, gap=0.0, start=None)
    except OutOfTimeError:
        print("left behind")
    return ExitStatus.OK
"""
AS_A_COMMAND = """
main.main = call
main.entry()
"""
AS_A_LIBRARY = """
call()
sys.exit(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("use", "status"), [(AS_A_COMMAND, 0), (AS_A_LIBRARY, 3)])
def test_a_process_ends_with_its_status_where_a_solver_was_left_behind(use, status):
    ended = subprocess.run(
        [sys.executable, "-c", DEAF + use],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (status, "left behind\n"), ended.stderr
