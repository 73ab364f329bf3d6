"""Ctrl-C ends a command that changes nothing within two seconds, whatever it does.

This module imports little, so that its handler is installed before the slow imports.
"""

import _thread
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit code of a process that Ctrl-C ended."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that interrupt; those left to the system do not arrive here."""
GRACE_S = 1.0
"""Seconds that a command may take after Ctrl-C to show its results."""


def leave_at_once() -> None:
    """Let Ctrl-C end the process until `raises` is called: there is nothing to show yet.

    If Ctrl-C is ignored, as in the background of a script, it stays ignored.
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
    """End the process if the block continues for `GRACE_S` after Ctrl-C, or at a second Ctrl-C.

    `KeyboardInterrupt` alone is not enough, because a solver or a JVM may not return to Python for
    a long time. Outside the main thread no signal can be caught; there the block simply runs.
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
    """Read the number of each signal as soon as it arrives, until the pipe is closed."""
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
    """Interrupt again if Ctrl-C came during a callback, which cannot raise an exception."""
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt_soon() -> None:
    """Raise `KeyboardInterrupt` in the main thread when the hook, which may not raise, is left.

    `_thread.interrupt_main` would count as a second Ctrl-C: it writes to the wakeup pipe as well.
    """
    time.sleep(0.05)
    main = ctypes.c_ulong(threading.main_thread().ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(KeyboardInterrupt))


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    # A progress bar hides the cursor.
    os.write(2, b"\x1b[?25h\ninterrupted\n" if os.isatty(2) else b"interrupted\n")
    os._exit(INTERRUPTED)
