"""The interface of a scaling policy: its input and its decision."""

from dataclasses import dataclass
from typing import Protocol

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.solver.arrays import Floats


@dataclass(frozen=True)
class View:
    """The input of a policy's decision.

    Parameters
    ----------
    second
        Seconds since the start.
    options, option
        The options, and the index of the current one.
    offered, served
        Shape (second,): records per second offered and processed, each second so far.
    backlog
        Waiting records.
    stopped
        Whether the job restarts, so that nothing is processed.
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
        """Records per second that the current option sustains."""
        return self.options[self.option].capacity_per_s


class ScalingPolicy(Protocol):
    """Decides which option runs."""

    name: str
    every_s: int

    def first(self, options: Options, load: Load) -> int:
        """Return the option to start with."""
        ...

    def decide(self, view: View) -> int | None:
        """Return the option that shall run; None: no change."""
        ...


def largest(options: Options, load: Load) -> int:
    """Return the option for the peak, the usual start for an unknown load."""
    return len(options) - 1
