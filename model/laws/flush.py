"""What operators put out that gather records and flush: combiners, mini-batches, keyed windows.

Each flush sends one record for each distinct key in what was gathered. A timer (each T) flushes
what there is, and so does a checkpoint (each C): it halves one period of the timer in C / T. Each
flush starts the count to N anew. Of n gathered records, k whole batches of N and a rest are sent:

    B(n) = k D(m N) + D(m (n - k N)),  k = floor(n / N)
    output(r) = ((1 - f) B(r T) + f 2 B(r T / 2)) / T,  f = T / C

with r records in a second and m keys in a record. If the timer is the slower one, T and C change
places. Without N, B is D(m n); without T and C, the output is r/N D(m N).

A full link holds the operator back: a flush waits for room, and the timer does not fire
meanwhile. The more records come, the later it flushes, until only N and checkpoints do:
`held_back`.

D(n), the number of distinct keys among n, has two forms. It is the sum of
1 - (1 - p)^n over the keys' probabilities p (Johnson and Kotz, Urn Models and Their Application,
1977); (1 - p)^n is taken as exp(-n p).
"""

import functools
import math
from typing import Literal

from pydantic import Field

from edgeplace.model.base import Frozen, NonNegative, Positive

FlushForm = Literal["hot and cold", "zipf"]
_EACH_RANK = 32
"""Ranks that are counted one by one; the others in ranges of a tenth of the rank."""


class Gathering(Frozen):
    """When an operator flushes what it has gathered."""

    interval_s: Positive | None = None
    """Time between flushes; None: not by time."""
    records: Positive | None = None
    """Records after which it flushes; None: not by count."""
    checkpoint_s: Positive | None = None
    """Interval of checkpoints that it flushes before; None: not before checkpoints."""
    keys_per_record: Positive = 1.0
    """Keys to which one record belongs, such as the words of a sentence."""


class FlushLaw(Frozen):
    """The flush law of one stream, for one subtask of its source operator."""

    gathering: Gathering
    form: FlushForm
    keys: Positive
    """Hot keys (equally frequent), or all keys of a Zipf distribution."""
    shape: NonNegative = Field(default=0.0)
    """`hot and cold`: share of the cold records, each with a key of its own; `zipf`: exponent."""

    def distinct(self, gathered: float) -> float:
        """Return how many distinct keys so many gathered keys have."""
        if self.form == "zipf":
            return sum(
                keys * -math.expm1(-gathered * each) for keys, each in _zipf(self.keys, self.shape)
            )
        hot = (1 - self.shape) * gathered
        return self.shape * gathered - self.keys * math.expm1(-hot / self.keys)

    def selectivity(self, rate_per_s: float) -> float:
        """Return records out for each record in, at a rate into one subtask."""
        when = self.gathering
        periods = sorted(each for each in (when.interval_s, when.checkpoint_s) if each)
        if rate_per_s == 0 or not (periods or when.records):
            return when.keys_per_record
        if not periods:
            return self._sent(when.records or 0.0) / (when.records or 1.0)
        gathered = rate_per_s * periods[0]
        sent = self._sent(gathered)
        if len(periods) > 1:
            halved = periods[0] / periods[1]
            sent += halved * (2 * self._sent(gathered / 2) - sent)
        return sent / gathered

    @property
    def held_back(self) -> "FlushLaw":
        """The law where a full link delays the timer for as long as it needs.

        It is the same law for an operator that flushes by its timer alone. A window of event time
        is such a one: what it has gathered does not depend on when it fires.
        """
        when = self.gathering
        if not (when.records or when.checkpoint_s):
            return self
        return self.model_copy(update={"gathering": when.model_copy(update={"interval_s": None})})

    def held_back_share(self, rate_per_s: float) -> float:
        """Return the share of its output that is left where a full link delays the timer."""
        if rate_per_s == 0:
            return 1.0
        return min(1.0, self.held_back.selectivity(rate_per_s) / self.selectivity(rate_per_s))

    def least_selectivity(self) -> float:
        """Return a selectivity that no rate undercuts: that of whole batches, or of cold keys."""
        when = self.gathering
        if when.records:
            return self._sent(when.records) / when.records
        cold = self.shape if self.form == "hot and cold" else 0.0
        return when.keys_per_record * cold

    def _sent(self, gathered: float) -> float:
        """Return the records out for what is gathered in a period that a flush ends."""
        each, batch = self.gathering.keys_per_record, self.gathering.records
        if batch is None or gathered < batch:
            return self.distinct(each * gathered)
        batches, rest = divmod(gathered, batch)
        return batches * self.distinct(each * batch) + self.distinct(each * rest)


@functools.lru_cache(maxsize=256)
def _zipf(keys: float, exponent: float) -> tuple[tuple[float, float], ...]:
    """Return (number of keys, probability of each) by range of rank.

    The first ranks are ranges of one key. The others become wider with the rank; a range has the
    integral of rank^-exponent from half a rank before its first to half a rank after its last one.
    If `keys` is no whole number, the last range has the fraction of a key.
    """
    ranges = [(min(1.0, keys - i), (i + 1.0) ** -exponent) for i in range(_EACH_RANK) if i < keys]
    start, end = _EACH_RANK + 0.5, keys + 0.5
    while start < end:
        stop = min(start + math.floor(start / 10), end)
        ranges.append((stop - start, _integral(start, stop, exponent) / (stop - start)))
        start = stop
    whole = sum(each * weight for each, weight in ranges)
    return tuple((each, weight / whole) for each, weight in ranges)


def _integral(low: float, high: float, exponent: float) -> float:
    if abs(exponent - 1) < 1e-9:
        return math.log(high / low)
    return float((high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent))
