"""A mixed-integer linear model as columns and rows, independent of any solver."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import afford

_MERGING_S = 1e-7
"""Time to sort an entry in among others, measured."""

Limited = tuple[str, int]
"""Which limit a row states: its kind and index; the rows of one limit are relaxed together."""


class Kind(Enum):
    """The values that a column may take."""

    BINARY = "binary"
    COUNT = "count"
    """Whole numbers."""
    IMPLIED = "implied"
    """Whole wherever the binaries are, so that no solver need branch on it."""
    REAL = "real"


@dataclass
class Affine:
    """A linear expression plus a constant."""

    terms: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    @classmethod
    def of(cls, column: Ints, value: Floats) -> "Affine":
        """Return the sum of some columns times their values; each column is there once."""
        used = value != 0
        return cls(dict(zip(column[used].tolist(), value[used].tolist(), strict=True)))

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


@dataclass(frozen=True)
class Block:
    """Many rows of one kind at once, as coordinates.

    Attributes
    ----------
    row, column, value
        Entries, by row; a row holds a column once; shape (n_entries,).
    bound
        Of each row, shape (n_rows,).
    what, which
        The limits that the rows state: their kind, and the index of each; None: definitions.
    """

    row: Ints
    column: Ints
    value: Floats
    bound: Floats
    equality: bool = False
    what: str | None = None
    which: Ints | None = None

    def rows(self) -> Iterator[Row]:
        """Yield the rows one by one."""
        cuts = np.searchsorted(self.row, np.arange(len(self.bound) + 1)).tolist()
        column, value, bound = self.column.tolist(), self.value.tolist(), self.bound.tolist()
        for i, (a, b) in enumerate(pairwise(cuts)):
            limit = None
            if self.what is not None and self.which is not None:
                limit = (self.what, int(self.which[i]))
            terms = dict(zip(column[a:b], value[a:b], strict=True))
            yield Row(terms, bound[i], self.equality, limit)


def merged(row: Ints, column: Ints, value: Floats) -> tuple[Ints, Ints, Floats]:
    """Return entries by row, then column, those of one place added up and without zeros."""
    afford(_MERGING_S * len(row))
    width = int(column.max(initial=0)) + 1
    place, inverse = np.unique(row * width + column, return_inverse=True)
    total = np.bincount(inverse, weights=value, minlength=len(place)).astype(float, copy=False)
    kept = total != 0
    return place[kept] // width, place[kept] % width, total[kept]


@dataclass
class LinearModel:
    """Columns with bounds [0, upper], rows, and named objectives to minimise."""

    upper: list[float] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    single: list[Row] = field(default_factory=list)
    """Rows beside those of the blocks."""
    objectives: dict[str, Affine] = field(default_factory=dict)

    def column(self, kind: Kind, upper: float = 1.0) -> int:
        """Add a column and return its index."""
        self.upper.append(upper)
        self.kinds.append(kind)
        return len(self.upper) - 1

    def columns(self, kind: Kind, upper: Floats) -> Ints:
        """Add columns and return their indices."""
        first = len(self.upper)
        self.upper.extend(upper.tolist())
        self.kinds.extend([kind] * len(upper))
        return np.arange(first, first + len(upper))

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, one by one."""
        for block in self.blocks:
            yield from block.rows()
        yield from self.single

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(len(b.bound) for b in self.blocks) + len(self.single)

    @property
    def n_entries(self) -> int:
        """Number of coefficients in all rows."""
        return sum(len(b.row) for b in self.blocks) + sum(len(r.terms) for r in self.single)

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
        self.single.append(Row(terms, bound, equality, limit))

    def all_at_most(
        self,
        row: Ints,
        column: Ints,
        value: Floats,
        bound: Floats,
        what: str | None = None,
        which: Ints | None = None,
    ) -> None:
        """Require ``sum(value of row i) <= bound[i]`` for each i; entries may repeat."""
        self._rows(row, column, value, bound, False, what, which)

    def all_equal(
        self,
        row: Ints,
        column: Ints,
        value: Floats,
        bound: Floats,
        what: str | None = None,
        which: Ints | None = None,
    ) -> None:
        """Require ``sum(value of row i) == bound[i]`` for each i; entries may repeat."""
        self._rows(row, column, value, bound, True, what, which)

    def _rows(
        self,
        row: Ints,
        column: Ints,
        value: Floats,
        bound: Floats,
        equality: bool,
        what: str | None,
        which: Ints | None,
    ) -> None:
        row, column, value = merged(row, column, value)
        kept = np.zeros(len(bound), bool)
        kept[row] = True
        # Rows without entries hold, or nothing can make them hold.
        broken = ~kept & ((bound != 0) if equality else (bound < 0))
        for i in np.flatnonzero(broken).tolist():
            limit = (what, int(which[i])) if what is not None and which is not None else None
            self._row(Affine(), float(bound[i]), equality, limit)
        if not kept.any():
            return
        row = (np.cumsum(kept) - 1)[row]
        named = None if which is None else which[kept]
        self.blocks.append(Block(row, column, value, bound[kept], equality, what, named))

    def without(self, limits: Iterable[Limited]) -> "LinearModel":
        """Return a copy without the rows of some limits."""
        gone = set(limits)
        kept = [r for r in self.rows if r.limit not in gone]
        return LinearModel(self.upper, self.kinds, [], kept, self.objectives)


def power_of_two(x: float) -> float:
    """Return the largest power of two that is at most x: scaling by it rounds nothing."""
    return 2.0 ** math.floor(math.log2(x))
