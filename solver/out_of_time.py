"""The error that a part of the solver raises if no time is left."""


class OutOfTimeError(Exception):
    """The time left is too short for the request.

    Not `TimeoutError`: that one is raised by others as well, by a signal handler for example, and
    must reach whoever waits for it.
    """
