"""The Pareto front as a picture: characters for a terminal, SVG for a page."""

from collections.abc import Callable, Sequence
from html import escape

from edgeplace.quantities import count, milliseconds, size
from edgeplace.solver import Point

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 20, 60
_INSET = 14
_COLUMNS, _LINES = 60, 12
_PALE, _DARK = (0xCF, 0xE3, 0xF3), (0x0B, 0x3C, 0x5D)


def as_text(points: Sequence[Point]) -> str:
    """Return the front as lines of characters: each point by its number in the table."""
    across, up = _scale(points, "wan"), _scale(points, "latency")
    cells = [[" "] * (_COLUMNS + 4) for _ in range(_LINES)]
    for i, p in enumerate(points, start=1):
        x = round(across(p.evaluation.wan_cost) * _COLUMNS)
        y = round((1 - up(p.evaluation.latency_ms)) * (_LINES - 1))
        for j, digit in enumerate(str(i)):
            cells[y][x + j] = digit
    high, low = (milliseconds(f(p.evaluation.latency_ms for p in points)) for f in (max, min))
    margin = max(len(high), len(low))
    names = [high, *[""] * (_LINES - 2), low]
    lines = [
        f"{name:>{margin}} |{''.join(row).rstrip()}" for name, row in zip(names, cells, strict=True)
    ]
    left, right = (size(f(p.evaluation.wan_cost for p in points), "/s") for f in (min, max))
    lines.append(f"{'':>{margin}} +{'-' * (_COLUMNS + 4)}")
    lines.append(f"{'':>{margin}}  {left}{right:>{_COLUMNS + 4 - len(left)}}")
    return "\n".join([*lines, f"{'':>{margin}}  WAN across, worst path upwards"])


def as_svg(points: Sequence[Point]) -> str:
    """Return the front as SVG: WAN across, worst path upwards, the darker the more server cores."""
    across, up = _scale(points, "wan"), _scale(points, "latency")
    dark = _scale(points, "server_cores")
    plot_w, plot_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    summary = f"{len(points)} plans by WAN bytes, worst path and server cores"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{summary}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<path d="M{_LEFT} {_TOP}V{_TOP + plot_h}H{_LEFT + plot_w}" fill="none" stroke="#888"/>',
    ]
    ends: tuple[Callable[..., float], ...] = (min, max)
    for i, end in enumerate(ends):
        wan = size(end(p.evaluation.wan_cost for p in points), "/s")
        late = milliseconds(end(p.evaluation.latency_ms for p in points))
        anchor = ("start", "end")[i]
        parts.append(_text(_LEFT + i * plot_w, _TOP + plot_h + 18, wan, anchor))
        level = _TOP + _INSET + (1 - i) * (plot_h - 2 * _INSET)
        parts.append(_text(_LEFT - 8, level + 4, late, "end"))
    title = "WAN across, worst path upwards; the darker, the more server cores"
    parts.append(_text(_LEFT, _HEIGHT - 12, title, "start"))
    for i, p in enumerate(points, start=1):
        e = p.evaluation
        x = _LEFT + _INSET + across(e.wan_cost) * (plot_w - 2 * _INSET)
        y = _TOP + _INSET + (1 - up(e.latency_ms)) * (plot_h - 2 * _INSET)
        share = dark(e.server_cores)
        fill = "".join(
            f"{round(a + (b - a) * share):02x}" for a, b in zip(_PALE, _DARK, strict=True)
        )
        said = (
            f"{i}: {p.asked}; {size(e.wan_cost, '/s')}, {milliseconds(e.latency_ms)}, "
            f"{count(e.server_cores)} server cores"
        )
        parts.append(
            f'<g><title>{escape(said)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="11" '
            f'fill="#{fill}" stroke="#0b3c5d"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
            f'fill="{"white" if share > 0.5 else "black"}">{i}</text></g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(points: Sequence[Point], name: str) -> Callable[[float], float]:
    """Return what takes a term to its share of the range of all points."""
    values = [p.evaluation.value(name) for p in points]  # type: ignore[arg-type]
    low, high = min(values), max(values)
    return lambda value: (value - low) / (high - low) if high > low else 0.5


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
