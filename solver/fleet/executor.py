"""Executors, which compute the costs of replicas in this process or elsewhere."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Protocol, TypeVar

from threadpoolctl import threadpool_limits

from edgeplace.solver.fleet.part import Part

R = TypeVar("R")


class Spread(Protocol):
    """Parts that were taken somewhere, and stay there."""

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return the result of a function for each part, in their order."""

    def close(self) -> None:
        """Let go of the parts."""


class Executor(Protocol):
    """Places the parts once, and then calls functions on them again and again."""

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
        """Return the result of a function for each part, in their order."""
        # Each worker is one thread: BLAS would start one for every core in each of them.
        with threadpool_limits(1, user_api="blas"):
            if self._workers == 1:
                return [function(part) for part in self._parts]
            with ThreadPoolExecutor(self._workers) as pool:
                # Threads do not see the clock of the call by themselves.
                asked = [pool.submit(copy_context().run, function, part) for part in self._parts]
                return [answer.result() for answer in asked]

    def close(self) -> None:
        """Keep nothing."""
        self._parts = ()
