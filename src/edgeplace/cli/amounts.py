"""Amounts on the command line. A wrong one is refused; the error says what to write instead."""

import argparse
import math
from collections.abc import Callable

from edgeplace.model import InvalidInputError


def read_amounts(args: argparse.Namespace) -> None:
    """Replace the texts of `--gap`, `--time-limit` and `--confidence` by their numbers.

    Raises
    ------
    InvalidInputError
        If a text is not such an amount.
    """
    readers: dict[str, Callable[[str], float]] = {
        "gap": gap,
        "time_limit": seconds,
        "confidence": confidence,
    }
    for name, read in readers.items():
        text = getattr(args, name, None)
        if isinstance(text, str):
            setattr(args, name, read(text))


def seconds(text: str) -> float:
    """Return a time limit in seconds, 0 or more.

    Raises
    ------
    InvalidInputError
        If the text is not such a time.
    """
    value = _number(text.removesuffix("s"))
    if not 0 <= value < math.inf:
        raise InvalidInputError(
            f"--time-limit {text!r} is not a time", "write seconds, 0 or more: --time-limit 30"
        )
    return value


def gap(text: str) -> float:
    """Return a relative gap from 0 to 1, given as a share (`0.05`) or in per cent (`5%`).

    Raises
    ------
    InvalidInputError
        If the text is not such a gap.
    """
    percent = text.endswith("%")
    value = _number(text.removesuffix("%")) / (100 if percent else 1)
    if 0 <= value <= 1:
        return value
    likely = f"{text}% or {value / 100:g}" if 1 < value <= 100 and not percent else "5% or 0.05"
    raise InvalidInputError(f"--gap {text!r} is not a gap from 0 to 1", f"write --gap {likely}")


def confidence(text: str) -> float:
    """Return a probability from 0.5 to 1, given as a share (`0.9`) or in per cent (`90%`).

    Raises
    ------
    InvalidInputError
        If the text is not such a probability.
    """
    value = _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if 0.5 <= value < 1:
        return value
    raise InvalidInputError(
        f"--confidence {text!r} is not a probability from 0.5 to 1", "write --confidence 0.9 or 90%"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
