"""The MILP back end: the model built with PuLP, solved by HiGHS."""

from collections.abc import Mapping

import highspy
import numpy as np
import pulp

from edgeplace.solver.backend import Answer, Outcome
from edgeplace.solver.linear_model import Affine, Kind, LinearModel, Row, power_of_two

_PROOF_GAP = 1e-7
"""Below the 1e-6 that edgeplace calls optimal; HiGHS stops at 1e-4 unless told."""


class Milp:
    """A `LinearModel` in HiGHS. Incumbents and bounds survive a time limit or Ctrl-C."""

    name = "milp"
    coarse = False

    def __init__(self, model: LinearModel, seed: int = 0, workers: int | None = None) -> None:
        problem = pulp.LpProblem("placement", pulp.LpMinimize)
        columns = [
            problem.add_variable(
                f"c{i:09d}", 0, upper, pulp.LpInteger if kind is Kind.BINARY else pulp.LpContinuous
            )
            for i, (upper, kind) in enumerate(zip(model.upper, model.kinds, strict=True))
        ]
        # Every column stands in the objective, else PuLP would leave out those in no row.
        problem.setObjective(pulp.LpAffineExpression(dict.fromkeys(columns, 0.0)))
        for i, row in enumerate(model.rows):
            sense = pulp.LpConstraintEQ if row.equality else pulp.LpConstraintLE
            terms = pulp.LpAffineExpression({columns[c]: v for c, v in row.terms.items()})
            problem.addConstraint(pulp.LpConstraint(terms, sense, f"r{i}", row.bound))
        # PuLP orders columns by name, hence the padded names: column i stays column i.
        solver = pulp.HiGHS(msg=False)
        solver.createAndConfigureSolver(problem)
        solver.buildSolverModel(problem)
        self._highs = problem.solverModel
        self._columns = len(columns)
        for option, value in (
            ("output_flag", False),
            ("threads", workers or 1),
            ("random_seed", seed),
            ("mip_abs_gap", 0.0),
            ("mip_feasibility_tolerance", 1e-7),
        ):
            self._highs.setOptionValue(option, value)

    def add_rows(self, rows: list[Row]) -> None:
        """Add rows; see `Backend`."""
        for row in rows:
            lower = row.bound if row.equality else -highspy.kHighsInf
            columns = np.array(list(row.terms), np.int32)
            values = np.array(list(row.terms.values()))
            self._highs.addRow(lower, row.bound, len(columns), columns, values)

    def minimise(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        gap: float,
        start: Mapping[int, float] | None,
    ) -> Answer:
        """Minimise an objective; see `Backend`."""
        highs = self._highs
        cost = np.zeros(self._columns)
        cost[list(objective.terms)] = list(objective.terms.values())
        scale = power_of_two(1e4 / max(np.abs(cost).max(initial=0.0), 1e-300))
        highs.changeColsCost(self._columns, np.arange(self._columns, dtype=np.int32), cost * scale)
        highs.changeObjectiveOffset(objective.constant * scale)
        highs.setOptionValue("mip_rel_gap", max(gap, _PROOF_GAP))
        highs.setOptionValue("time_limit", highspy.kHighsInf if seconds is None else seconds)
        highs.clearSolver()
        if start:
            columns = np.array(list(start), np.int32)
            highs.setSolution(len(columns), columns, np.array(list(start.values())))
        _run(highs)
        status = highs.getModelStatus()
        info = highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Answer(Outcome.INFEASIBLE, None, float("inf"))
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(highs.getSolution().col_value) if found else None
        proved = status == highspy.HighsModelStatus.kOptimal and found
        bound = info.mip_dual_bound / scale if np.isfinite(info.mip_dual_bound) else -float("inf")
        return Answer(Outcome.OPTIMAL if proved else Outcome.STOPPED, values, bound)


def _run(highs: highspy.Highs) -> None:
    """Run HiGHS beside the main thread, so that Ctrl-C can ask it to stop and keep what it has."""
    highs.HandleUserInterrupt = True
    highs.startSolve()
    try:
        while not highs.wait(0.1)[0]:
            pass
    except KeyboardInterrupt:
        highs.cancelSolve()
        highs.wait()
        raise
