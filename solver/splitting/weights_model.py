"""The linear program of the weights: fewest WAN bytes, then the lowest fullest limit."""

from dataclasses import dataclass

import numpy as np

from edgeplace.model import LimitKind
from edgeplace.solver.arrays import Floats
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.problem import Problem
from edgeplace.solver.splitting.effects import Amounts, Effects
from edgeplace.solver.tolerances import NO_UNIT, WEIGHTS_ROOM

_CAP_UNIT = 1e3
"""What the least `wan` is scaled to in its row: a solver's absolute tolerance is little there."""

Rooms = dict[LimitKind, Floats]
"""Room of each link, node and subtask."""


@dataclass(frozen=True)
class WeightsFound:
    """A solution: `wan` of the linear model, and its bound."""

    values: Floats
    """Of each column of `Effects`."""
    hold: bool
    """False: no weights hold the limits. Those are then the ones with the least utilisation."""
    bound: float
    """No weights that hold have a lower `wan`; of those that do not hold, infinite."""


def solve_weights(problem: Problem, found: Effects, rooms: Rooms) -> WeightsFound:
    """Return the weights with least `wan`, and of those the most even ones."""
    # HiGHS loads when a split is asked for.
    from edgeplace.solver.linear.highs import Milp

    amounts = {
        LimitKind.LINK_BANDWIDTH: found.least_links,
        LimitKind.NODE_CPU: found.cores,
        LimitKind.SUBTASK_BUSY: found.busy,
    }
    price = problem.network.price
    constant, of_weight = _not_negative(
        found, float(price @ found.links.constant), price @ found.links.of_weight
    )
    model, columns = _columns(found)
    for kind, amount in amounts.items():
        _rows(model, amount, rooms[kind], columns, None)
    unit = max(float(of_weight.max(initial=0.0)), NO_UNIT)
    goal = Affine.of(columns, of_weight / unit)
    answer = Milp(model).minimise(goal, seconds=None, gap=0.0, start=None)
    if answer.values is None:
        if answer.outcome is not Outcome.INFEASIBLE:
            raise AssertionError(f"a linear program ended as {answer.outcome}")
        return WeightsFound(_evenest(amounts, rooms, found, None), False, np.inf)
    least = float(of_weight @ answer.values[columns]) / unit
    total = least + constant / unit
    cap = Affine().add(goal, _CAP_UNIT / total) if total > 0 else goal
    most = _CAP_UNIT / total * (least + WEIGHTS_ROOM * total) if total > 0 else 0.0
    # From the multipliers, whatever the solver's tolerances let in.
    proved = Milp(model).relax(goal, seconds=None)
    bound = unit * min(proved[0], least) + constant if proved else constant
    return WeightsFound(_evenest(amounts, rooms, found, (cap, most)), True, bound)


def _not_negative(found: Effects, constant: float, of_weight: Floats) -> tuple[float, Floats]:
    """Return an amount without negative parts: the weights of a site sum to 1."""
    shifted = of_weight.copy()
    for o, s in sorted(set(zip(found.operator.tolist(), found.site.tolist(), strict=True))):
        of_site = (found.operator == o) & (found.site == s)
        least = float(of_weight[of_site].min())
        shifted[of_site] -= least
        constant += least
    return constant, shifted


def _columns(found: Effects) -> tuple[LinearModel, np.ndarray]:
    model = LinearModel()
    columns = model.columns(Kind.REAL, found.joined.astype(float))
    for o, s in sorted(set(zip(found.operator.tolist(), found.site.tolist(), strict=True))):
        of_site = columns[(found.operator == o) & (found.site == s)]
        model.equal(Affine(dict.fromkeys(of_site.tolist(), 1.0)), 1.0)
    return model, columns


def _rows(
    model: LinearModel, amount: Amounts, room: Floats, columns: np.ndarray, fullest: int | None
) -> None:
    """State that each amount is at most its room, or that share of it which a column has."""
    for i in np.flatnonzero(np.isfinite(room) & (abs(amount.of_weight).max(axis=1) > 0)).tolist():
        unit = float(room[i]) if room[i] > 0 else 1.0
        used = Affine.of(columns, amount.of_weight[i] / unit)
        used.constant = float(amount.constant[i]) / unit
        if fullest is not None:
            used.add_term(fullest, -1.0)
        model.at_most(used, 0.0 if fullest is not None else float(room[i]) / unit)


def _evenest(
    amounts: dict[LimitKind, Amounts],
    rooms: Rooms,
    found: Effects,
    cap: tuple[Affine, float] | None,
) -> Floats:
    """Return the weights whose fullest limit is least full, of those that keep the cap."""
    # HiGHS loads when a split is asked for.
    from edgeplace.solver.linear.highs import Milp

    model, columns = _columns(found)
    fullest = model.column(Kind.REAL, 1.0 if cap else 1e12)
    for kind, amount in amounts.items():
        _rows(model, amount, rooms[kind], columns, fullest)
    if cap:
        model.at_most(*cap)
    answer = Milp(model).minimise(Affine({fullest: 1.0}), seconds=None, gap=0.0, start=None)
    if answer.values is None:
        raise AssertionError(f"a linear program with a solution ended as {answer.outcome}")
    return np.asarray(answer.values[columns], float)
