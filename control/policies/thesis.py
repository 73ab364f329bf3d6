"""The rescaler of D. Schroeck's thesis (TU Berlin, 2018), by its published rule.

It checks the latency every two minutes. A latency of a second or more is a violation. A counter
rises while violations rise, and falls otherwise. At three, the job gets input rate / throughput of
an instance. It never scales down, so it starts with the requirement of the first minute.
"""

from dataclasses import dataclass

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View


@dataclass
class ThesisRescaler:
    """Adds instances after three rising violations of a second."""

    accepted_s: float = 1.0
    idle_latency_s: float = 0.3
    violations: int = 3
    rest_s: int = 720
    name: str = "thesis rescaler"
    every_s: int = 120
    _count: int = 0
    _last_s: float = 0.0
    _resting_until_s: int = 0

    def first(self, options: Options, load: Load) -> int:
        """Start with the requirement of the first minute."""
        return options.least(float(load.rates_per_s[:60].mean()))

    def decide(self, view: View) -> int | None:
        """Return more instances after three rising violations."""
        if view.stopped or view.second < self._resting_until_s:
            return None
        latency_s = view.backlog / view.capacity_per_s + self.idle_latency_s
        if latency_s >= self.accepted_s and (not self._count or latency_s > self._last_s):
            self._count += 1
        else:
            self._count = max(0, self._count - 1)
        self._last_s = latency_s
        if self._count < self.violations:
            return None
        self._count, self._resting_until_s = 0, view.second + self.rest_s
        offered = float(view.offered[-self.every_s :].mean())
        wanted = view.options.least(offered)
        return min(max(wanted, view.option) + 1, len(view.options) - 1)
