"""The PuLP back end: the same model to CBC, SCIP, Gurobi or whatever PuLP finds on this machine.

PuLP passes on no bound and no partial solution to start from, and it cannot be interrupted. So a
bound is claimed only where the solver proved a solution optimal within the gap that it was given,
and the solver runs in a process of its own (`pulp_process.py`), in a private folder.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from edgeplace.model import InvalidInputError
from edgeplace.solver.linear.backend import Answer, Outcome
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, Row, power_of_two
from edgeplace.solver.tolerances import PULP_DIGITS, PULP_GAP

PREFIX = "pulp:"
_FAMILIES = {
    "CBC": ("PULP_CBC_CMD", "COIN_CMD"),
    "COPT": ("COPT", "COPT_DLL", "COPT_CMD"),
    "CPLEX": ("CPLEX_PY", "CPLEX_CMD"),
    "GLPK": ("PYGLPK", "GLPK_CMD"),
    "GUROBI": ("GUROBI", "GUROBI_CMD"),
    "HIGHS": ("HiGHS", "HiGHS_CMD"),
    "SCIP": ("SCIP_PY", "SCIP_CMD", "FSCIP_CMD"),
    "XPRESS": ("XPRESS_PY", "XPRESS"),
}
"""What a solver is called -> PuLP's names of the ways to it, the best first."""
_UNFIT = frozenset({"CHOCO_CMD", "CPSAT_PY", "CP_SAT"})
"""They round continuous columns: what they prove is not proved of the model."""
_AT_THE_LIMIT = 0.95
"""Share of the time limit from which on a proof is not believed: some solvers, and some readers of
their answers in PuLP, take "out of time" for "optimal" or "infeasible"."""
_GRACE_S = 5.0
"""To start Python, to write the model out, and for a solver to notice the time."""


