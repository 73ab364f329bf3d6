"""The job on the sites as SVG: a box for each site, the edge on the left, arrows for streams."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from edgeplace.model import first_few
from edgeplace.report.markup import Markup, element
from edgeplace.report.placement import Box, Flow, Placement
from edgeplace.views.pictures.label_places import short

_MARGIN, _GAP_X, _GAP_Y = 10, 200, 18
_WIDTH, _HEAD, _ROW, _FOOT = 270, 52, 32, 8
_LOOP = 90
"""Space on the left for arrows between boxes of the first column."""
_MOST_ROWS = 16
_MOST_ARROWS = 60
_CHIP, _TITLE, _UNDER = 30, 32, 40
"""Most characters of a row's text, of a title, and of a line below the title."""
_CELL = 8
"""Width of a character."""
_BASE = 17
"""Distance of the base line from the upper edge of a text."""


@dataclass(frozen=True)
class _Drawn:
    x: float
    y: float
    height: float
    rows: dict[int, float]
    """Middle of the row of each operator; operators without a row share the last one."""
    column: int


_Lane = tuple[float, float]
"""The left edge of a column of boxes, and the height at which an arrow passes it."""


def drawing(placed: Placement) -> Markup:
    """Return the picture, with a description for readers who cannot see it."""
    across = [f for f in placed.flows if not f.local]
    shown = across[:_MOST_ARROWS]
    boxes, width, height = _laid_out(placed, shown)
    lanes: list[_Lane] = []
    arrows = [_arrow(f, placed, boxes, across[0].bytes_per_s, height, lanes) for f in shown]
    inside = [_arc(f, boxes) for f in placed.flows if f.local and f.start == f.end]
    return element(
        "svg",
        element("title", "The job on the sites", id="sites-picture"),
        element("desc", _description(placed, across), id="sites-said"),
        element("defs", _head("wan-head", "head", 12), _head("local-head", "small-head", 7)),
        *arrows,
        *(_site(b, d, placed) for b, d in zip(placed.boxes, boxes, strict=True)),
        *inside,
        *_labels(placed, shown, boxes),
        class_="sites",
        viewBox=f"0 0 {width:g} {height:g}",
        style=f"min-width:{0.85 * width:.0f}px;max-width:{1.2 * width:.0f}px",
        role="img",
        aria_labelledby="sites-picture sites-said",
    )


def caption(placed: Placement) -> str:
    """Return a description of the picture, and of the parts that it omits."""
    text = (
        "Boxes are sites, edge on the left, cloud on the right; rows are operators with their "
        "number of subtasks; blue arrows are streams over the WAN, with the traffic that "
        "leaves the row. Checkpoints and acknowledgements are counted under Links."
    )
    many = sum(not f.local for f in placed.flows)
    if many > _MOST_ARROWS:
        text += f" Only the {_MOST_ARROWS} largest of {many:,} streams are drawn."
    return text


def _laid_out(placed: Placement, arrows: Sequence[Flow]) -> tuple[list[_Drawn], float, float]:
    """Return the place of each box, and the width and height of all."""
    used = sorted({b.column for b in placed.boxes})
    # Bent arrows go around the left of their boxes.
    bent = any(
        placed.boxes[f.start].column == placed.boxes[f.end].column == used[0] for f in arrows
    )
    left = _MARGIN + (_LOOP if bent else 0)
    rows = [_rows(b, placed) for b in placed.boxes]
    heights = [_HEAD + _ROW * max(1, len(own)) + _FOOT for own in rows]
    columns = [[i for i, b in enumerate(placed.boxes) if b.column == c] for c in used]
    totals = [sum(heights[i] + _GAP_Y for i in own) - _GAP_Y for own in columns]
    height = max(totals, default=0) + 2 * _MARGIN
    drawn: dict[int, _Drawn] = {}
    for c, (own, total) in enumerate(zip(columns, totals, strict=True)):
        y = (height - total) / 2
        for i in own:
            middle = [y + _HEAD + _ROW * (r + 0.5) for r in range(max(1, len(rows[i])))]
            at = dict.fromkeys(placed.order, middle[-1])
            at.update(
                (o, middle[r]) for r, row in enumerate(rows[i]) for o in row[:1] if len(row) == 1
            )
            drawn[i] = _Drawn(left + c * (_WIDTH + _GAP_X), y, heights[i], at, used[c])
            y += heights[i] + _GAP_Y
    width = left + len(used) * (_WIDTH + _GAP_X) - _GAP_X + _MARGIN
    return [drawn[i] for i in range(len(placed.boxes))], width, height


