"""Which plans of a small instance are best, level by level, by trying every plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import Plan
from tests.conformance.document_oracle import SAME, Document

PROVED = 1e-6
"""Share by which a proved value may exceed its bound."""
Asked = Callable[[Plan], bool]


@dataclass(frozen=True)
class LevelTruth:
    """What is true of one level, given the ones before it."""

    name: str
    tolerance: float
    optimum: float
    """With each level before at most (1 + tolerance) times its optimum."""
    lowest: float
    """With the levels before a little beyond that, by what a proof may be off."""
    span: float
    """Largest value of a plan that holds, by the smallest that is not 0."""

    @property
    def cap(self) -> float:
        """Return what a proved plan has of this level at most."""
        return (1 + self.tolerance) * self.optimum * (1 + PROVED) * (1 + SAME)


class Truth:
    """What is true of an instance, by trying every plan.

    Parameters
    ----------
    objective
        The levels: (name, tolerance).
    holds_exactly
        Of plans that use a limit to the last billionth, whether they hold.
    """

    def __init__(
        self, document: Document, objective: Sequence[tuple[str, float]], holds_exactly: Asked
    ) -> None:
        self._objective = objective
        plans = document.plans()
        said = document.judge(plans)
        # With throughput first, the limits that grow with the rates may be exceeded.
        holds = (said.rated_aside if objective[0][0] == "throughput" else said.hold).copy()
        for i in np.flatnonzero(holds & said.doubtful):
            holds[i] = holds_exactly(document.as_plan(plans[i]))
        self._values = {name: said.values[name][holds] for name, _ in objective}
        self.any_plan = bool(holds.any())

    def levels(self, found: Mapping[str, float] | None = None) -> list[LevelTruth]:
        """Return the optimum of each level; empty if there is no plan.

        Parameters
        ----------
        found
            What a plan has of each level. Where that is more than the optimum by what a proof may
            be off, it is the value that was reached, and later levels are subject to it.
        """
        if not self.any_plan:
            return []
        every = np.ones(len(next(iter(self._values.values()))), bool)
        strict, loose = every.copy(), every
        out = []
        for name, tolerance in self._objective:
            value = self._values[name]
            seen = value[value > 0]
            level = LevelTruth(
                name,
                tolerance,
                float(value[strict].min()),
                float(value[loose].min()),
                float(seen.max() / seen.min()) if len(seen) else 1.0,
            )
            out.append(level)
            reached = level.optimum
            if found is not None and found[name] <= level.cap:
                reached = max(reached, found[name] / (1 + tolerance))
            # What is equal but for the rounding of sums keeps the cap in any case.
            strict &= value <= (1 + tolerance) * reached * (1 + 1e-12)
            loose = loose & (value <= level.cap)
        return out
