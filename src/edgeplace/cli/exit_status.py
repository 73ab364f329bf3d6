"""Exit codes of the command line."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """One code per kind of outcome."""

    OK = 0
    """Done; for `solve`: a plan, proved optimal or within the gap asked for."""
    INTERNAL_ERROR = 1
    """A bug of edgeplace."""
    INVALID_INPUT = 2
    """The command line or an input file is wrong; the message says what, where and the cure."""
    INFEASIBLE = 3
    """No plan exists, proved; the conflict says why."""
    NOT_PROVED = 4
    """A plan that holds, but the search was stopped before it was proved best."""
    NO_PLAN = 5
    """Stopped before a plan was found or shown impossible."""
    MISSING_EXTRA = 6
    """An optional part, or Java, is not installed."""
    NOT_APPLIED = 7
    """`flink apply` or `drain` refused or rolled back: the former placement runs."""
    UNREACHABLE = 8
    """Flink's REST API cannot be reached or refuses; after a plan was written: neither the new nor
    the former placement was seen running, and the message says what is known."""
    HINDERED = 9
    """`flink doctor` found something that hinders placement."""
    WRONG_ANSWER = 10
    """`bench`: an answer contradicts the evaluator, another back end or a best known value."""
    INTERRUPTED = 130
    """Ctrl-C before there was anything to show."""
