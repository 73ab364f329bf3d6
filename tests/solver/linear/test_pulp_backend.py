"""What the answers of PuLP's solvers are taken for, and what is left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pulp
import pytest

from edgeplace.model import InvalidInputError, Status
from edgeplace.solver import solve
from edgeplace.solver.linear import pulp_backend
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.linear.pulp_backend import Pulp, available, resolved
from tests.support.seeds import filter_cluster, filter_job


def knapsack(n=3, capacity=5.0, least=0.0):
    """Whole x_i <= 2 that take (i+2) each of a capacity and are worth (i+3); at least so many."""
    model = LinearModel()
    columns = [model.column(Kind.COUNT, 2.0) for _ in range(n)]
    model.at_most(Affine({c: i + 2.0 for i, c in enumerate(columns)}), capacity)
    model.at_most(Affine(dict.fromkeys(columns, -1.0)), -least)
    model.objectives["worth"] = Affine({c: -(i + 3.0) for i, c in enumerate(columns)}, 100.0)
    return model


def minimised(model, solver="CBC", gap=0.0, seconds=None):
    return Pulp(model, solver).minimise(
        model.objectives["worth"], seconds=seconds, gap=gap, start=None
    )


def told(sol_status, *, values=(2.0, 0.0, 0.0), elapsed_s=1.0, limits_gap=True, seconds=10.0):
    """Return what an answer of a solver is taken for, to a model worth 100 - 3 x."""
    answer = {
        "sol_status": np.array(sol_status),
        "values": np.array(values),
        "elapsed_s": np.array(elapsed_s),
        "limits_gap": np.array(limits_gap),
    }
    return pulp_backend._answer(answer, Affine({0: -3.0}, 100.0), 1e-9, seconds)


@pytest.mark.parametrize("solver", ["CBC", "HiGHS"])
def test_an_optimum_is_proved(solver):
    answer = minimised(knapsack(), solver)
    assert answer.outcome is Outcome.OPTIMAL
    # The best: one of 2 and one of 3.
    assert answer.values == pytest.approx([1.0, 1.0, 0.0])
    assert answer.bound == pytest.approx(93.0, rel=1e-6)
    assert answer.bound <= 93.0


def test_added_rows_count():
    model = knapsack()
    backend = Pulp(model, "CBC")
    extra = knapsack(least=2.5)
    backend.add_rows(list(extra.rows))
    answer = backend.minimise(model.objectives["worth"], seconds=None, gap=0.0, start=None)
    assert answer.outcome is Outcome.INFEASIBLE
    assert answer.bound == np.inf


def test_a_gap_widens_the_bound():
    assert minimised(knapsack(), gap=0.5).bound <= 93.0 * 0.5
    assert minimised(knapsack(), gap=1.0).bound == -np.inf


def test_the_relaxation_gives_optimum_and_reduced_costs():
    model = knapsack()
    optimum, growth = Pulp(model, "CBC").relax(model.objectives["worth"], seconds=None)
    # Twice the one that is worth 3/2 of what it takes, and a third of the next.
    assert optimum == pytest.approx(100 - 6 - 4 / 3)
    assert growth.shape == (3,)


def test_a_solution_without_proof_has_no_bound():
    for answer in (
        told(pulp.LpSolutionIntegerFeasible),
        told(pulp.LpSolutionOptimal, limits_gap=False),
        told(pulp.LpSolutionOptimal, elapsed_s=9.9),
    ):
        assert answer.outcome is Outcome.STOPPED
        assert answer.values[0] == 2.0
        assert answer.bound == -np.inf


def test_infeasible_at_the_time_limit_is_not_believed():
    assert told(pulp.LpSolutionInfeasible).outcome is Outcome.INFEASIBLE
    late = told(pulp.LpSolutionInfeasible, elapsed_s=9.9)
    assert (late.outcome, late.values, late.bound) == (Outcome.STOPPED, None, -np.inf)


@pytest.mark.parametrize(
    "status",
    [pulp.LpSolutionNoSolutionFound, pulp.LpSolutionUnbounded],
)
def test_no_solution_is_no_answer(status):
    answer = told(status)
    assert (answer.outcome, answer.values, answer.bound) == (Outcome.STOPPED, None, -np.inf)


def test_a_solver_is_found_by_either_name_in_any_case():
    assert resolved("cbc") == resolved("pulp_cbc_cmd") == "PULP_CBC_CMD"
    assert resolved("HIGHS") == "HiGHS"
    assert "CHOCO_CMD" not in available()


@pytest.mark.parametrize("backend", ["pulp:", "pulp:magic"])
def test_an_absent_solver_is_refused_with_those_that_are_there(backend):
    with pytest.raises(InvalidInputError) as raised:
        solve(filter_job(50_000.0), filter_cluster(1e6), backend=backend)
    assert f"there is no back end '{backend}'" in str(raised.value)
    assert "pulp:CBC" in raised.value.cure
    assert "pulp:HIGHS" in raised.value.cure


def test_a_solver_that_fails_is_named_with_its_last_words(monkeypatch):
    # It is told of a solver that is not there: as if a licence were missing.
    backend = Pulp(knapsack(), "CBC")
    monkeypatch.setattr(backend, "_solver", "GUROBI_CMD")
    with pytest.raises(InvalidInputError, match=r"pulp:CBC failed \(1\): .*(?i:gurobi)"):
        backend.minimise(Affine({0: 1.0}), seconds=None, gap=0.0, start=None)


def test_a_solver_that_ignores_its_limit_is_ended(tmp_path, monkeypatch):
    # Python alone takes longer to start than this allows.
    monkeypatch.setattr(pulp_backend, "_GRACE_S", -0.1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answer = minimised(knapsack(), seconds=0.1)
    assert (answer.outcome, answer.values, answer.bound) == (Outcome.STOPPED, None, -np.inf)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_in_a_folder_with_blanks_or_where_one_stands(tmp_path, monkeypatch):
    folder, here = tmp_path / "with a blank", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(here)
    result = solve(filter_job(50_000.0), filter_cluster(1e6), backend="pulp:CBC")
    assert result.status is Status.OPTIMAL
    assert result.backend == "pulp:CBC"
    assert list(folder.iterdir()) == list(here.iterdir()) == []


def processes_below(folder):
    """Return the processes whose working folder lies in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_no_solver_outlives_the_caller(signal_number, tmp_path):
    # CBC is given a market split problem that it cannot solve in the time of this test.
    code = """
import signal
import tempfile
import numpy as np
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.linear.pulp_backend import Pulp
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(1)
model = LinearModel()
columns = [model.column(Kind.BINARY) for _ in range(60)]
slack = [model.column(Kind.REAL, 1e6) for _ in range(14)]
for i in range(7):
    own = random.integers(0, 100, 60)
    terms = {c: float(v) for c, v in zip(columns, own)}
    model.equal(Affine({**terms, slack[2 * i]: 1.0, slack[2 * i + 1]: -1.0}), float(own.sum() // 2))
Pulp(model, "CBC").minimise(Affine(dict.fromkeys(slack, 1.0)), seconds=600, gap=0.0, start=None)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while len(processes_below(tmp_path)) < 2 and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        assert len(processes_below(tmp_path)) == 2, "PuLP's process and CBC"
        process.send_signal(signal_number)
        said = process.communicate(timeout=60)[1].decode()
        while processes_below(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert processes_below(tmp_path) == []
        if signal_number is signal.SIGINT:
            assert said.splitlines()[-1] == "KeyboardInterrupt"
            assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_gap_and_time_limit_reach_the_solver(monkeypatch):
    seen = []
    run = pulp_backend.subprocess.Popen

    def noted(argv, **more):
        seen.append(json.loads(argv[-1]))
        return run(argv, **more)

    monkeypatch.setattr(pulp_backend.subprocess, "Popen", noted)
    minimised(knapsack(), gap=0.01, seconds=30.0)
    asked = {"name": "PULP_CBC_CMD", "seconds": 30.0, "gap": 0.01, "threads": 1}
    assert seen == [asked]
