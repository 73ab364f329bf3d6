"""Random choices and figures: round ones, drawn ones, and skewed ones of many powers of ten."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Draw = np.random.Generator


class Draws:
    """Draws with the chances of a family.

    All parts of a case take from one source, so the same seed gives the same case.
    """

    def __init__(self, draw: Draw, chances: dict[str, float]) -> None:
        self.draw = draw
        self.chances = chances
        self.round = self.often("round")
        self.skew = self.often("skew")

    def often(self, trouble: str) -> bool:
        return bool(self.draw.random() < self.chances[trouble])

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.draw.integers(len(options)))]

    def number(self, low: float, high: float) -> float:
        """Draw a figure: round, between the two, or far off."""
        if self.skew and self.draw.random() < 0.5:
            middle = (low * high) ** 0.5
            return float(f"{middle * 10 ** self.draw.uniform(-5, 4):.4g}")
        value = float(np.exp(self.draw.uniform(np.log(low), np.log(high))))
        if self.round:
            return float(f"{value:.0e}")
        return float(f"{value:.4g}")
