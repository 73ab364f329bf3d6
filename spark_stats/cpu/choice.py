"""Whether CPU time by regression holds better than its division by busy time.

The protocol is: leave out blocks of time, then blocks of rates, and predict each from the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats.arrays import Bools, Floats, Ints
from edgeplace.spark_stats.cpu.regression import SHRINKAGES, Fit, fits, intervals
from edgeplace.spark_stats.cpu.slices import Slices

FEWEST_MINUTES = 10
"""Fewer cannot be cut into blocks that tell whether the regression holds."""
PARTS = 5
"""Number of blocks of time, and of rates."""
WIN = 0.9
"""Largest error of a regression that is kept, as a share of the error by busy time; likewise of
one that is pulled less towards busy time, as a share of the error of one that is pulled more."""
MOST_BY_BUSY_TIME = 0.1
"""Largest part of a cost that is said to be by regression by which it changes with busy time."""


@dataclass(frozen=True)
class HeldOutCores:
    """Predictions of left-out rows.

    Attributes
    ----------
    measured, by_busy_time, by_regression
        Used cores, shape (n,).
    """

    measured: Floats
    by_busy_time: Floats
    by_regression: Floats

    @property
    def wins(self) -> bool:
        """Whether the regression is better by a tenth, by the sum of the errors in cores."""
        return self.error(self.by_regression) <= WIN * self.error(self.by_busy_time)

    def error(self, predicted: Floats) -> float:
        """Return the mean error in cores."""
        return float(np.abs(predicted - self.measured).mean()) if len(predicted) else 0.0


@dataclass(frozen=True)
class CpuChoice:
    """What was found for one node class.

    Attributes
    ----------
    fit
        None if CPU time is divided by busy time.
    ends
        Lower and upper end of the background and of each cost, shape (1 + k, 2).
    reason
        Why there is no fit; empty if there is one.
    held_out
        How left-out blocks of time, and of rates, were predicted, if it was tried.
    """

    fit: Fit | None
    ends: Floats
    reason: str
    held_out: Mapping[str, HeldOutCores]

    @property
    def identified(self) -> Bools:
        """Which costs the minutes tell from those of the other operators, shape (k,)."""
        if self.fit is None:
            return np.zeros(0, dtype=bool)
        little = self.fit.by_busy_time_s <= MOST_BY_BUSY_TIME * self.fit.cost_s
        return little & (self.ends[1:, 0] > 0)


def learn(
    slices: Slices,
    parts: Mapping[str, Ints] | None = None,
    dealt_s: Callable[[Slices], Floats] = Slices.dealt_s,
) -> CpuChoice:
    """Return the regression of one node class if it predicts left-out rows best.

    Parameters
    ----------
    slices
        Of all its TaskManagers.
    parts
        What is left out together: name -> number of the part of each row, shape (n,). None: blocks
        of time, and of rates.
    dealt_s
        Returns core-seconds a record by busy time, shape (k,).
    """
    minutes = len(np.unique(slices.minute))
    if minutes < FEWEST_MINUTES:
        return _refused(
            f"{minutes} minute{'s' * (minutes != 1)} of the log can be used, and the regression "
            f"needs {FEWEST_MINUTES}"
        )
    if parts is None:
        parts = {"time": slices.time_blocks(PARTS), "rate": slices.rate_blocks(PARTS)}
    dealt = dealt_s(slices)
    tries = {name: held_out(slices, part, dealt_s) for name, part in parts.items()}
    of_each = zip(*tries.values(), strict=True)
    errors = [sum(h.error(h.by_regression) for h in tried) for tried in of_each]
    best = max(i for i, error in enumerate(errors) if WIN * error <= min(errors))
    tried = {name: each[best] for name, each in tries.items()}
    shrinkage = SHRINKAGES[best]
    [found] = fits(slices, dealt, [shrinkage])
    if found.steady(slices) or not _follows(slices, dealt):
        return _refused(
            "the rates hardly change, or CPU time does not follow them, so the background of the "
            "JVM cannot be told from the cost of records"
        )
    for name, seen in tried.items():
        if not len(seen.measured):
            return _refused("no operator ran here in more than a part of the time", tried)
        if not seen.wins:
            return _refused(
                f"the regression is off by {seen.error(seen.by_regression):.3f} cores in minutes "
                f"of a {name} that it has not seen, busy time by "
                f"{seen.error(seen.by_busy_time):.3f}",
                tried,
            )
    return CpuChoice(found, intervals(slices, dealt, shrinkage, found), "", tried)


def held_out(
    slices: Slices, part: Ints, dealt_s: Callable[[Slices], Floats] = Slices.dealt_s
) -> list[HeldOutCores]:
    """Return the prediction of each part from the others, by busy time and by a regression with
    each of `SHRINKAGES`.

    Rows with an operator that the others do not have are left out: nobody can predict them.
    """
    figures: list[tuple[Floats, ...]] = []
    for number in np.unique(part):
        others = slices.only(part != number)
        unknown = others.per_s.sum(axis=0) == 0
        own = slices.only(part == number)
        own = own.only(own.per_s[:, unknown].sum(axis=1) == 0)
        if len(own.cores) and len(others.cores):
            dealt = dealt_s(others)
            learned = [found.cores(own) for found in fits(others, dealt, SHRINKAGES)]
            figures.append((own.cores, own.per_s @ dealt, *learned))
    none = (np.zeros(0),) * (2 + len(SHRINKAGES))
    columns = [np.concatenate(each) for each in zip(none, *figures, strict=True)]
    return [HeldOutCores(columns[0], columns[1], learned) for learned in columns[2:]]


def _follows(slices: Slices, dealt_s: Floats) -> bool:
    """Return whether CPU time grows with work by busy time, if there is any busy time."""
    work = slices.per_s @ dealt_s
    return not work.any() or float((work - work.mean()) @ slices.cores) > 0


def _refused(reason: str, tried: Mapping[str, HeldOutCores] | None = None) -> CpuChoice:
    return CpuChoice(None, np.zeros((0, 2)), reason, tried or {})
