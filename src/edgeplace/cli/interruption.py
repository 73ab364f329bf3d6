"""Ctrl-C: a command that changes nothing ends within two seconds, whatever it is doing.

This module imports little: its handler is there before what takes long to import.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Of these, only those arrive here that are not left to the system."""
GRACE_S = 1.0
"""What a command may take after Ctrl-C to show what it has."""


def leave_at_once() -> None:
    """Let Ctrl-C end the process until `raises` is called: there is nothing to show yet.

    A Ctrl-C that is ignored, as in the background of a script, stays so.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    sys.unraisablehook = _pass_on


def raises() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` from now on, if `leave_at_once` was called."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ends_soon() -> Iterator[None]:
    """End the process if the block goes on for `GRACE_S` after Ctrl-C, or at a second one.

    `KeyboardInterrupt` alone does not do: a solver or a JVM may not come back to Python for long.
    Outside the main thread, where no signal can be caught, the block just runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watch = threading.Thread(target=_watch, args=(reader,), daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former)
        os.close(writer)
        watch.join()


def _watch(reader: int) -> None:
    """Read the number of each signal as soon as it arrives, until there can be no more."""
    countdown: threading.Timer | None = None
    with open(reader, "rb", buffering=0) as signals:
        while number := signals.read(1):
            if number[0] not in _ENDING:
                continue
            if countdown:
                _leave()
            countdown = threading.Timer(GRACE_S, _leave)
            countdown.daemon = True
            countdown.start()
    if countdown:
        countdown.cancel()


def _pass_on(unraisable: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where Ctrl-C came in a callback, which can raise nothing."""
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(unraisable)


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    # A progress bar hides the cursor.
    os.write(2, b"\x1b[?25h\ninterrupted\n" if os.isatty(2) else b"interrupted\n")
    os._exit(INTERRUPTED)
