"""DS2: computes the number of instances from true processing rates, in one step.

V. Kalavri et al., Three steps is all you need: fast, accurate, automatic scaling decisions for
distributed streaming dataflows, OSDI 2018.
"""

from dataclasses import dataclass

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View, largest


@dataclass
class DS2:
    """Follows the offered rate of the last window, with a margin of a tenth.

    Parameters
    ----------
    window_s
        `policy interval` of the paper.
    warm_up_s
        Intervals after a change that are ignored.
    margin
        `target rate ratio`.
    fewest_down
        Steps below which it does not scale down.
    """

    window_s: int = 60
    warm_up_s: int = 120
    margin: float = 1.1
    fewest_down: int = 2
    name: str = "DS2"
    every_s: int = 60
    _changed_s: int = -(10**9)

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Return the least option for the offered rate."""
        if view.stopped or view.second < self.window_s:
            return None
        if view.second - self._changed_s < self.warm_up_s:
            return None
        offered = float(view.offered[-self.window_s :].mean())
        wanted = view.options.least(offered * self.margin)
        if wanted <= view.option and wanted > view.option - self.fewest_down:
            return None
        self._changed_s = view.second
        return wanted
