"""Boxes of vectors: what is known of each, and how it is divided."""

from dataclasses import dataclass, field

from edgeplace.solver.parallelism.relaxed import Box, Relaxed
from edgeplace.solver.parallelism.within import Answer

Vector = tuple[int, ...]


@dataclass
class Node:
    """A box, and bounds of all plans of its vectors.

    Attributes
    ----------
    bounds
        Of each level that was asked for, by plans within the caps of the levels before.
    relaxed
        Its relaxed problem, once it is built.
    least
        Level -> bound of the relaxed problem itself, without other vectors' bounds.
    """

    box: Box
    bounds: list[float] = field(default_factory=list)
    relaxed: Relaxed | None = None
    least: dict[int, float] = field(default_factory=dict)
    asked: int = -1
    """Last level of which the relaxed problem was asked."""
    answer: Answer | None = None
    """Of its only vector."""

    @property
    def vector(self) -> Vector | None:
        """The only vector, None if there are more."""
        if any(len(ns) > 1 for ns in self.box):
            return None
        return tuple(ns[0] for ns in self.box)

    @property
    def size(self) -> int:
        """Number of vectors."""
        n = 1
        for ns in self.box:
            n *= len(ns)
        return n

    def bound(self, level: int) -> float:
        """Return the bound of a level, 0 where nothing is known."""
        return self.bounds[level] if level < len(self.bounds) else 0.0

    def raise_bound(self, level: int, bound: float) -> None:
        """Note a bound of a level."""
        self.bounds += [0.0] * (level + 1 - len(self.bounds))
        self.bounds[level] = max(self.bounds[level], bound)

    def halves(self) -> tuple["Node", "Node"]:
        """Return two nodes with half of the values each, of the group with the widest range."""
        g = max(range(len(self.box)), key=lambda i: self.box[i][-1] / self.box[i][0])
        ns = self.box[g]
        # The middle by ratio: what is known of a box depends on the ratio of its ends.
        middle = (ns[0] * ns[-1]) ** 0.5
        at = min(max(sum(n <= middle for n in ns), 1), len(ns) - 1)
        low, high = (
            Node((*self.box[:g], part, *self.box[g + 1 :]), list(self.bounds))
            for part in (ns[:at], ns[at:])
        )
        return low, high
