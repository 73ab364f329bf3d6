"""Our policy: plan the next day; change when necessary, or when staying has cost enough.

*Necessary*: the expected load does not fit, or the backlog will not drain in time. *Worth it*: G
has reached the price m of a change, where G is the excess cost of staying over the path, at the
real rates; and what is then given back will hardly be needed within an hour. Each voluntary change
follows regret of at least m, so in any span their number is at most the excess cost of staying over
the path, divided by m: it cannot oscillate. (Lazy rules of right-sizing are 3-competitive: M. Lin
et al., Dynamic right-sizing for power-proportional data centers, INFOCOM 2011.)
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.control.forecast import DAY, LEARNED, SEASONS, Forecaster
from edgeplace.control.load import DAY_S, Load
from edgeplace.control.options import Options
from edgeplace.control.plan_ahead import plan_ahead, shadow_price
from edgeplace.control.policy import View, largest
from edgeplace.solver.arrays import Floats

_LATE = 50.0
"""Price of demand that does not fit, as a multiple of the missing units."""

_CLOSE = 1.001
"""Demand within a thousandth of a capacity fits: a steady load at one causes no change."""
_DRAINED_S = 0.01
"""A backlog of less is none."""
_PRICED_EACH = 12
"""Bins after which the price of a change is reckoned anew."""
_KNOWN_BINS = 88
"""A day, and what the forecast needs beside it."""
_HOUR_BINS = 2


@dataclass
class Edgeplace:
    """Forecast, path, guard and regret.

    Parameters
    ----------
    changes_per_day
        A change has the price at which the best path through the last week, known afterwards,
        changes so often a day: what one change more would save.
    pause_s
        Seconds that a change is expected to stop the job.
    quantile
        Share of the bins whose demand shall not exceed the planned bound.
    kept_quantile
        Share of the bins whose demand shall fit, for an hour, what a voluntary change leaves.
    drain_s
        Time within which the backlog must drain.
    lead_s
        Lead time of a change for a bin that will not fit.
    day_s
        Seconds after which the load may repeat, a multiple of 480. It may also repeat after seven
        times as long.
    forecasts, regrets
        Switches for ablation. Without `forecasts`: the last bin instead of a forecast. Without
        `regrets`: every better path is taken at once.
    """

    changes_per_day: float = 14.0
    pause_s: float = 2.0
    quantile: float = 0.5
    kept_quantile: float = 0.85
    drain_s: float = 300.0
    lead_s: int = 60
    day_s: int = DAY_S
    forecasts: bool = True
    regrets: bool = True
    name: str = "edgeplace"
    every_s: int = 10
    _regret: float = 0.0
    _preferred: int | None = None
    _upper: Floats | None = None
    _price: float = 0.0
    _raised_s: int | None = None

    @property
    def target(self) -> float:
        """Share of a capacity that may be taken: what a pause holds up drains within `drain_s`."""
        return self.drain_s / (self.drain_s + self.pause_s)

    @property
    def bin_s(self) -> int:
        """Length of a bin: 48 make a day."""
        return self.day_s // DAY

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Return the path's option if a change is necessary or worth it."""
        if view.stopped or view.second < self.bin_s:
            return None
        wanted = self._at_bin(view) if view.second % self.bin_s == 0 else None
        if wanted is None:
            wanted = self._guard(view)
        if wanted is not None and wanted > view.option:
            self._raised_s = view.second
        return wanted

    def _guard(self, view: View) -> int | None:
        """Return a sufficient option if the last polls show that the current one is not."""
        recent = view.offered[-60:].reshape(6, 10).mean(axis=1)
        now = float(recent[-1])
        spare = view.capacity_per_s - now
        drains = spare > 0 and view.backlog / spare <= self.drain_s
        next_bin = self._next_bin(view)
        if max(now, next_bin) <= view.capacity_per_s * _CLOSE and drains:
            return None
        rising = max(0.0, float(recent[-2:].mean() - recent[:2].mean()) / 40)
        # A change that is due anyway is made for what the load grows to within a minute.
        soon = max(now + 60 * rising, next_bin, self._grown(view))
        # Another one may be due after that minute: what this one holds up has to drain before.
        room = 1 + self.pause_s / self.lead_s
        wanted = view.options.least((soon + view.backlog / self.drain_s) * room)
        if wanted <= view.option:
            return None
        self._regret = 0.0
        return wanted

    def _next_bin(self, view: View) -> float:
        """Return the capacity that the next bin needs, if it begins within the lead time."""
        if self._upper is None or self.bin_s - view.second % self.bin_s > self.lead_s:
            return 0.0
        return float(self._upper[1])

    def _at_bin(self, view: View) -> int | None:
        """Return the path's option at the start of a bin, if the change is due now."""
        peaks = self._peaks(view)
        self._score(view, float(peaks[-1]))
        self._upper = upper = self._demand(peaks)
        needed = upper / self.target
        bins = len(peaks)
        if bins % _PRICED_EACH == 0 or bins < DAY:
            past = self._costs(view.options, peaks[-LEARNED:] / self.target)
            most = max(1.0, self.changes_per_day * len(past) / DAY)
            self._price = shadow_price(past, most)
        path = plan_ahead(self._costs(view.options, needed), self._price, view.option)
        # The current rate must be served, whatever the forecast says.
        served_now = view.options.least(float(view.offered[-60:].mean()) / self.target)
        self._preferred = wanted = max(int(path.options[0]), served_now)
        if wanted == view.option or view.backlog > _DRAINED_S * view.capacity_per_s:
            # What a change has held up drains before the next; if that cannot wait, the guard says.
            return None
        must = needed[0] > view.capacity_per_s * _CLOSE
        if must:
            self._regret = 0.0
            return max(wanted, view.options.least(max(float(needed[0]), self._grown(view))))
        if self.regrets:
            if self._regret < self._price:
                return None
            wanted = self._kept(view, peaks, wanted)
            if wanted == view.option:
                return None
        self._regret = 0.0
        return wanted

    def _kept(self, view: View, peaks: Floats, wanted: int) -> int:
        """Return the smallest option from `wanted` on that bears the next hour, almost surely."""
        if wanted >= view.option:
            return wanted
        hour_s = _HOUR_BINS * self.bin_s
        if self._raised_s is not None and view.second - self._raised_s < hour_s:
            return view.option
        demand = float(peaks[-1])
        if self.forecasts:
            hour = Forecaster(SEASONS, _HOUR_BINS, self.kept_quantile, LEARNED).forecast(peaks)
            demand = float(hour.upper.max())
        return min(view.option, max(wanted, view.options.least(demand / self.target)))

    def _score(self, view: View, peak: float) -> None:
        """Add the excess cost of staying over the path's option in the last bin, at the real
        rate.
        """
        other = self._preferred
        if other is None or other == view.option:
            return
        held = view.options[other].capacity_per_s >= peak
        saved = view.options[view.option].units - view.options[other].units
        self._regret = max(0.0, self._regret + saved * self.bin_s) if held else 0.0

    def _costs(self, options: Options, needed: Floats) -> Floats:
        """Return the cost of each option in each bin, in unit seconds. Shape (bins, options)."""
        short = np.maximum(needed[:, None] / options.capacities[None, :] - 1.0, 0.0)
        costs: Floats = (options.units + _LATE * options.units.max() * short) * self.bin_s
        return costs

    def _grown(self, view: View) -> float:
        """Return the rate to which a growing load is served by one change; 0 if a day is known.

        The forecast knows no growth before a day has come. At a growth of g units a second and the
        price m of a change, steps of sqrt(2 m g) units cost least (F. W. Harris, How many parts to
        make at once, 1913).
        """
        if view.second > _KNOWN_BINS * self.bin_s:
            return 0.0
        now = float(view.offered[-60:].mean())
        before = float(view.offered[-self.bin_s - 60 : -self.bin_s].mean())
        unit = view.options.units.max() / view.options.capacities.max()
        growth = max(0.0, now - before) / self.bin_s
        return now + float(np.sqrt(2 * self._price * growth / unit))

    def _peaks(self, view: View) -> Floats:
        """Return the largest rate of each bin so far, over some ten seconds, as the guard does."""
        bins = view.second // self.bin_s
        width = next(w for w in range(10, 0, -1) if self.bin_s % w == 0)
        spans = view.offered[: bins * self.bin_s].reshape(bins, -1, width)
        peaks: Floats = spans.mean(axis=2).max(axis=1)
        return peaks

    def _demand(self, peaks: Floats) -> Floats:
        """Return the upper bound of demand in the next 24 bins."""
        if not self.forecasts:
            return np.full(24, peaks[-1])
        forecast = Forecaster(SEASONS, 24, self.quantile, LEARNED).forecast(peaks)
        return forecast.upper
