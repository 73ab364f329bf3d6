"""All problems of a schedulercfg in one error."""

import sys
from collections.abc import Callable, Collection
from difflib import get_close_matches

from edgeplace.model import InvalidInputError

_MOST_LISTED = 20
_LONGEST = 100


class Problems:
    """What is wrong with a file, in all."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str, str | Callable[[], str]]] = []

    def add(self, line: int | None, what: str, cure: str | Callable[[], str]) -> None:
        """Note a problem of a line (from 1), or of the file as a whole.

        A cure that takes long to find is a function, called only for what is listed.
        """
        where = f"line {line}: " if line else ""
        self._found.append((line or sys.maxsize, where + what, cure))

    def __bool__(self) -> bool:
        return bool(self._found)

    def error(self, origin: str) -> InvalidInputError:
        """Return all of them as one error, by line."""
        count = len(self._found)
        more = count - _MOST_LISTED
        listed = [
            f"{what}; cure: {cure if isinstance(cure, str) else cure()}"
            for _, what, cure in sorted(self._found, key=lambda p: p[0])[:_MOST_LISTED]
        ]
        return InvalidInputError(
            f"{origin}: {count} problem{'s' if count > 1 else ''}\n  "
            + "\n  ".join(listed)
            + (f"\n  and {more} more" if more > 0 else ""),
            "nothing of the file is used until all of it is right",
        )


def quoted(text: str) -> str:
    """Return a word of a file in quotes, of bounded length."""
    return repr(cut(text))


def cut(text: str) -> str:
    """Return the start of a word of a file."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return a cure for a word that is not known."""
    near = get_close_matches(word, known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"use one of {list(known)[:8]}" + (" ..." if len(known) > 8 else "")
