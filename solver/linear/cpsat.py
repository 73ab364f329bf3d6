"""The CP-SAT back end: the same model in whole numbers, scaled by us.

CP-SAT knows integers only. Every coefficient is rounded so that no solution is lost (down in
``<=`` rows, whose columns are never negative), so a proof of infeasibility and a bound stay true;
the evaluator removes the rare solution that rounding lets in.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from itertools import count
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from edgeplace.solver.clock import afford, look
from edgeplace.solver.clock import running as clock_of_call
from edgeplace.solver.linear import left_behind
from edgeplace.solver.linear.backend import Answer, Outcome, SolverInterrupt
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, Row, power_of_two
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.tolerances import CANCELLATION, INTEGRALITY, ROUNDING

_REAL_STEPS = float(1 << 34)
"""Whole steps into which the range of a real column is cut."""
_LARGEST_SUM = float(1 << 46)
"""With larger ones OR-Tools 9.15 has called models infeasible that are not."""
_ENTRY_S = 5e-6
"""Time for which CP-SAT may not look at the clock, for each coefficient, measured."""
_COLUMN_S = 5e-6
"""Time to make a column, measured."""
_HALVINGS = 100
"""Conflicts for each half of the objective's range that CP-SAT tries to rule out first."""
_FIRST_TRY = 0.5
"""Of CP-SAT's deterministic time, some seconds at most. It may branch for ever without a conflict
where numbers are large. So it begins anew in another way, with twice the time each time (Luby,
Sinclair and Zuckerman, "Optimal speedup of Las Vegas algorithms", IPL 47, 1993)."""
_LOOK_S = 0.1
"""How often who waits for CP-SAT looks at the clock."""


class CpSat:
    """A `LinearModel` in CP-SAT."""

    name = "cp-sat"

    def __init__(self, model: LinearModel, seed: int = 0, workers: int | None = None) -> None:
        afford(_COLUMN_S * len(model.upper))
        self._model = cp_model.CpModel()
        self._real = [kind is Kind.REAL for kind in model.kinds]
        self._steps = [
            power_of_two(_REAL_STEPS / max(upper, 1.0)) if real else 1.0
            for upper, real in zip(model.upper, self._real, strict=True)
        ]
        self._top = [
            math.ceil(upper * steps) for upper, steps in zip(model.upper, self._steps, strict=True)
        ]
        self._columns = [
            self._model.new_int_var(0, top, f"c{i}") for i, top in enumerate(self._top)
        ]
        self._seed = seed
        self._entries = model.n_entries
        # One worker with full linearisation proves fast; 2 to 7 workers have no such worker.
        self._workers = workers if workers and workers >= 8 else 1
        self.add_rows(model.rows)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows; see `Backend`."""
        for row in rows:
            look()
            coefficients, scale = self._scaled(row.terms, row.bound)
            # A real value falls between two steps: each may cost a row one step.
            steps = sum(abs(v) / self._steps[c] for c, v in row.terms.items() if self._real[c])
            bound = (row.bound + steps) * scale
            columns = [self._columns[c] for c in row.terms]
            total = cp_model.LinearExpr.weighted_sum(columns, coefficients)
            if row.equality:
                self._model.add(total == round(bound))
            else:
                # A bound of 0 may be the rounding of what cancelled.
                size = max(map(abs, coefficients), default=0)
                slack = ROUNDING * abs(bound) + CANCELLATION * size + INTEGRALITY
                self._model.add(total <= math.floor(bound + slack))

    def _scaled(self, terms: Mapping[int, float], bound: float) -> tuple[list[int], float]:
        """Return whole coefficients for the whole columns, rounded down, and the scale used."""
        plain = [v / self._steps[c] for c, v in terms.items()]
        if all(v == int(v) for v in plain) and bound == int(bound):
            return [int(v) for v in plain], 1.0
        # A column that can only be 0 counts as well: its coefficient must fit too.
        largest = sum(abs(v) * max(self._top[c], 1) for v, c in zip(plain, terms, strict=True))
        # Multiplying by a power of two is exact, so rounding happens once.
        scale = power_of_two(_LARGEST_SUM / max(largest, abs(bound), 1e-200))
        return [math.floor(v * scale) for v in plain], scale

    def minimise(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        gap: float,
        start: Mapping[int, float] | None,
        found: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> Answer:
        """Minimise an objective; see `Backend`. It begins without the start.

        CP-SAT follows a hint until it meets a conflict, which may be never (OR-Tools 9.15).
        """
        clock = clock_of_call()
        clock.afford(self._entries * _ENTRY_S)
        seconds = min((s for s in (seconds, clock.left()) if s is not None), default=None)
        coefficients, scale = self._scaled(objective.terms, 0.0)
        columns = [self._columns[c] for c in objective.terms]
        self._model.minimize(cp_model.LinearExpr.weighted_sum(columns, coefficients))
        ends = None if seconds is None else time.monotonic() + seconds
        tells = _Found(self._values, found) if found else None
        bound, best, values = -math.inf, math.inf, None
        # It ends: without a limit each try is twice as long as the one before, and CP-SAT is exact.
        for tried in count():
            solver = self._solver(gap, ends, tried)
            status, finished = run(solver, self._model, tells)
            if status == cp_model.INFEASIBLE:
                return Answer(Outcome.INFEASIBLE, None, math.inf)
            if status == cp_model.MODEL_INVALID:
                raise RuntimeError(f"CP-SAT refuses the model: {self._model.validate()}")
            bound = max(bound, solver.best_objective_bound)
            if status != cp_model.UNKNOWN and solver.objective_value < best:
                best, values = solver.objective_value, self._values(solver.value)
            over = ends is not None and time.monotonic() >= ends
            if status == cp_model.OPTIMAL or not finished or over:
                break
        # Real columns fall between two steps: what is minimised may be less by one of each.
        lost = sum(v / self._steps[c] for c, v in objective.terms.items() if self._real[c])
        # Differences of large numbers are no more exact than those are.
        size = sum(abs(v) * self._top[c] / self._steps[c] for c, v in objective.terms.items())
        lost += CANCELLATION * (size + abs(objective.constant))
        bound = bound / scale - lost + objective.constant
        proved = status == cp_model.OPTIMAL
        answer = Answer(Outcome.OPTIMAL if proved else Outcome.STOPPED, values, bound)
        if not finished:
            raise SolverInterrupt(answer)
        return answer

    def _solver(self, gap: float, ends: float | None, tried: int) -> cp_model.CpSolver:
        """Return CP-SAT as the next try is to run it."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = self._workers
        if self._workers == 1:
            # Only with relaxations does it branch for ever; without, it proves large models slowly.
            solver.parameters.linearization_level = 0 if tried % 2 else 2
            # Else a conflict may raise the bound of 10^10 steps by a few thousand only.
            solver.parameters.binary_search_num_conflicts = _HALVINGS
            solver.parameters.max_deterministic_time = _FIRST_TRY * 2**tried
        solver.parameters.random_seed = self._seed + tried
        solver.parameters.relative_gap_limit = gap
        if ends is not None:
            solver.parameters.max_time_in_seconds = max(ends - time.monotonic(), 0.01)
        return solver

    def _values(self, value: Callable[[cp_model.IntVar], int]) -> NDArray[np.float64]:
        """Return the values of the model's columns."""
        whole = np.array([value(c) for c in self._columns], float)
        values: NDArray[np.float64] = whole / np.array(self._steps)
        return values

    def relax(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        tighten: Callable[[NDArray[np.float64]], Sequence[Row]] | None = None,
    ) -> None:
        """Return None: CP-SAT has whole numbers only; see `Backend`."""


