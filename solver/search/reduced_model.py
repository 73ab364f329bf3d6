"""A model in place of the problem's own, and the way from its solutions back to plans."""

from dataclasses import dataclass
from typing import Protocol

from edgeplace.model import Evaluation
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.formulation.bundle_cuts import Bundles
from edgeplace.solver.linear.model import LinearModel, Row


@dataclass(frozen=True)
class Undealt:
    """A solution in which a group of TaskManagers gets what these cannot share out.

    Attributes
    ----------
    full
        The TaskManagers of such groups, shape (n_tms,).
    near
        Where subtasks may run in plans that differ in what such groups get, shape (n_subtasks,
        n_tms).
    """

    full: Bools
    near: Bools


class ReducedModel(Protocol):
    """A model of a reduction, and how its solutions are mapped back to plans."""

    @property
    def model(self) -> LinearModel:
        """The linear model."""

    @property
    def rho(self) -> int | None:
        """Column of the largest utilisation; None unless `throughput` is an objective."""

    def bundles(self) -> Bundles | None:
        """Return what finds rows that tighten the model, None if there is nothing of the kind."""

    def start(self, assignment: Ints) -> dict[int, float] | None:
        """Return the columns of a plan, None if one of them does not exist."""

    def assignment(self, values: Floats) -> Ints | Undealt:
        """Return a plan that column values stand for, shape (n_subtasks,)."""

    def within(self, growth: Floats, slack: float) -> Bools:
        """Return where subtasks may run, by the reduced costs; see `Formulation.within`."""

    def missed(self, values: Floats, assignment: Ints, found: Evaluation) -> list[Row] | None:
        """Return rows for what the model leaves out, None if only a larger model can state it."""
