"""The traffic of a stream at any rate, from measurements at some rates and a flush law."""

import math
from collections.abc import Sequence

from edgeplace.model.base import Frozen, Positive
from edgeplace.model.laws.flush import FlushLaw


class AtRate(Frozen):
    """The traffic of a stream at a certain rate of its source operator.

    The output of combiners and windows is not proportional to their input, and watermarks are sent
    even if there are few records.
    """

    rate_per_s: Positive
    """Records in (out, for sources) of one subtask of the source operator."""
    selectivity: Positive
    bytes_per_record: Positive


def selectivity_at(rate_per_s: float, seen: Sequence[AtRate], law: FlushLaw | None) -> float:
    """Return the selectivity at a rate: the law's, at the level of the measurements.

    The level is measured selectivity / law. It is interpolated as a power of the rate, and is
    constant beyond the ends. So measured rates keep their measurement. Without a law, the
    selectivity itself is interpolated.

    Parameters
    ----------
    rate_per_s
        Records per second into one subtask; not negative.
    seen
        At least one measurement, at ascending rates.
    """
    if law is None:
        return _between(rate_per_s, seen, [at.selectivity for at in seen])
    levels = [at.selectivity / law.selectivity(at.rate_per_s) for at in seen]
    return _between(rate_per_s, seen, levels) * law.selectivity(rate_per_s)


def bytes_per_record_at(rate_per_s: float, seen: Sequence[AtRate]) -> float:
    """Return the mean bytes of a record at a rate, interpolated as a power of the rate."""
    return _between(rate_per_s, seen, [at.bytes_per_record for at in seen])


def _between(rate_per_s: float, seen: Sequence[AtRate], figures: Sequence[float]) -> float:
    """Return the figure at a rate, between the two rates next to it; the end's beyond an end."""
    above = next((i for i, at in enumerate(seen) if at.rate_per_s >= rate_per_s), len(seen))
    if above == 0:
        return figures[0]
    if above == len(seen):
        return figures[-1]
    low, high = seen[above - 1].rate_per_s, seen[above].rate_per_s
    part = math.log(rate_per_s / low) / math.log(high / low)
    return math.exp((1 - part) * math.log(figures[above - 1]) + part * math.log(figures[above]))
