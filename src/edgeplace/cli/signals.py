"""Signals that end a command while it changes something."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""The signals of `kill`, and of a closed terminal or connection."""


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Treat signals that end the process like Ctrl-C while the block runs.

    A signal that is ignored, as under `nohup`, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [s for s in _ENDING if signal.getsignal(s) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def on_hangup(call: Callable[[], None]) -> Iterator[None]:
    """Call something at SIGHUP while the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGHUP, lambda number, frame: call())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, former)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