def _rows(box: Box, placed: Placement) -> list[tuple[int, ...]]:
    """Return the operators of each row: one operator, and in the last row all others."""
    there = [o for o in placed.order if box.subtasks[o]]
    if len(there) <= _MOST_ROWS:
        return [(o,) for o in there]
    return [*((o,) for o in there[: _MOST_ROWS - 1]), tuple(there[_MOST_ROWS - 1 :])]


def many(box: Box, operator: int) -> str:
    """Return the number of subtasks of an operator in a box."""
    total = box.subtasks[operator]
    if box.alike and box.sites > 1:
        return f"×{total // box.sites:,} each"
    return f"×{total:,}"


def _site(box: Box, at: _Drawn, placed: Placement) -> Markup:
    inner = _WIDTH - 24
    parts = [
        element("title", f"{box.title} ({box.under})"),
        element("rect", x=at.x, y=at.y, width=_WIDTH, height=at.height, rx=8, class_="site"),
        _text(short(box.title, _TITLE), at.x + 12, at.y + 5, inner, "name"),
        _text(short(box.under, _UNDER), at.x + 12, at.y + 23, inner, "soft"),
    ]
    rows = _rows(box, placed)
    for r, row in enumerate(rows):
        y = at.y + _HEAD + _ROW * r + 2
        if len(row) == 1:
            name, number = placed.operators[row[0]], many(box, row[0])
        else:
            name, number = f"{len(row)} more operators", f"×{sum(box.subtasks[o] for o in row):,}"
        cells = _CHIP - cell_len(number)
        parts += [
            element(
                "rect",
                x=at.x + 24,
                y=y,
                width=_WIDTH - 34,
                height=_ROW - 6,
                rx=6,
                class_="chip",
            ),
            _text(short(name, cells), at.x + 32, y, _WIDTH - 52 - _CELL * cell_len(number)),
            element(
                "text",
                number,
                x=at.x + _WIDTH - 18,
                y=y + _BASE,
                text_anchor="end",
                class_="count",
            ),
        ]
    if not rows:
        parts.append(_text("nothing runs here", at.x + 12, at.y + _HEAD, inner, "soft"))
    return element("g", *parts)


def _text(said: str, x: float, y: float, width: float, class_: str | None = None) -> Markup:
    """Return text with a fixed width, for any font."""
    inside = element("text", said, y=_BASE, class_=class_)
    return element("svg", inside, x=x, y=y, width=width, height=_ROW - 6)


def _arrow(
    flow: Flow,
    placed: Placement,
    boxes: Sequence[_Drawn],
    largest: float,
    height: float,
    lanes: list[_Lane],
) -> Markup:
    """Return an arrow; `lanes` gets the lines on which it passes boxes."""
    a, b = boxes[flow.start], boxes[flow.end]
    y1, y2 = a.rows[flow.source], b.rows[flow.target]
    if a.column != b.column:
        right = a.column < b.column
        x1, x2 = (a.x + _WIDTH, b.x - 2) if right else (a.x, b.x + _WIDTH + 2)
        path = f"M{x1:g} {y1:g}"
        x, y = x1, y1
        low, high = sorted((a.column, b.column))
        between = sorted({box.x for box in boxes if low < box.column < high}, reverse=not right)
        for left in between:
            share = (left + _WIDTH / 2 - x1) / (x2 - x1)
            lane = _lane(boxes, left, y1 + share * (y2 - y1), height, lanes)
            lanes.append(lane)
            into, out = (left, left + _WIDTH) if right else (left + _WIDTH, left)
            path += f"{_bend(x, y, into, lane[1])}H{out:g}"
            x, y = out, lane[1]
        path += _bend(x, y, x2, y2)
    else:
        x = a.x
        path = f"M{x:g} {y1:g}C{x - 70:g} {y1:g} {x - 70:g} {y2 + 4:g} {x - 2:g} {y2 + 4:g}"
    names = placed.operators
    said = (
        f"{names[flow.source]} at {placed.boxes[flow.start].title} → {names[flow.target]} at "
        f"{placed.boxes[flow.end].title}: {placed.rates.text(flow.bytes_per_s)}"
    )
    width = 1.5 + 4.5 * math.sqrt(flow.bytes_per_s / largest)
    return element(
        "path",
        element("title", said),
        d=path,
        stroke_width=width,
        class_="wan",
        marker_end="url(#wan-head)",
    )