def run(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    found: "_Found | None" = None,
) -> tuple[cp_model.CpSolverStatus, bool]:
    """Run CP-SAT beside the main thread, so that Ctrl-C can ask it to stop and keep what it has.

    Where the time of the call is long over, CP-SAT is left behind: its thread ends with its search
    or with the process, and tells nothing more. Searches share nothing, so others may be begun.

    Returns
    -------
    tuple
        The status, and False if it was asked to.

    Raises
    ------
    OutOfTimeError
        If CP-SAT was left behind.
    """
    clock = clock_of_call()
    # Its own handler would stop the search as if the time were up, and tell nobody.
    solver.parameters.catch_sigint_signal = False
    # The presolve of OR-Tools 9.15 loses optima, and all plans where numbers are large
    # (google/or-tools#5293 and tests/solver/linear/test_cpsat.py). No part of it is known to be all
    # that does.
    solver.parameters.cp_model_presolve = False
    # Not an executor's: Ctrl-C inside `submit` would leave a search that nobody can stop.
    running: Future[cp_model.CpSolverStatus] = Future()

    def search() -> None:
        if running.set_running_or_notify_cancel():
            try:
                running.set_result(solver.solve(model, found))
            except BaseException as error:
                running.set_exception(error)

    thread = Thread(target=search, daemon=True)
    try:
        thread.start()
        while not wait([running], timeout=_LOOK_S).done:
            if clock.overdue():
                raise OutOfTimeError("CP-SAT does not look at the clock")
        return running.result(), True
    except BaseException as error:
        if running.cancel():
            raise
        # It cannot be stopped before it has begun.
        while not running.done():
            solver.stop_search()
            wait([running], timeout=_LOOK_S)
            if clock.overdue():
                if found:
                    found.leave()
                # Without solutions to tell, it enters Python at its end only.
                left_behind.leave(CpSat.name, thread, found.leave if found else lambda stay: None)
                raise
        if isinstance(error, KeyboardInterrupt):
            return running.result(), False
        raise


class _Found(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    """Passes on each better solution."""

    def __init__(
        self,
        values: Callable[[Callable[[cp_model.IntVar], int]], NDArray[np.float64]],
        found: Callable[[NDArray[np.float64]], None],
    ) -> None:
        super().__init__()
        self._values = values
        self._found = found
        self._instead: Callable[[], None] | None = None
        self._passing = Lock()

    def leave(self, do: Callable[[], None] = lambda: None) -> None:
        """Pass on nothing more, and do this instead."""
        with self._passing:
            self._instead = do

    def on_solution_callback(self) -> None:
        """Pass on the solution that CP-SAT has now."""
        with self._passing:
            instead = self._instead
            if instead is None:
                self._found(self._values(self.value))
        if instead is not None:
            instead()
