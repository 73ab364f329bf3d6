"""Releases of Flink that the agent knows."""

import re
from typing import Literal

OLDEST = (1, 18)
NEWEST = (2, 3)
TESTED = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


def major_minor(release: str) -> tuple[int, int] | None:
    """Return `(2, 3)` for `2.3.0` or `2.3-SNAPSHOT`, None for a text that is not a release."""
    hit = re.match(r"([0-9]+)\.([0-9]+)", release)
    return (int(hit[1]), int(hit[2])) if hit else None


def standing(release: str) -> Literal["tested", "older", "newer", "unknown"]:
    """Compare a release with those that the agent was tested with."""
    known = major_minor(release)
    if known is None:
        return "unknown"
    if known < OLDEST:
        return "older"
    return "newer" if known > NEWEST else "tested"
