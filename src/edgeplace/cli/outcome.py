"""The exit status of an answer of the solver."""

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Result, Status, StoppedBy


def status_of(result: Result) -> ExitStatus:
    """Return the exit status that stands for a result."""
    if result.stopped_by is StoppedBy.INTERRUPT:
        return ExitStatus.INTERRUPTED
    if result.status is Status.INFEASIBLE:
        return ExitStatus.INFEASIBLE
    if result.status is Status.UNKNOWN:
        return ExitStatus.NO_PLAN
    if result.status is Status.OPTIMAL or result.stopped_by is StoppedBy.GAP:
        return ExitStatus.OK
    return ExitStatus.NOT_PROVED
