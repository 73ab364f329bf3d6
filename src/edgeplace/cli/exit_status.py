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
    """A valid plan, but the search was stopped before the plan was proved best."""
    NO_PLAN = 5
    """Stopped before a plan was found or shown impossible."""
    MISSING_EXTRA = 6
    """An extra, such as `edgeplace[solve]`, or Java is not installed."""
    NOT_APPLIED = 7
    """`flink apply` or `drain` refused or rolled back: the former placement runs."""
    UNREACHABLE = 8
    """Flink's REST API, Prometheus or Spark cannot be reached or refuses; after a plan was written:
    neither the new nor the former placement was seen running, and the message says what is
    known."""
    HINDERED = 9
    """`flink doctor` found something that hinders placement."""
    WRONG_ANSWER = 10
    """`bench`: an answer contradicts the evaluator, another back end or a best known value."""
    LED_ELSEWHERE = 11
    """`control run`: another loop leads in this folder."""
    NEEDS_A_PERSON = 12
    """`control run --strict`: the loop has fallen back to recommending, a person has to look."""
    INTERRUPTED = 130
    """Ctrl-C."""


EXIT_CODES = "exit codes:\n" + "\n".join(
    f"  {status.value:>3}  {text}"
    for status, text in (
        (ExitStatus.OK, "done; solve: a plan, proved best or within --gap"),
        (ExitStatus.INTERNAL_ERROR, "a bug of edgeplace"),
        (ExitStatus.INVALID_INPUT, "wrong command line or input; the message has the cure"),
        (ExitStatus.INFEASIBLE, "no plan exists, proved; the conflict says why"),
        (ExitStatus.NOT_PROVED, "a valid plan, stopped before it was proved best"),
        (ExitStatus.NO_PLAN, "stopped before a plan was found or shown impossible"),
        (
            ExitStatus.MISSING_EXTRA,
            "an extra of edgeplace, or Java, is not installed; the message has the cure",
        ),
        (
            ExitStatus.NOT_APPLIED,
            "flink apply/drain: refused or rolled back, the former placement runs",
        ),
        (
            ExitStatus.UNREACHABLE,
            "Flink, Prometheus or Spark cannot be reached or refuses, or flink collect got "
            "nothing; after a write: what runs could not be verified",
        ),
        (
            ExitStatus.HINDERED,
            "flink doctor: something hinders placement; control status: no loop runs, or something "
            "hinders a change",
        ),
        (
            ExitStatus.WRONG_ANSWER,
            "bench: an answer is wrong; the table says whose and why; control replay: the journal "
            "comes out otherwise",
        ),
        (ExitStatus.LED_ELSEWHERE, "control run: another loop leads in this folder"),
        (ExitStatus.NEEDS_A_PERSON, "control run --strict: a person has to look"),
        (
            ExitStatus.INTERRUPTED,
            "Ctrl-C; solve: the best plan so far, if there is one, is shown and written all the "
            "same; flink collect: before the first poll",
        ),
    )
)
"""The exit codes as `--help` shows them."""
