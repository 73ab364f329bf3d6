"""In the style of Demeter: forecast of ten minutes, the smallest configuration that is sufficient.

M. Geldenhuys et al., Demeter: resource-efficient distributed stream processing under dynamic loads
with multi-configuration optimization, ICPE 2024. The known capacities replace its models of
latency and recovery, which it learns from clones of the job. So the result is better than
Demeter's would be.
"""

from dataclasses import dataclass

from edgeplace.control.forecast import Forecaster
from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View, largest


@dataclass
class DemeterStyle:
    """Ten minutes ahead and a buffer of a tenth; at most one change in ten minutes.

    Parameters
    ----------
    recovery_s
        Backlog of a failure that must be drained within this time.
    outage_s
        Length of that failure.
    """

    buffer: float = 1.1
    interval_s: int = 600
    recovery_s: float = 180.0
    outage_s: float = 25.0
    better: float = 0.05
    name: str = "Demeter-style"
    every_s: int = 60
    _changed_s: int = 0

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Return the smallest option for the forecast that also recovers in time."""
        if view.stopped or view.second - self._changed_s < self.interval_s:
            return None
        tens = view.offered[: view.second // 600 * 600].reshape(-1, 600).mean(axis=1)[-1008:]
        ahead = Forecaster((144,), 1, 0.9, 720).forecast(tens).expected
        peak = max(float(ahead.max()), float(view.offered[-60:].mean())) * self.buffer
        needed = peak * (1 + self.outage_s / self.recovery_s)
        wanted = view.options.least(needed)
        units = view.options.units
        if wanted < view.option and units[view.option] - units[wanted] < self.better * units.max():
            return None
        if wanted == view.option:
            return None
        self._changed_s = view.second
        return wanted
