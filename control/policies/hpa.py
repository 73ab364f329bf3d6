"""Kubernetes' Horizontal Pod Autoscaler on CPU, with its defaults.

Every 15 s, ratio = utilisation / target; within a tolerance of 10 % nothing happens; scaling down
takes the largest recommendation of the last 5 minutes
(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/).
"""

from collections import deque
from dataclasses import dataclass, field

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View, largest


@dataclass
class HorizontalPodAutoscaler:
    """Keeps utilisation near a target."""

    target: float = 0.7
    tolerance: float = 0.1
    stabilisation_s: int = 300
    window_s: int = 30
    name: str = "HPA"
    every_s: int = 15
    _recommended: deque[tuple[int, int]] = field(default_factory=deque, repr=False)

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Return the option whose capacity brings utilisation to the target."""
        if view.stopped or view.second < self.window_s:
            return None
        used = view.served[-self.window_s :].mean() / view.capacity_per_s
        ratio = used / self.target
        wanted = view.option
        if abs(ratio - 1) >= self.tolerance:
            wanted = view.options.least(view.capacity_per_s * ratio)
        self._recommended.append((view.second, wanted))
        while self._recommended[0][0] <= view.second - self.stabilisation_s:
            self._recommended.popleft()
        if wanted > view.option:
            return wanted
        return max(option for _, option in self._recommended)
