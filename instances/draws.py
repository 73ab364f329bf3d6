"""Seeded draws that are the same on every machine and Python release."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Random figures of one instance.

    It uses only `Random.random`, the one method whose sequence Python keeps across releases.
    Figures are rounded, so that their text does not depend on the last bit of a float.

    Parameters
    ----------
    key
        The identity of this instance: family, size, seed.
    """

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(map(str, key)))  # noqa: S311 - no secret

    def between(self, low: float, high: float) -> float:
        """Return a figure of four significant digits."""
        return rounded(low + (high - low) * self._random.random())

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of several, each as likely as the others."""
        return options[int(self._random.random() * len(options))]

    def some_of(self, options: Sequence[T], count: int) -> list[T]:
        """Return `count` of several, in their order."""
        left = list(range(len(options)))
        kept = [left.pop(int(self._random.random() * len(left))) for _ in range(count)]
        return [options[i] for i in sorted(kept)]


def rounded(figure: float) -> float:
    """Return a figure with four significant digits."""
    return float(f"{figure:.4g}")
