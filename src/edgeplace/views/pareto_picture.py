"""The Pareto front as a picture: characters for a terminal, SVG for a page."""

from collections.abc import Callable, Sequence
from html import escape

from edgeplace.cli.quantities import count, milliseconds
from edgeplace.solver import Point
from edgeplace.views.svg import text_at
from edgeplace.views.terms import Terms

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 20, 60
_INSET = 14
_RADIUS, _BESIDE = 6, 10
_APART, _LINE = 30, 14
"""Least distance of two points, across and upwards, whose numbers do not overlap."""
_COLUMNS, _LINES = 60, 12
_PALE, _DARK = (0xCF, 0xE3, 0xF3), (0x0B, 0x3C, 0x5D)


def as_text(points: Sequence[Point], terms: Terms) -> str:
    """Return the front as lines of characters: each point by its number in the table.

    Points too close for numbers of their own share a list: `1,2`.
    """
    across, up = _scale(points, "wan"), _scale(points, "latency")
    rows: list[list[tuple[int, int]]] = [[] for _ in range(_LINES)]
    for i, p in enumerate(points, start=1):
        x = round(across(p.evaluation.wan_cost) * _COLUMNS)
        y = round((1 - up(p.evaluation.latency_ms)) * (_LINES - 1))
        rows[y].append((x, i))
    high, low = (milliseconds(f(p.evaluation.latency_ms for p in points)) for f in (max, min))
    margin = max(len(high), len(low))
    names = [high, *[""] * (_LINES - 2), low]
    lines = [f"{name:>{margin}} |{_row(row)}" for name, row in zip(names, rows, strict=True)]
    left, right = (terms.value("wan", f(p.evaluation.wan_cost for p in points)) for f in (min, max))
    lines.append(f"{'':>{margin}} +{'-' * (_COLUMNS + 4)}")
    lines.append(f"{'':>{margin}}  {left}{right:>{_COLUMNS + 4 - len(left)}}")
    return "\n".join([*lines, f"{'':>{margin}}  {terms.title('wan')} across, worst path upwards"])


def as_svg(points: Sequence[Point], terms: Terms) -> str:
    """Return the front as SVG: WAN across, worst path upwards, the darker the more server cores."""
    across, up = _scale(points, "wan"), _scale(points, "latency")
    dark = _scale(points, "server_cores")
    plot_w, plot_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    summary = f"{len(points)} plans by {terms.title('wan')}, worst path and server cores"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{summary}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<path d="M{_LEFT} {_TOP}V{_TOP + plot_h}H{_LEFT + plot_w}" fill="none" stroke="#888"/>',
    ]
    ends: tuple[Callable[..., float], ...] = (min, max)
    for i, end in enumerate(ends):
        wan = terms.value("wan", end(p.evaluation.wan_cost for p in points))
        late = milliseconds(end(p.evaluation.latency_ms for p in points))
        anchor = ("start", "end")[i]
        parts.append(text_at(_LEFT + i * plot_w, _TOP + plot_h + 18, wan, anchor))
        level = _TOP + _INSET + (1 - i) * (plot_h - 2 * _INSET)
        parts.append(text_at(_LEFT - 8, level + 4, late, "end"))
    title = f"{terms.title('wan')} across, worst path upwards; the darker, the more server cores"
    parts.append(text_at(_LEFT, _HEIGHT - 12, title, "start"))
    at: list[tuple[float, float]] = []
    for i, p in enumerate(points, start=1):
        e = p.evaluation
        x = _LEFT + _INSET + across(e.wan_cost) * (plot_w - 2 * _INSET)
        y = _TOP + _INSET + (1 - up(e.latency_ms)) * (plot_h - 2 * _INSET)
        share = dark(e.server_cores)
        fill = "".join(
            f"{round(a + (b - a) * share):02x}" for a, b in zip(_PALE, _DARK, strict=True)
        )
        said = (
            f"{i}: {p.asked}; {terms.value('wan', e.wan_cost)}, {milliseconds(e.latency_ms)}, "
            f"{count(e.server_cores)} server cores"
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="#{fill}" stroke="#0b3c5d">'
            f"<title>{escape(said)}</title></circle>"
        )
        at.append((x, y))
    # The numbers are drawn after all circles, so that no circle covers a number.
    for numbers in _clusters(at):
        own = [at[i] for i in numbers]
        left = min(x for x, _ in own) > _LEFT + plot_w / 2
        x = min(x for x, _ in own) - _BESIDE if left else max(x for x, _ in own) + _BESIDE
        y = sum(y for _, y in own) / len(own) + 4
        text = ", ".join(str(i + 1) for i in numbers)
        # A white rim keeps a list legible that is long enough to reach another circle.
        parts.append('<g stroke="white" stroke-width="3" paint-order="stroke">')
        parts.append(text_at(x, y, text, "end" if left else "start"))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(row: Sequence[tuple[int, int]]) -> str:
    """Return a line of numbers, each at its column."""
    line = ""
    for x, i in sorted(row):
        # A blank separates two numbers.
        line = f"{line:<{x}}{i}" if not line or len(line) < x else f"{line},{i}"
    return line


def _clusters(at: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return points by the groups whose numbers would cover each other, in rising order."""
    groups: list[list[int]] = []
    for i, (x, y) in enumerate(at):
        near = [
            g
            for g in groups
            if any(abs(x - at[j][0]) < _APART and abs(y - at[j][1]) < _LINE for j in g)
        ]
        groups = [g for g in groups if g not in near]
        groups.append(sorted([i, *(j for g in near for j in g)]))
    return groups


def _scale(points: Sequence[Point], name: str) -> Callable[[float], float]:
    """Return a function from a term to its share of the range of all points."""
    values = [p.evaluation.value(name) for p in points]  # type: ignore[arg-type]
    low, high = min(values), max(values)
    return lambda value: (value - low) / (high - low) if high > low else 0.5
