"""Quantities as people read them."""

_PREFIXES = ("", "k", "M", "G", "T", "P")


def count(value: float | None) -> str:
    """Return a number with three significant digits, `-` for None."""
    if value is None:
        return "-"
    if value == float("inf"):
        return "unlimited"
    if value and abs(value) < 1:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value != round(value) else f"{value:.0f}"


def size(value: float | None, per: str = "") -> str:
    """Return bytes with a decimal prefix: `1.23 MB`, or `1.23 MB/s` for per="/s"."""
    if value is None:
        return "-"
    step = 0
    while abs(value) >= 999.5 and step < len(_PREFIXES) - 1:
        value /= 1000
        step += 1
    digits = f"{value:.3g}" if value else "0"
    return f"{digits} {_PREFIXES[step]}B{per}"


def milliseconds(value: float) -> str:
    """Return a latency, `no route` for the evaluator's -1."""
    return "no route" if value < 0 else f"{value:,.1f} ms"


def percent(value: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * value:.3g} %"


def factor(value: float) -> str:
    """Return a factor such as a headroom."""
    return "unlimited" if value == float("inf") else f"{value:.3g}x"
