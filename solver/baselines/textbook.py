"""Textbook: the exact placement with products linearised as ``y >= x + x - 1``.

The form of Glover and Woolsey, "Converting the 0-1 Polynomial Programming Problem to a 0-1 Linear
Program", Operations Research 22(1), 1974, doi 10.1287/opre.22.1.180, without the rows that a
minimum does not need. Placement models use it to this day: Massa et al., "EdgeWise", IEEE CLOUD
2023 (https://github.com/di-unipi-socc/edgewise).
"""

from edgeplace.solver.baselines.exact import least_wan
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.crossings import PairCrossings
from edgeplace.solver.linear_model import Affine, Kind
from edgeplace.solver.problem import Problem


class TextbookCrossings(PairCrossings):
    """Crossings by one column per channel and pair of sites, tied by ``y >= x + x - 1``."""

    def _pairs(self, source: int, target: int) -> dict[tuple[int, int], Affine]:
        pairs = {}
        for a in self._sites.of(source):
            for b in self._sites.of(target):
                if a != b:
                    y = self._model.column(Kind.IMPLIED)
                    both = Affine().add(self._sites.at(source, a)).add(self._sites.at(target, b))
                    self._model.at_most(both.add_term(y, -1.0), 1.0)
                    pairs[a, b] = Affine({y: 1.0})
        return pairs


def textbook(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the plan with the least `wan`, proved by the textbook linearisation."""
    return least_wan(problem, TextbookCrossings, budget)
