"""Names beside the marks of a picture, none of which covers another name or a mark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

CELL, LINE = 7.4, 14
"""Width of a character of a name at 12 px in a wide font, and its height."""


@dataclass(frozen=True)
class Dot:
    """A mark, and the name that it should have."""

    x: float
    y: float
    radius: float
    name: str


@dataclass(frozen=True)
class Name:
    """A name that has room: its base line, and SVG's `text-anchor`."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def short(text: str, cells: int) -> str:
    """Return text with at most so many characters, cut with an ellipsis."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…"


def names_beside(
    dots: Sequence[Dot],
    width: float,
    height: float,
    taken: Sequence[tuple[float, float, float, float]] = (),
) -> list[Name]:
    """Return the names that have room in a picture; those of the first dots go first.

    A name takes the first place around its mark that covers no other name and no mark.

    Parameters
    ----------
    taken
        Left, top, right and bottom of what else no name may cover.
    """
    marks = [_Box(d.x - d.radius, d.y - d.radius, d.x + d.radius, d.y + d.radius) for d in dots]
    names = [_Box(*edges) for edges in taken]
    found = []
    for i, dot in enumerate(dots):
        others = [*marks[:i], *marks[i + 1 :], *names]
        for name, box in _places(dot):
            inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(map(box.meets, others)):
                names.append(box)
                found.append(name)
                break
    return found


def _places(dot: Dot) -> Iterator[tuple[Name, _Box]]:
    width = CELL * cell_len(dot.name)
    for away in (3.0, 12.0):
        reach = dot.radius + away
        for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)):
            near = 0.7 * reach if right and down else reach
            x = dot.x + right * near
            middle = dot.y + down * (near + LINE / 2)
            left = x - width * (1 - right) / 2
            anchor = ("end", "middle", "start")[right + 1]
            box = _Box(left, middle - LINE / 2, left + width, middle + LINE / 2)
            yield Name(x, middle + 4, anchor, dot.name), box
