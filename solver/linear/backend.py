"""The interface that every back end has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.linear.model import Affine, Row


class Outcome(Enum):
    """The end of a minimisation."""

    OPTIMAL = "optimal"
    STOPPED = "stopped"
    """By the clock or the user; there may be values."""
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class Answer:
    """The answer of a back end; `values` of the columns are None if it found no solution."""

    outcome: Outcome
    values: NDArray[np.float64] | None
    bound: float
    """No solution has a lower objective."""


class SolverInterrupt(KeyboardInterrupt):
    """Ctrl-C while a solver ran; `answer` is what it had by then."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class Backend(Protocol):
    """A solver loaded with one model, to which rows may be added."""

    name: str

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows."""

    def minimise(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        gap: float,
        start: Mapping[int, float] | None,
        found: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> Answer:
        """Minimise an objective over the rows so far.

        Parameters
        ----------
        seconds
            Wall time that is left; None: no limit.
        gap
            Relative gap at which the search may stop.
        start
            Column -> value of a solution to start from; only some columns need be given.
        found
            Called with the values of each better solution, soon after it was found.

        Raises
        ------
        SolverInterrupt
            On Ctrl-C, if the solver can say what it had by then, else `KeyboardInterrupt`.
        """

    def relax(
        self,
        objective: Affine,
        *,
        seconds: float | None,
        tighten: Callable[[NDArray[np.float64]], Sequence[Row]] | None = None,
    ) -> tuple[float, NDArray[np.float64]] | None:
        """Minimise an objective over the rows so far, with all columns continuous.

        Parameters
        ----------
        tighten
            Gives rows that the values of the columns break and no whole solution does. They are
            added for good, and the relaxation is solved again.

        Returns
        -------
        tuple or None
            The optimum, and by how much it grows at least for each unit of a column that is 0 in
            it; None if the back end does not know.
        """