@cache
def available() -> tuple[str, ...]:
    """Return PuLP's names of the fit solvers that it finds on this machine."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        found = pulp.listSolvers(onlyAvailable=True)
    return tuple(dict.fromkeys(n for n in found if n not in _UNFIT))


def resolved(name: str) -> str:
    """Return PuLP's name of a solver on this machine.

    Parameters
    ----------
    name
        PuLP's name (`PULP_CBC_CMD`) or the solver's (`CBC`); case does not matter.

    Raises
    ------
    InvalidInputError
        If PuLP does not find it on this machine.
    """
    here = {n.upper(): n for n in available()}
    for way in (name, *_FAMILIES.get(name.upper(), ())):
        if way.upper() in here:
            return here[way.upper()]
    found = [f for f, ways in _FAMILIES.items() if set(ways) & set(available())]
    found += [n for n in available() if not any(n in ways for ways in _FAMILIES.values())]
    raise InvalidInputError(
        f"there is no back end {PREFIX + name!r}: PuLP does not find that solver on this machine",
        "use one that it finds: " + ", ".join(PREFIX + n for n in found),
    )


class Pulp:
    """A `LinearModel` in a solver that PuLP finds."""

    coarse = False

    def __init__(self, model: LinearModel, solver: str, workers: int | None = None) -> None:
        self.name = PREFIX + solver
        self._solver = resolved(solver)
        self._workers = workers
        self._model = model
        self._rows = list(model.rows)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows; see `Backend`."""
        self._rows.extend(rows)

    def minimise(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        gap: float,
        start: Mapping[int, float] | None,
        found: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> Answer:
        """Minimise an objective; see `Backend`.

        Raises
        ------
        InvalidInputError
            If the solver fails: it lacks a licence, say.
        """
        gap = max(gap, PULP_GAP)
        request = {
            "name": self._solver,
            "seconds": None if seconds is None else max(seconds, 0.1),
            "gap": gap,
            "threads": self._workers or 1,
        }
        arrays = self._arrays(objective)
        with tempfile.TemporaryDirectory(prefix="edgeplace-pulp-") as folder:
            np.savez(Path(folder) / "model.npz", **arrays)
            if not self._run(folder, request):
                return Answer(Outcome.STOPPED, None, -np.inf)
            with np.load(Path(folder) / "answer.npz") as answer:
                told = dict(answer)
        return _answer(told, objective, gap, seconds)

    def relax(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        tighten: Callable[[NDArray[np.float64]], Sequence[Row]] | None = None,
    ) -> tuple[float, NDArray[np.float64]] | None:
        """Minimise with all columns continuous, in HiGHS; see `Backend`."""
        # Not every solver gives reduced costs through PuLP.
        model = LinearModel(self._model.upper, self._model.kinds, [], list(self._rows))

        def noted(values: NDArray[np.float64]) -> Sequence[Row]:
            rows = tighten(values) if tighten else ()
            self.add_rows(rows)
            return rows

        return Milp(model).relax(objective, seconds=seconds, tighten=noted)

    def _arrays(self, objective: Affine) -> dict[str, Any]:
        """Return the model as arrays; the largest coefficient of the objective is about 1e4."""
        cost = np.zeros(len(self._model.upper))
        cost[list(objective.terms)] = list(objective.terms.values())
        scale = power_of_two(1e4 / max(np.abs(cost).max(initial=0.0), 1e-300))
        rows = self._rows
        return {
            "upper": np.array(self._model.upper, float),
            "whole": np.array([k in (Kind.BINARY, Kind.COUNT) for k in self._model.kinds], bool),
            "cost": cost * scale,
            "constant": np.array(objective.constant * scale),
            "column": np.array([c for r in rows for c in r.terms], np.int64),
            "value": np.array([v for r in rows for v in r.terms.values()], float),
            "ends": np.cumsum([len(r.terms) for r in rows]).astype(np.int64),
            "bound": np.array([r.bound for r in rows], float),
            "equality": np.array([r.equality for r in rows], bool),
        }

    def _run(self, folder: str, request: Mapping[str, object]) -> bool:
        """Run the solver in a folder; return False if it was ended because the time was over."""
        seconds = request["seconds"]
        with (Path(folder) / "messages").open("wb") as messages:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    str(Path(__file__).with_name("pulp_process.py")),
                    json.dumps(request),
                ],
                cwd=folder,
                # PuLP splits command lines at blanks, so the folder must not stand in them.
                env={**os.environ, "TMPDIR": ".", "TMP": ".", "TEMP": "."},
                stdin=subprocess.PIPE,
                stdout=messages,
                stderr=messages,
                process_group=0,
            )
            try:
                process.wait(None if seconds is None else float(str(seconds)) + _GRACE_S)
            except subprocess.TimeoutExpired:
                return False
            finally:
                _end(process)
        if not (Path(folder) / "answer.npz").exists():
            said = (Path(folder) / "messages").read_text(errors="replace").strip().splitlines()
            raise InvalidInputError(
                f"the solver {self.name} failed ({process.returncode}): "
                + (said[-1] if said else "no message"),
                "check its installation and licence, or use another back end",
            )
        return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and what it started, if it still runs."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            # It ended by itself in between.
            return
        finally:
            process.wait()
    if process.stdin:
        process.stdin.close()


def _answer(
    told: Mapping[str, NDArray[np.float64]],
    objective: Affine,
    gap: float,
    seconds: float | None,
) -> Answer:
    """Return what a solver's words are worth."""
    in_time = seconds is None or float(told["elapsed_s"]) < _AT_THE_LIMIT * seconds
    solution = int(told["sol_status"])
    if solution == pulp.LpSolutionInfeasible:
        if in_time:
            return Answer(Outcome.INFEASIBLE, None, np.inf)
        return Answer(Outcome.STOPPED, None, -np.inf)
    known = solution in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    values = told["values"] if known and len(told["values"]) else None
    proved = solution == pulp.LpSolutionOptimal and bool(told["limits_gap"]) and in_time
    if values is None or not proved:
        return Answer(Outcome.STOPPED, values, -np.inf)
    value = objective.constant + sum(v * values[c] for c, v in objective.terms.items())
    # Some solvers take the gap as a share of the value, others of the bound.
    gap = max(gap, PULP_DIGITS)
    bound = value - gap / (1 - gap) * abs(value) if gap < 1 else -np.inf
    return Answer(Outcome.OPTIMAL, values, bound)
