"""What the published methods are given, and what they answer."""

import time
from dataclasses import dataclass

from edgeplace.solver.arrays import Ints


@dataclass(frozen=True)
class Budget:
    """How long a method may search, and the seed of its random choices."""

    time_limit_s: float | None = None
    """Wall time; None: until the method ends by itself."""
    seed: int = 0

    def deadline(self) -> float:
        """Return the monotonic time at which a search that begins now must end."""
        return time.monotonic() + (float("inf") if self.time_limit_s is None else self.time_limit_s)


UNLIMITED = Budget()


@dataclass(frozen=True)
class Found:
    """What a method found. The evaluator says whether the assignment holds."""

    assignment: Ints | None
    """TaskManager of each subtask, shape (n_subtasks,); None: the method has no answer."""
    bound: float | None = None
    """No plan has a lower `wan`; infinite: none exists; None: the method proves nothing."""
