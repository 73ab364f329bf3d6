"""The error that a part of the solver raises if no time is left."""


class OutOfTimeError(Exception):
    """What was asked for cannot be done in the time left.

    Not `TimeoutError`: that one is raised by others as well, by a signal handler for example, and
    must reach whoever waits for it.
    """
