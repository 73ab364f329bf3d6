"""The formula of the autoscaler of apache/flink-kubernetes-operator, release 1.11.

The required capacity is input / target utilisation, plus the capacity to drain the backlog and the
records of a restart within the catch-up time. Within a band around the target nothing happens.
Scaling down uses the largest requirement of an interval. The formula is run here, not the
operator's code.
"""

from dataclasses import dataclass

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View, largest


@dataclass
class FlinkAutoscaler:
    """The parameters are the operator's keys `job.autoscaler.*`, with its defaults.

    Parameters
    ----------
    target, boundary
        `utilization.target` and the distance to `utilization.min` and `utilization.max`.
    window_s, stabilisation_s, restart_s, catch_up_s, scale_down_s
        `metrics.window`, `stabilization.interval`, `restart.time`, `catch-up.duration`,
        `scale-down.interval`.
    """

    target: float = 0.7
    boundary: float = 0.3
    window_s: int = 900
    stabilisation_s: int = 300
    restart_s: int = 300
    catch_up_s: int = 1800
    scale_down_s: int = 3600
    name: str = "Flink autoscaler"
    every_s: int = 60
    _changed_s: int = -(10**9)
    _down_since_s: int | None = None
    _down_to: int = 0

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Return an option when the capacity is outside the band."""
        if view.stopped or view.second - self._changed_s < self.stabilisation_s + self.window_s:
            return None
        if view.second < self.window_s:
            return None
        offered = float(view.offered[-self.window_s :].mean())
        catch_up = view.backlog / self.catch_up_s
        restart = offered * self.restart_s / self.catch_up_s
        capacity = view.capacity_per_s
        least = catch_up + offered / min(1.0, self.target + self.boundary)
        most = catch_up + restart + offered / max(0.05, self.target - self.boundary)
        needed = catch_up + restart + offered / self.target
        if least <= capacity <= most:
            self._down_since_s = None
            return None
        wanted = view.options.least(needed)
        if wanted > view.option:
            self._down_since_s, self._changed_s = None, view.second
            return wanted
        if wanted < view.option:
            return self._down(view, wanted)
        return None

    def _down(self, view: View, wanted: int) -> int | None:
        """Return the largest requirement of the scale-down interval, when it is over."""
        if self._down_since_s is None:
            self._down_since_s, self._down_to = view.second, 0
        self._down_to = max(self._down_to, wanted)
        if view.second - self._down_since_s < self.scale_down_s:
            return None
        self._down_since_s, self._changed_s = None, view.second
        return self._down_to
