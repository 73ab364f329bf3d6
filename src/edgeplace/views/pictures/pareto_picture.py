"""The Pareto front as a picture: characters for a terminal, SVG for a page."""

import math
from collections.abc import Callable, Sequence
from html import escape

from edgeplace.cli.quantities import count, milliseconds
from edgeplace.model import MONTH_S, Evaluation, first_few
from edgeplace.solver import Point, Policy
from edgeplace.views.pictures.label_places import Dot, names_beside
from edgeplace.views.pictures.svg import Axis, picture, text_at
from edgeplace.views.tables import CURRENT
from edgeplace.views.terms import Terms

_WIDTH, _HEIGHT = 640, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 44, 92, 56
_SMALL, _LARGE = 4.0, 9.0
"""Radius of a plan with the fewest and with the most server cores."""
_SIDE = 4.5
"""Half the side of the mark of another placement."""
_APART = 12
"""Distance below which two points share a list of numbers."""
_FAR = 3
"""Times the largest figure of the front beyond which another placement is not drawn."""
_COLUMNS, _LINES = 60, 12


PROVED = "proved: no plan is as good in all three and better in one"
"""What the last column of the table says."""


def front_table(
    points: Sequence[Point], terms: Terms
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles and the rows of the table of a front."""
    rows: list[tuple[str, ...]] = [
        (
            str(i),
            terms.value("wan", p.evaluation.wan_cost),
            milliseconds(p.evaluation.latency_ms),
            count(p.evaluation.server_cores),
            p.asked,
            "yes" if p.proved else "no",
        )
        for i, p in enumerate(points, start=1)
    ]
    wan = f">{terms.title('wan')}"
    return ("", wan, ">worst path", ">server cores", "asked for", "proved"), rows


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


def as_svg(
    points: Sequence[Point], terms: Terms, others: Sequence[Policy] = (), chosen: int | None = None
) -> str:
    """Return the front as SVG, beside other placements: WAN across, worst path upwards.

    Parameters
    ----------
    others
        Placements to compare with, such as the current one. Those without a route, and those
        that are far worse than all plans of the front, are not drawn, only named.
    chosen
        Index of the point that was chosen; None: none was.
    """
    front = [p.evaluation for p in points]
    near = [p for p in others if _is_near(p.evaluation, front)]
    far = [p.name for p in others if p not in near]
    shown = [*front, *(p.evaluation for p in near)]
    scale = MONTH_S if terms.currency else 1.0
    across = Axis.over([scale * e.wan_cost for e in shown])
    up = Axis.over([e.latency_ms for e in shown])
    fewest, most = (f(e.server_cores for e in front) for f in (min, max))

    def at(e: Evaluation) -> tuple[float, float]:
        x = _LEFT + across.share(scale * e.wan_cost) * (_WIDTH - _LEFT - _RIGHT)
        return x, _HEIGHT - _BOTTOM - up.share(e.latency_ms) * (_HEIGHT - _TOP - _BOTTOM)

    def radius(e: Evaluation) -> float:
        share = (e.server_cores - fewest) / (most - fewest) if most > fewest else 0.0
        return _SMALL + (_LARGE - _SMALL) * share

    cores = count(fewest) if fewest == most else f"{count(fewest)} to {count(most)}"
    key = f"circles: plans of the front, the larger the more server cores ({cores})"
    ring = "; ring: the chosen plan" if chosen is not None else ""
    more = ["squares: other placements; crosses: those that break a limit"] if near else []
    more += [f"not drawn (no route, or far beyond): {first_few(far, 5)}"] if far else []
    parts = [
        *_axes(across, up, terms),
        *(text_at(8, 18 + 17 * i, s, "start", "soft") for i, s in enumerate([key + ring, *more])),
        *(_other(p, *at(p.evaluation), terms) for p in near),
    ]
    dots = []
    for i, p in enumerate(points):
        x, y = at(p.evaluation)
        said = f"{i + 1}: {p.asked}; {_figures(p.evaluation, terms)}"
        r = radius(p.evaluation)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" class="ours">'
            f"<title>{escape(said)}</title></circle>"
        )
        if i == chosen:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r + 3:.1f}" class="ring"/>')
    for numbers in _clusters([at(p.evaluation) for p in points]):
        x, y = at(points[numbers[0]].evaluation)
        r = max(radius(points[i].evaluation) for i in numbers)
        dots.append(Dot(x, y, r + 4, ", ".join(str(i + 1) for i in numbers)))
    own = len(dots)
    ranked = sorted(near, key=lambda p: (p.name != CURRENT, not p.evaluation.feasible))
    dots += [Dot(*at(p.evaluation), _SIDE, p.name) for p in ranked]
    # The names are drawn after all marks, so that no mark covers one.
    named = names_beside(dots, _WIDTH, _HEIGHT)
    for n in named:
        kind = "bold" if n.text[0].isdigit() else ""
        parts.append(text_at(n.x, n.y, n.text, n.anchor, kind))
    with_room = {n.text for n in named}
    # A number is drawn even where it has no room.
    parts += [
        text_at(d.x + d.radius, d.y + 4, d.name, "start", "bold")
        for d in dots[:own]
        if d.name not in with_room
    ]
    title = f"{len(points)} plans by {terms.title('wan')}, worst path and server cores"
    return picture("front", title, _description(points, others, terms), _WIDTH, _HEIGHT, parts)


def _is_near(e: Evaluation, front: Sequence[Evaluation]) -> bool:
    return 0 <= e.latency_ms <= _FAR * max(p.latency_ms for p in front) and (
        e.wan_cost <= _FAR * max(p.wan_cost for p in front)
    )


def _axes(across: Axis, up: Axis, terms: Terms) -> list[str]:
    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick in across.ticks:
        x = _LEFT + across.share(tick) * (right - _LEFT)
        figure = count(tick) if terms.currency else terms.value("wan", tick)
        parts.append(f'<path d="M{x:.1f} {_TOP}V{low}" class="grid"/>')
        parts.append(text_at(x, low + 18, figure, "middle", "soft"))
    for tick in up.ticks:
        y = low - up.share(tick) * (low - _TOP)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" class="grid"/>')
        parts.append(text_at(_LEFT - 8, y + 4, f"{tick:,.6g} ms", "end", "soft"))
    unit = f", {terms.money}" if terms.currency else ""
    parts += [
        f'<path d="M{_LEFT} {_TOP}V{low}H{right}" class="axis"/>',
        text_at((_LEFT + right) / 2, _HEIGHT - 12, f"{terms.title('wan')}{unit}", "middle"),
        text_at(8, _TOP - 16, "worst path", "start"),
    ]
    return parts


def _other(policy: Policy, x: float, y: float, terms: Terms) -> str:
    e = policy.evaluation
    said = f"{policy.name}: {_figures(e, terms)}{'' if e.feasible else '; breaks a limit'}"
    s = _SIDE
    path = (
        f"M{x - s:.1f} {y - s:.1f}h{2 * s}v{2 * s}h{-2 * s}z"
        if e.feasible
        else f"M{x - s:.1f} {y - s:.1f}l{2 * s} {2 * s}m0 {-2 * s}l{-2 * s} {2 * s}"
    )
    kind = "other" if e.feasible else "broken"
    return f'<path d="{path}" class="{kind}"><title>{escape(said)}</title></path>'


def _figures(e: Evaluation, terms: Terms) -> str:
    return (
        f"{terms.value('wan', e.wan_cost)}, {milliseconds(e.latency_ms)}, "
        f"{count(e.server_cores)} server cores"
    )


def _description(points: Sequence[Point], others: Sequence[Policy], terms: Terms) -> str:
    rows = [f"{i}: {_figures(p.evaluation, terms)}" for i, p in enumerate(points, start=1)]
    rows += [f"{p.name}: {_figures(p.evaluation, terms)}" for p in others]
    return "; ".join(rows)


def _row(row: Sequence[tuple[int, int]]) -> str:
    """Return a line of numbers, each at its column."""
    line = ""
    for x, i in sorted(row):
        # A blank separates two numbers.
        line = f"{line:<{x}}{i}" if not line or len(line) < x else f"{line},{i}"
    return line


def _clusters(at: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return points by the groups that are too close for numbers of their own."""
    groups: list[list[int]] = []
    for i, point in enumerate(at):
        near = [g for g in groups if any(math.dist(point, at[j]) < _APART for j in g)]
        groups = [g for g in groups if g not in near]
        groups.append(sorted([i, *(j for g in near for j in g)]))
    return groups


def _scale(points: Sequence[Point], name: str) -> Callable[[float], float]:
    """Return a function from a term to its share of the range of all points."""
    values = [p.evaluation.value(name) for p in points]  # type: ignore[arg-type]
    low, high = min(values), max(values)
    return lambda value: (value - low) / (high - low) if high > low else 0.5