def _bend(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (x1 + x2) / 2
    return f"C{half:g} {y1:g} {half:g} {y2:g} {x2:g} {y2:g}"


def _lane(
    boxes: Sequence[_Drawn], left: float, wanted: float, height: float, lanes: Sequence[_Lane]
) -> _Lane:
    """Return the free line nearest to the wanted height that passes the boxes of a column."""
    own = [box for box in boxes if box.x == left]
    step = _GAP_Y / 4
    free = [
        y
        for y in (i * step for i in range(1, math.ceil(height / step)))
        if all(not box.y - step < y < box.y + box.height + step for box in own)
        and (left, y) not in lanes
    ]
    # A picture without room has arrows behind boxes.
    return left, min(free, key=lambda y: abs(y - wanted), default=wanted)


def _labels(placed: Placement, arrows: Sequence[Flow], boxes: Sequence[_Drawn]) -> list[Markup]:
    """Return the bytes that leave each row, beside it."""
    rows: dict[tuple[float, float, str], list[Flow]] = {}
    for f in arrows:
        a, b = boxes[f.start], boxes[f.end]
        right = a.column < b.column
        x = a.x + _WIDTH + 8 if right else a.x - 8
        rows.setdefault((x, a.rows[f.source], "start" if right else "end"), []).append(f)
    labels = []
    for (x, y, anchor), own in rows.items():
        # The label keeps away from the arrow, which rises where the largest stream rises.
        climbs = boxes[own[0].end].rows[own[0].target] < y
        text = placed.rates.text(sum(f.bytes_per_s for f in own))
        labels.append(
            element(
                "text", text, x=x, y=y + (14 if climbs else -5), text_anchor=anchor, class_="bytes"
            )
        )
    return labels


def _arc(flow: Flow, boxes: Sequence[_Drawn]) -> Markup:
    at = boxes[flow.start]
    y1, y2 = at.rows[flow.source] + 3, at.rows[flow.target] - 3
    x = at.x + 23
    bulge = min(18.0, 8 + abs(y2 - y1) / 8)
    path = f"M{x:g} {y1:g}C{x - bulge:g} {y1:g} {x - bulge:g} {y2:g} {x:g} {y2:g}"
    return element("path", d=path, class_="local", marker_end="url(#local-head)")


def _head(name: str, class_: str, side: float) -> Markup:
    return element(
        "marker",
        element("path", d="M0 0L10 5L0 10z", class_=class_),
        id=name,
        viewBox="0 0 10 10",
        refX=9,
        refY=5,
        markerWidth=side,
        markerHeight=side,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )


def _description(placed: Placement, across: Sequence[Flow]) -> str:
    parts = []
    for box in placed.boxes:
        there = [f"{placed.operators[o]} {many(box, o)}" for o in placed.order if box.subtasks[o]]
        parts.append(f"{box.title}: {first_few(there, _MOST_ROWS) or 'nothing'}.")
    total = placed.rates.text(sum(f.bytes_per_s for f in across))
    parts.append(f"Streams between sites: {total}. The tables below have the same figures.")
    return " ".join(parts)
