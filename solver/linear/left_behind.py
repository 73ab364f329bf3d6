"""Solvers that did not look at the clock, and still work when the call that began them is over.

No thread in native code can be ended from outside. It ends with its search, or with the process. A
thread that enters Python while Python ends aborts the process. So before Python ends, those that
are left are waited for, but not for long; and if one enters Python then, it stays there.
"""

import atexit
import time
from collections.abc import Callable
from threading import Event, Thread

_LAST_S = 2.0
"""How long the end of Python waits for all of them."""
_LOOK_S = 0.02

Stay = Callable[[], None]


class _Left:
    def __init__(self, solver: str, thread: Thread, on_entry: Callable[[Stay], None]) -> None:
        self.solver = solver
        self.thread = thread
        self.on_entry = on_entry
        self.parked = Event()

    def stay(self) -> None:
        """Keep the thread that calls this until the process ends."""
        self.parked.set()
        Event().wait()

    def harmless(self) -> bool:
        """Return whether the thread enters Python no more."""
        return self.parked.is_set() or not self.thread.is_alive()


_left: list[_Left] = []


def leave(solver: str, thread: Thread, on_entry: Callable[[Stay], None]) -> None:
    """Note that nobody waits for a solver's thread any more.

    Parameters
    ----------
    on_entry
        Gets a function, and has the thread call it when its search next enters Python.
    """
    if not _left:
        atexit.register(_part)
    _left.append(_Left(solver, thread, on_entry))


def at_work(solver: str | None = None) -> bool:
    """Return whether a solver that was left behind still works; None: any."""
    return any(each.thread.is_alive() for each in _left if solver in (None, each.solver))


def _part() -> None:
    """Wait until Python can end beside what still works."""
    for each in _left:
        each.on_entry(each.stay)
    ends = time.monotonic() + _LAST_S
    while not all(each.harmless() for each in _left) and time.monotonic() < ends:
        time.sleep(_LOOK_S)
