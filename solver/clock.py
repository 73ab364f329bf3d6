"""The wall time of one call: set where the call begins, and read by all its steps.

`limited` sets it: everything that runs inside reads the same clock, however deep, and a call
inside a call has no more time than what is left of the outer one. Loops `look`, and work that
cannot look in between says beforehand what it takes (`afford`): what would end too late is not
begun.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from edgeplace.solver.out_of_time import OutOfTimeError

_MEASURED_S, _SLOWEST = 0.05, 8.0
"""CPU seconds after which the load of the machine is known, and what is believed of it at most."""
_OVERDUE_S, _OVERDUE_SHARE = 0.5, 0.05
"""How long after the limit, and after what share of it, nobody is waited for any more."""


class _Model(Protocol):
    @property
    def n_entries(self) -> int: ...


class Clock:
    """The time that is left of a limit, if there is one.

    Parameters
    ----------
    began
        Monotonic time from which the limit counts.
    limit_s
        Wall time; None: no limit.
    """

    def __init__(self, began: float, limit_s: float | None) -> None:
        self.began = began
        self.limited = limit_s is not None
        self._ends = np.inf if limit_s is None else began + limit_s
        self._overdue = self._ends + _OVERDUE_S + _OVERDUE_SHARE * (limit_s or 0.0)
        self._at = time.monotonic(), time.process_time()

    def elapsed_s(self) -> float:
        """Return the seconds since the call began."""
        return time.monotonic() - self.began

    def left(self) -> float | None:
        """Return the seconds left, None without a limit."""
        return max(0.0, self._ends - time.monotonic()) if self.limited else None

    def left_until(self, now: float, seconds: float) -> float | None:
        """Return the seconds left at `now` if so many are allowed from then or the limit on."""
        ends = max(self._ends, min(now, self._ends) + seconds)
        return max(0.0, ends - now) if self.limited else None

    def overdue(self) -> bool:
        """Return whether the limit is so long over that who works on does not look at the clock."""
        return time.monotonic() > self._overdue

    def end_of(self, share: float) -> float:
        """Return when a share of the time left will be over, inf without a limit."""
        left = self.left()
        return np.inf if left is None else time.monotonic() + left * share

    def check(self, model: _Model) -> None:
        """Raise `OutOfTimeError` if a solver may not look at the clock again in time."""
        self.afford(overrun_s(model.n_entries))

    def afford(self, cpu_s: float, deadline: float = np.inf) -> None:
        """Raise `OutOfTimeError` if work that does not look at the clock would end too late.

        Parameters
        ----------
        cpu_s
            What it takes on an idle machine.
        deadline
            Monotonic time at which it must have ended, if that is before the limit.
        """
        ends = min(self._ends, deadline)
        if ends < np.inf and time.monotonic() + (cpu_s and cpu_s * self._slowdown()) > ends:
            raise OutOfTimeError("the time limit is over, or would be before this ends")

    def _slowdown(self) -> float:
        """Return how much longer work takes than on an idle machine.

        By what it took so far, and at first by how many wait for a processor.
        """
        wall_s = time.monotonic() - self._at[0]
        cpu_s = time.process_time() - self._at[1]
        slower = wall_s / cpu_s if cpu_s > _MEASURED_S else _waiting()
        return float(np.clip(slower, 1.0, _SLOWEST))


def _waiting() -> float:
    """Return how many processes share a processor; 1 where the system does not say."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 1.0


_UNLIMITED = Clock(0.0, None)
_running: ContextVar[Clock] = ContextVar("clock", default=_UNLIMITED)


@contextmanager
def limited(limit_s: float | None) -> Iterator[Clock]:
    """Yield the clock of a call that begins now; the call around it may leave it less."""
    began, outer = time.monotonic(), _running.get().left()
    limits = [s for s in (limit_s, outer) if s is not None]
    clock = Clock(began, min(limits, default=None))
    token = _running.set(clock)
    try:
        yield clock
    finally:
        _running.reset(token)


@contextmanager
def prolonged(seconds: float) -> Iterator[Clock]:
    """Yield a clock with at least so much time, for what must be tried where the limit is less.

    Where the limit is over, it is so much time after the limit, and not after now.
    """
    now = time.monotonic()
    left = _running.get().left_until(now, seconds)
    clock = Clock(now, left)
    token = _running.set(clock)
    try:
        yield clock
    finally:
        _running.reset(token)


@contextmanager
def unhurried() -> Iterator[None]:
    """Lift the time limit for work that must be completed, such as evaluating a known plan."""
    token = _running.set(_UNLIMITED)
    try:
        yield
    finally:
        _running.reset(token)


def running() -> Clock:
    """Return the clock of the call that runs; one without a limit outside of all."""
    return _running.get()


def look() -> None:
    """Raise `OutOfTimeError` if the time of the call that runs is over."""
    _running.get().afford(0.0)


def afford(cpu_s: float) -> None:
    """Raise `OutOfTimeError` if work that does not look at the clock would end too late."""
    _running.get().afford(cpu_s)


def overrun_s(n_entries: int) -> float:
    """Return how long HiGHS may not look at the clock: while it separates cuts, say.

    Measured on models of up to 1.3 million entries: 17 s at 0.7 million.
    """
    return float(25.0 * (n_entries / 1e6) ** 1.5)
