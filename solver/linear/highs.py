"""The MILP back end: HiGHS, given the model as arrays."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from queue import SimpleQueue

import highspy
import numpy as np
from highspy.highs import HighsCallbackEvent
from numpy.typing import NDArray

from edgeplace.model.errors import InvalidInputError
from edgeplace.solver.clock import overrun_s, running
from edgeplace.solver.linear import left_behind
from edgeplace.solver.linear.backend import Answer, Outcome, SolverInterrupt
from edgeplace.solver.linear.model import Affine, Block, Kind, LinearModel, Row, power_of_two
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.tolerances import CANCELLATION, FEASIBILITY, HIGHS_GAP, HIGHS_RESOLUTION

_ROUNDS, _STALLED, _LITTLE = 30, 3, 2e-5
"""How often the relaxation is tightened at most, and how often in vain: by less than a share."""
_LOOK_S = 0.1
"""How often who waits for HiGHS looks at the clock."""
_LARGEST = 1e4
"""What the largest coefficient of an objective is scaled to: see `HIGHS_RESOLUTION`."""
_KINDS = {
    Kind.BINARY: highspy.HighsVarType.kInteger,
    Kind.COUNT: highspy.HighsVarType.kInteger,
    Kind.IMPLIED: highspy.HighsVarType.kImplicitInteger,
    Kind.REAL: highspy.HighsVarType.kContinuous,
}
"""Where the presolve of HiGHS 1.13 finds out itself that the binaries decide a column, it does not
round the column's bounds down, and its bound may be too high (ERGO-Code/HiGHS#3274)."""


