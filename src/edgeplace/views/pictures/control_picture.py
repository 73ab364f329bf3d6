"""The load and the capacity of each scaling policy over time, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from edgeplace.cli.quantities import percent
from edgeplace.control.fluid import PolicyOutcome
from edgeplace.control.load import DAY_S, Load
from edgeplace.control.options import Options

_WIDTH, _LEFT, _RIGHT = 900, 130, 12
_STRIP, _GAP, _TOP, _FOOT = 70, 14, 34, 26
_POINTS = 700
"""Points across; each shows the largest rate of its seconds."""


@dataclass(frozen=True)
class Strip:
    """One policy on one load."""

    load: Load
    options: Options
    outcome: PolicyOutcome


def as_svg(strips: Sequence[Strip]) -> str:
    """Return the picture: the load filled, capacity as a line, lateness and units in words."""
    height = _TOP + len(strips) * (_STRIP + _GAP) + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'width="{_WIDTH}" height="{height}" aria-label="Load and capacity by policy">',
        "<style>text{font:12px system-ui,sans-serif;fill:#17202b}.soft{fill:#525e6c}"
        ".load{fill:#c8d9ea}.capacity{fill:none;stroke:#175e94;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){text{fill:#e7ebf0}.soft{fill:#a9b4c0}"
        ".load{fill:#25364a}.capacity{stroke:#7dbcf0}}</style>",
        f'<text x="{_LEFT}" y="20">filled: records offered; line: capacity of what runs</text>',
    ]
    for i, strip in enumerate(strips):
        parts += _strip(strip, _TOP + i * (_STRIP + _GAP))
    if strips:
        days = len(strips[-1].load.rates_per_s) / DAY_S
        base = height - 8
        parts.append(f'<text class="soft" x="{_LEFT}" y="{base}">0</text>')
        end = f"{days:.3g} days"
        parts.append(
            f'<text class="soft" x="{_WIDTH - _RIGHT}" y="{base}" text-anchor="end">{end}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _strip(strip: Strip, top: int) -> list[str]:
    rates, options, outcome = strip.load.rates_per_s, strip.options, strip.outcome
    most = max(float(rates.max()), float(options.capacities.max()))
    n = min(_POINTS, len(rates))
    edges = np.linspace(0, len(rates), n + 1).astype(int)
    peaks = np.maximum.reduceat(rates, edges[:-1])
    xs = _LEFT + (_WIDTH - _LEFT - _RIGHT) * edges / len(rates)
    ys = top + _STRIP * (1 - peaks / most)
    line = " ".join(f"L{x:.1f} {y:.1f}" for x, y in zip(xs[:-1], ys, strict=True))
    load = f"M{_LEFT} {top + _STRIP} {line} L{xs[-1]:.1f} {top + _STRIP}z"
    at = _LEFT + (_WIDTH - _LEFT - _RIGHT) * outcome.decided_s / len(rates)
    level = top + _STRIP * (1 - options.capacities[outcome.option] / most)
    steps = [f"M{at[0]:.1f} {level[0]:.1f}"]
    for x, y in zip(at[1:], level[1:], strict=True):
        steps.append(f"H{x:.1f}V{y:.1f}")
    steps.append(f"H{xs[-1]:.1f}")
    late = f"late {percent(outcome.late_share)}"
    units = f"units {percent(outcome.unit_share)}"
    said = escape(f"{strip.load.name}: {outcome.policy}, {late}, {units}")
    return [
        f"<g><title>{said}</title>",
        f'<path class="load" d="{load}"/><path class="capacity" d="{"".join(steps)}"/>',
        f'<text x="8" y="{top + 20}">{escape(outcome.policy[:18])}</text>',
        f'<text class="soft" x="8" y="{top + 38}">{late}</text>',
        f'<text class="soft" x="8" y="{top + 54}">{units}</text></g>',
    ]
