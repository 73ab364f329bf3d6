"""Solvers that did not look at the clock, and still work when the call that began them is over.

No thread in native code can be ended from outside. It ends with its search, or with the process:
by `os._exit`, since a thread that meets the end of Python aborts the process.
"""

from threading import Thread

_threads: list[tuple[str, Thread]] = []


def leave(solver: str, thread: Thread) -> None:
    """Note that nobody waits for a solver's thread any more."""
    _threads.append((solver, thread))


def at_work(solver: str | None = None) -> bool:
    """Return whether a solver that was left behind still works; None: any."""
    return any(t.is_alive() for name, t in _threads if solver in (None, name))
