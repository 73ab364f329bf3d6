"""Textbook: the exact placement with products linearised as ``y >= x + x - 1``.

The form of Glover and Woolsey, "Converting the 0-1 Polynomial Programming Problem to a 0-1 Linear
Program", Operations Research 22(1), 1974, doi 10.1287/opre.22.1.180, without the rows that a
minimum does not need. Placement models use it to this day: Massa et al., "EdgeWise", IEEE CLOUD
2023 (https://github.com/di-unipi-socc/edgewise).
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.one_linearisation import least_wan
from edgeplace.solver.formulation.crossings import PairCrossings
from edgeplace.solver.problem import Problem


class TextbookCrossings(PairCrossings):
    """Crossings by one column per channel and pair of sites, linked by ``y >= x + x - 1``."""

    def tie(
        self, product: Ints, pair: Ints, spots: tuple[Ints, Ints], sizes: tuple[Ints, Ints]
    ) -> None:
        """Require ``y >= x + x - 1`` of each column y; see `PairCrossings`."""
        which, columns = zip(*(self.columns(spot) for spot in spots), strict=True)
        rows = np.arange(len(product))
        self.model.all_at_most(
            np.concatenate([*which, rows]),
            np.concatenate([*columns, product]),
            np.concatenate([np.ones(sum(map(len, which))), -np.ones(len(rows))]),
            np.ones(len(rows)),
        )


def textbook(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the plan with the least `wan`, proved by the textbook linearisation."""
    return least_wan(problem, TextbookCrossings, budget)
