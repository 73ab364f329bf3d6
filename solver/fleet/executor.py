"""Where copies are priced: here, or wherever an executor takes them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from edgeplace.solver.fleet.part import Part

R = TypeVar("R")


class Spread(Protocol):
    """Parts that were taken somewhere, and stay there."""

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return what a function says of each part, in their order."""

    def close(self) -> None:
        """Let go of the parts."""


class Executor(Protocol):
    """Takes parts to where they are priced, once, and then asks them again and again."""

    def spread(self, parts: Sequence[Part]) -> Spread:
        """Take parts there."""


class Threads:
    """An executor on this machine; NumPy's products let threads run side by side."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def spread(self, parts: Sequence[Part]) -> "_Here":
        """Keep parts in memory."""
        return _Here(parts, self._workers)


class _Here:
    def __init__(self, parts: Sequence[Part], workers: int) -> None:
        self._parts, self._workers = parts, workers

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return what a function says of each part, in their order."""
        if self._workers == 1:
            return [function(part) for part in self._parts]
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(function, self._parts))

    def close(self) -> None:
        """Keep nothing."""
        self._parts = ()
