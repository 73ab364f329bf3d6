"""Input and answer of the published methods."""

import time
from dataclasses import dataclass

from edgeplace.solver.arrays import Ints


@dataclass(frozen=True)
class Budget:
    """The time that a method has, and the seed of its random choices."""

    time_limit_s: float | None = None
    """Wall time; None: until the method ends by itself."""
    seed: int = 0

    def deadline(self) -> float:
        """Return the monotonic time at which a search that begins now must end."""
        return time.monotonic() + (float("inf") if self.time_limit_s is None else self.time_limit_s)


UNLIMITED = Budget()


@dataclass(frozen=True)
class Found:
    """The answer of a method. The evaluator checks whether the assignment is valid."""

    assignment: Ints | None
    """TaskManager of each subtask, shape (n_subtasks,); None: the method has no answer."""
    bound: float | None = None
    """No plan has a lower `wan`; infinite: none exists; None: the method proves nothing."""
