"""Amounts on the command line: what is no such amount is refused with what to write instead."""

import argparse
import math


def seconds(text: str) -> float:
    """Return a time in seconds, 0 or more.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is no such time.
    """
    value = _number(text.removesuffix("s"))
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write seconds, such as 30")
    return value


def gap(text: str) -> float:
    """Return a relative gap from 0 to 1, given as a share (`0.05`) or in per cent (`5%`).

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is no such gap.
    """
    percent = text.endswith("%")
    value = _number(text.removesuffix("%")) / (100 if percent else 1)
    if 0 <= value <= 1:
        return value
    hint = f"write {text}% or {value / 100:g}" if 1 < value <= 100 and not percent else ""
    raise argparse.ArgumentTypeError(
        f"{text!r} is no gap from 0 to 1: {hint or 'write 5% or 0.05'}"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
