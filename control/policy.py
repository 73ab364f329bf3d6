"""The interface of a controller: what it sees, and what it may say."""

from dataclasses import dataclass
from typing import Protocol

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.solver.arrays import Floats


@dataclass(frozen=True)
class View:
    """What a policy sees when it decides.

    Parameters
    ----------
    second
        Seconds since the start.
    options, option
        What may be chosen, and the index of what runs.
    offered, served
        Shape (second,): records per second offered and processed, each second so far.
    backlog
        Records that wait.
    stopped
        The job restarts; nothing is processed.
    """

    second: int
    options: Options
    option: int
    offered: Floats
    served: Floats
    backlog: float
    stopped: bool

    @property
    def capacity_per_s(self) -> float:
        """Records per second that what runs sustains."""
        return self.options[self.option].capacity_per_s


class ScalingPolicy(Protocol):
    """Decides which option runs."""

    name: str
    every_s: int

    def first(self, options: Options, load: Load) -> int:
        """Return the option to start with."""
        ...

    def decide(self, view: View) -> int | None:
        """Return the option that shall run; None: what runs stays."""
        ...


def largest(options: Options, load: Load) -> int:
    """Return the option for the peak: how operators start a job whose load is not known."""
    return len(options) - 1
