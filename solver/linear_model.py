"""A mixed-integer linear model as columns and rows, independent of any solver."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

Limited = tuple[str, int]
"""Which limit a row states: its kind and index; the rows of one limit are relaxed together."""


class Kind(Enum):
    """What values a column takes."""

    BINARY = "binary"
    IMPLIED = "implied"
    """Continuous, but integral wherever the binaries are: whole in CP-SAT, free in MILP."""
    REAL = "real"


@dataclass
class Affine:
    """A linear expression plus a constant."""

    terms: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    def add(self, other: "Affine", factor: float = 1.0) -> "Affine":
        """Add ``factor * other`` in place and return self."""
        for column, coefficient in other.terms.items():
            self.terms[column] = self.terms.get(column, 0.0) + factor * coefficient
        self.constant += factor * other.constant
        return self

    def add_term(self, column: int, coefficient: float) -> "Affine":
        """Add one term in place and return self."""
        self.terms[column] = self.terms.get(column, 0.0) + coefficient
        return self


@dataclass(frozen=True)
class Row:
    """``sum(terms) <= bound`` or ``== bound``; `limit` names what it states, None: a definition."""

    terms: Mapping[int, float]
    bound: float
    equality: bool = False
    limit: Limited | None = None


@dataclass
class LinearModel:
    """Columns with bounds [0, upper], rows, and named objectives to minimise."""

    upper: list[float] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    objectives: dict[str, Affine] = field(default_factory=dict)

    def column(self, kind: Kind, upper: float = 1.0) -> int:
        """Add a column and return its index."""
        self.upper.append(upper)
        self.kinds.append(kind)
        return len(self.upper) - 1

    def at_most(self, expression: Affine, bound: float, limit: Limited | None = None) -> None:
        """Require ``expression <= bound``."""
        self._row(expression, bound, False, limit)

    def equal(self, expression: Affine, bound: float, limit: Limited | None = None) -> None:
        """Require ``expression == bound``."""
        self._row(expression, bound, True, limit)

    def _row(self, e: Affine, bound: float, equality: bool, limit: Limited | None) -> None:
        terms = {c: v for c, v in e.terms.items() if v}
        bound -= e.constant
        if not terms:
            if bound >= 0 and not (equality and bound > 0):
                return
            # A limit that fixed subtasks alone exceed: keep it, as a row that nothing satisfies.
            terms = {self.column(Kind.IMPLIED, 0.0): 1.0}
        self.rows.append(Row(terms, bound, equality, limit))

    def without(self, limits: Iterable[Limited]) -> "LinearModel":
        """Return a copy without the rows of some limits."""
        gone = set(limits)
        kept = [r for r in self.rows if r.limit not in gone]
        return LinearModel(self.upper, self.kinds, kept, self.objectives)


def power_of_two(x: float) -> float:
    """Return the largest power of two that is at most x: scaling by it rounds nothing."""
    return 2.0 ** math.floor(math.log2(x))
