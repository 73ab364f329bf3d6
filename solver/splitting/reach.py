"""The loads that the router's rule should reach, given the frequencies of the keys.

A key with less than 1/(20 P) of the records goes to one of P workers, by a hash with their weights.
Another one has a set of workers that grows while they are above 1 + e of the level: so hot records
lift no worker above that, and what remains are the cold ones (bounded loads: Mirrokni, Thorup and
Zadimoghaddam, SODA 2018; fewest pieces: McNaughton 1959). In the router cold keys pass workers that
are 7 to 10 % above it. This is left out, so the fullest worker may be less full than said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgeplace.model import InvalidInputError
from edgeplace.solver.tolerances import ROUNDING

EPSILON = 0.05
"""By how much a worker may be above the level before a hot key gets another one."""
_HOT = 20.0
"""A key is hot from 1/(20 P) of the records on, as in the router."""


@dataclass(frozen=True)
class Reach:
    """What the rule is predicted to reach; loads are over the level, records per weight."""

    fullest: float
    """Of the fullest worker: max(1 + e, cold hash). An estimate, since the hash decides."""
    cold: float
    """Of the worker that gets most of the cold keys, by these alone: an estimate."""
    pieces: int
    """Pairs of key and worker at least: Σ max(1, ⌈load / ((1 + e) capacity)⌉), with the largest
    capacity of a worker. Each is a partial in a window in which all keys come."""
    hot_keys: int

    @property
    def share_of_ideal(self) -> float:
        """The rate that is sustained over that with all workers at the level."""
        return 1 / self.fullest


def reach(frequencies: ArrayLike, weights: Sequence[float]) -> Reach:
    """Return what the rule should reach for one router.

    Parameters
    ----------
    frequencies
        Share of the records, or any multiple, of each key; shape (n_keys,).
    weights
        Share of the records that each worker is to get, in any unit; 0: none.

    Raises
    ------
    InvalidInputError
        If no worker has a weight, or no key records.
    """
    key = np.asarray(frequencies, float)
    weight = np.asarray([w for w in weights if w > 0], float)
    if not len(weight) or not key.sum() > 0:
        raise InvalidInputError("no worker has a weight, or no key has records", "give some")
    key, weight = key / key.sum(), weight / weight.sum()
    n = len(weight)
    is_hot = key >= 1 / (_HOT * n)
    cold = key[~is_hot]
    # A sum of many independent draws is about normal, and the largest of n of those about this far.
    far = math.sqrt(2 * math.log(n)) if n > 1 else 0.0
    spread = np.sqrt(weight * (1 - weight) * float((cold**2).sum()))
    highest = float(((weight * cold.sum() + far * spread) / weight).max())
    capacity = (1 + EPSILON) * float(weight.max())
    pieces = np.maximum(1, np.ceil(key / capacity - ROUNDING))
    return Reach(
        fullest=1.0 if n == 1 else max(1 + EPSILON if is_hot.any() else 1.0, highest),
        cold=highest,
        pieces=int(pieces.sum()),
        hot_keys=int(is_hot.sum()),
    )