class Milp:
    """A `LinearModel` in HiGHS. Incumbents and bounds survive a time limit or Ctrl-C.

    Parameters
    ----------
    most_nodes
        Nodes of the search tree after which a minimisation stops; None: no limit.
    """

    name = "milp"

    def __init__(
        self,
        model: LinearModel,
        seed: int = 0,
        workers: int | None = None,
        most_nodes: int | None = None,
    ) -> None:
        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._columns = len(model.upper)
        self._overrun_s = overrun_s(model.n_entries)
        self._kinds = np.array([_KINDS[k].value for k in model.kinds], np.uint8)
        _pass(self._highs, model, self._kinds)
        for option, value in (
            ("threads", workers or 1),
            ("random_seed", seed),
            ("mip_abs_gap", 0.0),
            ("mip_feasibility_tolerance", FEASIBILITY),
        ):
            self._highs.setOptionValue(option, value)
        if most_nodes is not None:
            self._highs.setOptionValue("mip_max_nodes", most_nodes)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows; see `Backend`."""
        _refuse_if_left_behind()
        listed = list(rows)
        upper = np.array([row.bound for row in listed])
        is_equality = np.array([row.equality for row in listed], bool)
        starts = np.cumsum([0, *(len(row.terms) for row in listed)])
        columns = [column for row in listed for column in row.terms]
        values = [value for row in listed for value in row.terms.values()]
        # All at once: each call makes HiGHS arrange the whole matrix anew.
        self._highs.addRows(
            len(listed),
            np.where(is_equality, upper, -highspy.kHighsInf),
            upper,
            len(columns),
            starts[:-1].astype(np.int32),
            np.array(columns, np.int32),
            np.array(values, float),
        )

    def minimise(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        gap: float,
        start: Mapping[int, float] | None,
        found: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> Answer:
        """Minimise an objective; see `Backend`."""
        seconds = self._in_time(seconds)
        highs = self._highs
        scale = self._aim(objective)
        highs.setOptionValue("mip_rel_gap", max(gap, HIGHS_GAP))
        ends = highspy.kHighsInf if seconds is None else time.monotonic() + seconds
        finished = self._search(ends, start, found)
        if finished and self._refuted(objective):
            # Presolve has refuted models that have plans (ERGO-Code/HiGHS#3090, #3296).
            highs.setOptionValue("presolve", "off")
            try:
                finished = self._search(ends, start, found)
            finally:
                highs.setOptionValue("presolve", "choose")
        status = highs.getModelStatus()
        info = highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Answer(Outcome.INFEASIBLE, None, float("inf"))
        solved = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(highs.getSolution().col_value) if solved else None
        proved = status == highspy.HighsModelStatus.kOptimal and solved
        bound = -float("inf")
        if np.isfinite(info.mip_dual_bound):
            doubt = HIGHS_RESOLUTION + HIGHS_GAP * abs(info.mip_dual_bound)
            bound = (info.mip_dual_bound - doubt) / scale
            if not objective.terms:
                bound = objective.constant
        answer = Answer(Outcome.OPTIMAL if proved else Outcome.STOPPED, values, bound)
        if not finished:
            raise SolverInterrupt(answer)
        return answer

    def _search(
        self,
        ends: float,
        start: Mapping[int, float] | None,
        found: Callable[[NDArray[np.float64]], None] | None,
    ) -> bool:
        """Search until a time of the monotonic clock; return False if asked to stop."""
        highs = self._highs
        highs.setOptionValue("time_limit", max(ends - time.monotonic(), 0.0))
        highs.clearSolver()
        if start:
            columns = np.array(list(start), np.int32)
            highs.setSolution(len(columns), columns, np.array(list(start.values())))
        return _run(highs, found)

    def _refuted(self, objective: Affine) -> bool:
        """Return whether HiGHS said that there is no solution, or none beside the start.

        In the second case it says that the start is optimal, and has no bound.
        """
        status = self._highs.getModelStatus()
        optimal = status == highspy.HighsModelStatus.kOptimal
        no_bound = not np.isfinite(self._highs.getInfo().mip_dual_bound)
        return status == highspy.HighsModelStatus.kInfeasible or (
            optimal and no_bound and bool(objective.terms)
        )

    def relax(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        tighten: Callable[[NDArray[np.float64]], Sequence[Row]] | None = None,
    ) -> tuple[float, NDArray[np.float64]] | None:
        """Minimise with all columns continuous; see `Backend`."""
        seconds = self._in_time(seconds)
        highs = self._highs
        scale = self._aim(objective)
        every = np.arange(self._columns, dtype=np.int32)
        highs.changeColsIntegrality(self._columns, every, np.zeros_like(self._kinds))
        ends = np.inf if seconds is None else time.monotonic() + seconds
        highs.clearSolver()
        known: tuple[float, NDArray[np.float64]] | None = None
        stalled = 0
        for _ in range(_ROUNDS):
            highs.setOptionValue("time_limit", float(max(ends - time.monotonic(), 0.0)))
            if not _run(highs):
                raise KeyboardInterrupt
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                break
            solution = highs.getSolution()
            before = known
            known = self._safe(np.array(solution.row_dual), scale, objective)
            least = known[0]
            if before is not None:
                # A row may only turn one optimum into another that is as good.
                stalled = stalled + 1 if least - before[0] < _LITTLE * abs(least) else 0
            if stalled == _STALLED:
                break
            rows = tighten(np.array(solution.col_value)) if tighten else ()
            if not rows:
                break
            self.add_rows(rows)
        highs.changeColsIntegrality(self._columns, every, self._kinds)
        return known

    def _in_time(self, seconds: float | None) -> float | None:
        """Return the time for HiGHS within that of the call that runs.

        Raises
        ------
        OutOfTimeError
            If HiGHS would not look at the clock in time, or was left behind.
        InvalidInputError
            If it was, and this call has no time limit.
        """
        _refuse_if_left_behind()
        clock = running()
        clock.afford(self._overrun_s)
        return min((s for s in (seconds, clock.left()) if s is not None), default=None)

    def _safe(
        self, dual: NDArray[np.float64], scale: float, objective: Affine
    ) -> tuple[float, NDArray[np.float64]]:
        """Return a bound that holds whatever HiGHS's tolerances, and reduced costs to go with it.

        Any multipliers of the rows give a bound (Neumaier and Shcherbina, Math. Program. 99, 2004).
        """
        lp = self._highs.getLp()
        lower, upper = np.array(lp.row_lower_), np.array(lp.row_upper_)
        # A multiplier of a side that has no bound is the solver's rounding.
        dual = np.where(np.isfinite(np.where(dual > 0, lower, upper)), dual, 0.0)
        matrix = lp.a_matrix_
        start, value = np.array(matrix.start_), np.array(matrix.value_)
        outer = np.repeat(np.arange(len(start) - 1), np.diff(start))
        inner = np.array(matrix.index_, np.intp)
        by_row = matrix.format_ == highspy.MatrixFormat.kRowwise
        row, column = (outer, inner) if by_row else (inner, outer)
        part = value * dual[row]
        price = np.bincount(column, weights=part, minlength=self._columns)
        cost = np.zeros(self._columns)
        cost[list(objective.terms)] = list(objective.terms.values())
        cost *= scale
        reduced = cost - price
        # Where large numbers cancel, what is left is rounding, and may be more or less.
        size = np.abs(cost) + np.bincount(column, weights=np.abs(part), minlength=self._columns)
        upper_, lower_ = np.array(lp.col_upper_), np.array(lp.col_lower_)
        used = dual != 0
        sides = dual[used] * np.where(dual > 0, lower, upper)[used]
        at = np.where(reduced < 0, upper_, lower_)
        least = float(sides.sum() + reduced @ at)
        doubt = np.abs(sides).sum() + size @ np.maximum(np.abs(upper_), np.abs(lower_))
        least -= CANCELLATION * float(doubt)
        growth = np.maximum(reduced - CANCELLATION * size, 0.0)
        return least / scale + objective.constant, growth / scale

    def _aim(self, objective: Affine) -> float:
        """Set the objective, and return what it is scaled by."""
        cost = np.zeros(self._columns)
        cost[list(objective.terms)] = list(objective.terms.values())
        # An objective that is constant has no scale.
        largest = float(np.abs(cost).max(initial=0.0))
        scale = power_of_two(_LARGEST / largest) if largest > 0 else 1.0
        every = np.arange(self._columns, dtype=np.int32)
        self._highs.changeColsCost(self._columns, every, cost * scale)
        self._highs.changeObjectiveOffset(objective.constant * scale)
        return scale


def _pass(highs: highspy.Highs, model: LinearModel, kinds: NDArray[np.uint8]) -> None:
    """Pass all columns and rows in one call: one by one they take longer than the proof."""
    start, column, value, lower, upper = [], [], [], [], []
    entries = 0
    single = [_block(row) for row in model.single]
    for block in [*model.blocks, *single]:
        first = np.searchsorted(block.row, np.arange(len(block.bound)))
        start.append(entries + first)
        entries += len(block.row)
        column.append(block.column)
        value.append(block.value)
        upper.append(block.bound)
        lower.append(block.bound if block.equality else np.full(len(block.bound), -np.inf))
    none = np.zeros(0)
    n = len(model.upper)
    highs.passModel(
        n,
        sum(map(len, upper)),
        entries,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.zeros(n),
        np.zeros(n),
        np.array(model.upper, float),
        np.concatenate([none, *lower]),
        np.concatenate([none, *upper]),
        np.concatenate([none, *start, [entries]]).astype(np.int32),
        np.concatenate([none, *column]).astype(np.int32),
        np.concatenate([none, *value]),
        kinds.astype(np.int32),
    )


def _block(row: Row) -> Block:
    columns = np.array(list(row.terms), np.intp)
    values = np.array(list(row.terms.values()), float)
    at = np.zeros(len(columns), np.intp)
    return Block(at, columns, values, np.array([row.bound], float), row.equality)


def _refuse_if_left_behind() -> None:
    """Raise an error if HiGHS still runs for a call that is over: highspy runs one at a time."""
    if not left_behind.at_work(Milp.name):
        return
    if running().limited:
        raise OutOfTimeError("HiGHS still runs for a call that is over")
    raise InvalidInputError(
        "HiGHS still runs for an earlier call, whose time limit it did not keep",
        "solve in a new process",
    )


def _on_entry(highs: highspy.Highs, do: Callable[[], None]) -> None:
    """Have HiGHS call a function when it next asks whether to stop."""
    for event in (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt):
        event.subscribe(lambda _: do())


def _run(highs: highspy.Highs, found: Callable[[NDArray[np.float64]], None] | None = None) -> bool:
    """Run HiGHS beside the main thread, so that Ctrl-C can ask it to stop and keep what it has.

    Where the time of the call is long over, HiGHS is left behind: its thread ends with its search
    or with the process. Until then no other can be begun.

    Returns
    -------
    bool
        False if it was asked to.

    Raises
    ------
    OutOfTimeError
        If HiGHS was left behind.
    """
    clock = running()
    better: SimpleQueue[NDArray[np.float64]] = SimpleQueue()

    def note(event: HighsCallbackEvent) -> None:
        # In HiGHS's thread, and its memory: what is to be done with it waits for ours.
        better.put(np.array(event.data_out.mip_solution))

    highs.HandleUserInterrupt = True
    if found:
        highs.cbMipImprovingSolution += note
    thread = highs.startSolve()
    left = False
    try:
        ended = False
        while not ended:
            ended = highs.wait(_LOOK_S)[0]
            while found and not better.empty():
                found(better.get())
            if not ended and clock.overdue():
                raise OutOfTimeError("HiGHS does not look at the clock")
    except BaseException as error:
        # Whoever raised it waits for it; HiGHS must not go on with what is given up.
        highs.cancelSolve()
        while not highs.wait(_LOOK_S)[0]:
            if clock.overdue():
                left = True
                left_behind.leave(Milp.name, thread, partial(_on_entry, highs))
                raise
        if isinstance(error, KeyboardInterrupt):
            return False
        raise
    finally:
        if found and not left:
            highs.cbMipImprovingSolution -= note
    return True
