"""The performance profile as a picture (Dolan and Moré, Mathematical Programming 91, 2002)."""

import math
from collections.abc import Mapping, Sequence

from edgeplace.views.pictures.svg import text_at

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 170, 20, 50
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#6a4c93", "#00798c", "#8d6a4f", "#555555")


def profile(ratios: Mapping[str, Sequence[float]], instances: int) -> str:
    """Return SVG: for each back end, the share of instances solved within a factor of the fastest.

    Parameters
    ----------
    ratios
        By back end: time over that of the fastest, for each instance it solved.
    instances
        Number of instances, solved or not.
    """
    largest = max((r for own in ratios.values() for r in own), default=1.0)
    decades = max(1, math.ceil(math.log10(largest) - 1e-9))
    plot_w, plot_h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(ratio: float) -> float:
        return LEFT + plot_w * math.log10(ratio) / decades

    def y(share: float) -> float:
        return TOP + plot_h * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for d in range(decades + 1):
        parts.append(_line(x(10**d), y(0), x(10**d), y(1)))
        parts.append(text_at(x(10**d), y(0) + 16, f"{10**d:,}x", "middle"))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(x(1), y(share), x(10**decades), y(share)))
        parts.append(text_at(LEFT - 6, y(share) + 4, f"{share:.0%}", "end"))
    title = f"time to proof over the fastest back end's; share of {instances} instances"
    parts.append(text_at(LEFT, HEIGHT - 12, title, "start"))
    for i, (name, own) in enumerate(ratios.items()):
        colour = COLOURS[i % len(COLOURS)]
        dash = "" if i < len(COLOURS) else ' stroke-dasharray="6 3"'
        points = [(x(1), y(0))]
        for n, ratio in enumerate(sorted(own), start=1):
            points += [(x(ratio), points[-1][1]), (x(ratio), y(n / instances))]
        points.append((x(10**decades), points[-1][1]))
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        at = TOP + 12 + 18 * i
        parts.append(
            f'<line x1="{WIDTH - RIGHT + 14}" y1="{at - 4}" x2="{WIDTH - RIGHT + 34}" '
            f'y2="{at - 4}" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        parts.append(text_at(WIDTH - RIGHT + 40, at, name, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'
