"""Parallelisms to choose from, as they are given on the command line."""

import re
from collections.abc import Iterable, Sequence

from edgeplace.model import MOST_PARALLELISM, InvalidInputError

_RANGE = re.compile(r"([0-9]{1,5})(?:\.\.([0-9]{1,5}))?")


def asked_parallelism(texts: Sequence[str]) -> dict[str, Iterable[int]] | None:
    """Return operator -> numbers of subtasks from `window=1..8`, `window=2,4` or `all`.

    Raises
    ------
    InvalidInputError
        If a text is none of these, or an operator is given twice.
    """
    found: dict[str, Iterable[int]] = {}
    for text in texts:
        # A name may hold `=`; numbers do not.
        ref, _, figures = (
            ("all", "", f"1..{MOST_PARALLELISM}") if text == "all" else text.rpartition("=")
        )
        if not ref or ref in found:
            raise InvalidInputError(
                f"--parallelism {text!r} {'is given twice' if ref else 'names no operator'}",
                "write --parallelism OPERATOR=1..8, OPERATOR=2,4,8 or all",
            )
        found[ref] = _numbers(text, figures)
    return found or None


def _numbers(text: str, figures: str) -> tuple[int, ...] | range:
    numbers: set[int] = set()
    parts = figures.split(",")
    for part in parts:
        hit = _RANGE.fullmatch(part.strip())
        low, high = (int(hit[1]), int(hit[2] or hit[1])) if hit else (0, 0)
        if not 1 <= low <= high:
            raise InvalidInputError(
                f"--parallelism {text!r}: {part!r} is no range of numbers of 1 or more",
                "write --parallelism OPERATOR=1..8, OPERATOR=2,4,8 or all",
            )
        if len(parts) == 1:
            return range(low, high + 1)
        numbers |= set(range(low, high + 1))
    return tuple(sorted(numbers))
