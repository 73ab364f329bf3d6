"""What every partitioner is, and hashes that all share."""

import numpy as np

_MASK = (1 << 64) - 1


def mixed(x: int) -> int:
    """Return 64 well mixed bits of a number (SplitMix64: Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def hashed(key: int, seed: int, workers: int) -> int:
    """Return the worker that hash function `seed` gives a key."""
    return mixed(mixed(seed) ^ key) % workers


class Partitioner:
    """Gives each record a worker, by its key; one router.

    Parameters
    ----------
    workers
        Their number.
    speed
        Of each worker, in any unit: shape (workers,). Only `EdgeplaceRule` is told.
    """

    title = ""

    def __init__(self, workers: int, speed: np.ndarray) -> None:
        self.workers, self.speed = workers, speed
        self.load = np.zeros(workers)

    def route(self, key: int) -> int:
        """Return the worker of a record."""
        raise NotImplementedError

    def end_of_slide(self) -> None:
        """Take note that a slide of the window is over."""

    def less_loaded(self, a: int, b: int) -> int:
        return a if self.load[a] <= self.load[b] else b
