"""The effect of a sweep on the plan, as SVG: a strip for each term."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from rich.cells import cell_len

from edgeplace.cli.quantities import count, factor
from edgeplace.model import MONTH_S, Evaluation
from edgeplace.views.pictures.label_places import CELL, short
from edgeplace.views.pictures.svg import Axis, picture, text_at
from edgeplace.views.terms import Terms

_WIDTH, _LEFT, _RIGHT = 640, 84, 44
_TOP, _TITLE, _STRIP, _BOTTOM = 4, 34, 84, 52
_LONGEST = 24
"""Most characters of a name across."""
_CLOSE = 13
"""Least distance of names that are upright."""
_TICKS = 4
_RADIUS, _CROSS = 4.0, 5.0


@dataclass(frozen=True)
class _Strip:
    title: str
    values: tuple[float | None, ...]
    """At each step; None: there is no plan; infinite: there is no limit."""
    as_text: Callable[[float], str]


def as_svg(
    what: str, steps: Sequence[tuple[str, Evaluation | None]], terms: Terms, joined: bool
) -> str:
    """Return the picture: the steps at equal distances across, a strip for each term.

    Parameters
    ----------
    what
        What differs between the steps.
    steps
        Each value as text, and the figures of its plan; None: there is no plan.
    joined
        Whether lines join the plans: what lies between two values is a value, too.
    """
    strips = _strips([e for _, e in steps], terms)
    apart = (_WIDTH - _LEFT - _RIGHT) / max(1, len(steps) - 1)
    xs = [_LEFT + apart * i for i in range(len(steps))]
    names = [name for name, _ in steps]
    parts: list[str] = []
    low = float(_TOP)
    for strip in strips:
        top, low = low + _TITLE, low + _TITLE + _STRIP
        parts += _drawn(strip, names, xs, top, joined)
    across, deep = _across(names, xs, apart, low)
    parts += [*across, text_at((_LEFT + _WIDTH - _RIGHT) / 2, low + deep + 22, what, "middle")]
    said = "; ".join(_said(i, name, strips) for i, name in enumerate(names))
    height = low + deep + _BOTTOM - 20
    return picture("sweep", f"The plan for each {what}", said, _WIDTH, height, parts)


def _across(
    names: Sequence[str], xs: Sequence[float], apart: float, low: float
) -> tuple[list[str], float]:
    """Return the names below the strips, and how far they reach down.

    Names too wide for their step are upright; of those too many for that, only some are there.
    """
    shown = [short(name, _LONGEST) for name in names]
    widest = CELL * max(map(cell_len, shown), default=0)
    if widest < min(apart, 2 * _RIGHT):
        level = [text_at(x, low + 20, s, "middle", "soft") for x, s in zip(xs, shown, strict=True)]
        return level, 20
    every = math.ceil(_CLOSE / apart)
    upright = [
        text_at(x + 4, low + 12, s, "end", "soft", -90)
        for x, s in zip(xs[::every], shown[::every], strict=True)
    ]
    return upright, 12 + widest


def _strips(found: Sequence[Evaluation | None], terms: Terms) -> list[_Strip]:
    paid = terms.traffic
    scale = MONTH_S if terms.currency and paid == "wan" else 1.0
    money = f", {terms.money}" if terms.currency else ""

    def of(figure: Callable[[Evaluation], float]) -> tuple[float | None, ...]:
        return tuple(None if e is None else figure(e) for e in found)

    return [
        _Strip(
            f"{terms.title(paid)}{money}",
            of(lambda e: scale * e.value(paid)),
            count if terms.currency else lambda v: terms.value(paid, v),
        ),
        _Strip("worst path", of(lambda e: e.latency_ms), lambda v: f"{v:,.6g} ms"),
        _Strip("server cores", of(lambda e: e.server_cores), count),
        _Strip("headroom", of(lambda e: e.headroom), factor),
    ]


def _drawn(
    strip: _Strip, names: Sequence[str], xs: Sequence[float], top: float, joined: bool
) -> list[str]:
    low = top + _STRIP
    known = [v for v in strip.values if v is not None and math.isfinite(v)]
    axis = Axis.over(known or [0.0], _TICKS)

    def at(value: float) -> float:
        return low - axis.share(value) * _STRIP

    parts = [text_at(8, top - 12, strip.title, "start", "bold")]
    for tick in axis.ticks:
        y = at(tick)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" class="grid"/>')
        parts.append(text_at(_LEFT - 10, y + 4, strip.as_text(tick), "end", "soft"))
    points = list(zip(names, xs, strip.values, strict=True))
    for (_, left, before), (_, right, after) in pairwise(points) if joined else ():
        if before is not None and after is not None and math.isfinite(before + after):
            line = f"M{left:.1f} {at(before):.1f}L{right:.1f} {at(after):.1f}"
            parts.append(f'<path d="{line}" class="line"/>')
    for name, x, value in points:
        if value is None:
            c = _CROSS
            cross = f"M{x - c:.1f} {low - c:.1f}l{2 * c} {2 * c}m0 {-2 * c}l{-2 * c} {2 * c}"
            title = escape(f"{name}: no plan")
            parts.append(f'<path d="{cross}" class="broken"><title>{title}</title></path>')
        elif math.isfinite(value):
            title = escape(f"{name}: {strip.as_text(value)}")
            circle = f'<circle cx="{x:.1f}" cy="{at(value):.1f}" r="{_RADIUS}" class="ours">'
            parts.append(f"{circle}<title>{title}</title></circle>")
        else:
            parts.append(text_at(x, top + 10, "∞", "middle", "bold"))
    return parts


def _said(i: int, name: str, strips: Sequence[_Strip]) -> str:
    figures = [(s.title, s.values[i], s.as_text) for s in strips]
    return f"{name}: " + ", ".join(
        f"{title} {'none' if v is None else as_text(v)}" for title, v, as_text in figures
    )
