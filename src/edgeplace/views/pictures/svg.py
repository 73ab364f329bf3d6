"""Parts of pictures that are SVG files: the frame, axes, and text; light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_STYLE = (
    ".plot{--page:#ffffff;--ink:#17202b;--soft:#525e6c;--line:#d3d9e0;--accent:#175e94;"
    "--bad:#b3261e;background:var(--page);font:12px system-ui,'Liberation Sans',sans-serif}"
    "@media (prefers-color-scheme: dark){.plot{--page:#11161c;--ink:#e7ebf0;--soft:#a9b4c0;"
    "--line:#36404b;--accent:#7dbcf0;--bad:#ff948a}}"
    ".plot text{fill:var(--ink);stroke:var(--page);stroke-width:3px;paint-order:stroke}"
    ".plot .soft{fill:var(--soft)}.plot .bold{font-weight:700}"
    ".plot .grid{fill:none;stroke:var(--line)}.plot .axis{fill:none;stroke:var(--soft)}"
    ".plot .line{fill:none;stroke:var(--accent);stroke-width:2}"
    ".plot .ours{fill:var(--accent);stroke:var(--page)}"
    ".plot .other{fill:var(--page);stroke:var(--soft);stroke-width:2}"
    ".plot .broken{fill:none;stroke:var(--bad);stroke-width:2}"
    ".plot .ring{fill:none;stroke:var(--ink);stroke-width:2}"
)
_STEPS = (1, 2, 5, 10)
_NOISE, _TINY = 1e-9, 1e-300
"""Relative difference of values that count as equal, and a value that counts as 0."""


def text_at(x: float, y: float, text: str, anchor: str, class_: str = "", turn: int = 0) -> str:
    """Return a text element; `anchor` is SVG's `text-anchor`, `turn` degrees clockwise."""
    kind = f' class="{class_}"' if class_ else ""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    at = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {at} text-anchor="{anchor}"{kind}{turned}>{escape(text)}</text>'


def picture(
    name: str, title: str, said: str, width: float, height: float, parts: Sequence[str]
) -> str:
    """Return a whole SVG file, with a title and a description for those who cannot see it.

    Parameters
    ----------
    name
        Begin of its ids, which are unique on a page.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" class="plot" '
        f'role="img" aria-labelledby="{name}-picture {name}-said"><title id="{name}-picture">'
        f'{escape(title)}</title><desc id="{name}-said">{escape(said)}</desc>'
        f"<style>{_STYLE}</style>"
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class Axis:
    """An axis that begins and ends with a tick."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float], most_ticks: int = 6) -> "Axis":
        """Return the axis of some values, which are not negative."""
        low, high = min(values), max(values)
        # Values that differ by float noise have no ticks between them.
        if high - low <= _NOISE * high or high < _TINY:
            low, high = (0.0, 2 * high) if high >= _TINY else (0.0, 1.0)
        if 0 < low < 0.6 * high:
            low = 0.0
        step = _step((high - low) / (most_ticks - 1))
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(i * step for i in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def share(self, value: float) -> float:
        """Return where a value stands between both ends: 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def _step(least: float) -> float:
    """Return the least round number that is not below another one."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(s * power for s in _STEPS if s * power >= least * (1 - 1e-9))
