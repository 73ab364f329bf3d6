"""Quantities as text for people."""

from edgeplace.model import digits, with_prefix


def count(value: float | None) -> str:
    """Return a number with three significant digits, `-` for None."""
    if value is None:
        return "-"
    if value == float("inf"):
        return "unlimited"
    return digits(value)


def counted(value: float, unit: str) -> str:
    """Return a number with its unit, in the singular for one: `1 slot`, `2 slots`."""
    return with_unit(count(value), unit)


def with_unit(number: str, unit: str) -> str:
    """Return a number that is text with its unit, in the singular for one."""
    # Units that are words: neither `ms` nor `bytes/s`.
    one = number == "1" and len(unit) > 2 and unit.replace(" ", "").isalpha()
    return f"{number} {unit.removesuffix('s') if one else unit}"


def exact(value: float) -> str:
    """Return a number with six significant digits, or more where it is long."""
    return f"{value:,.0f}" if abs(value) >= 999_999.5 else f"{value or 0.0:,.6g}"


def size(value: float | None, per: str = "") -> str:
    """Return bytes with a decimal prefix: `1.23 MB`, or `1.23 MB/s` for per="/s"."""
    return "-" if value is None else with_prefix(value, f"B{per}")


def milliseconds(value: float) -> str:
    """Return a latency, `no route` for the evaluator's -1."""
    return "no route" if value < 0 else f"{value:,.1f} ms"


def milliseconds_or_less(value: float) -> str:
    """Return a short time in the unit that suits it: `3.2 ms`, `6.66 µs`."""
    return f"{digits(value)} ms" if value >= 0.9995 else f"{digits(1000 * value)} µs"


def cores(value: float) -> str:
    """Return a number of cores, which may be a small part of one: `0.012`."""
    return f"{value:.3f}"


def seconds(value: float | None) -> str:
    """Return a time, `-` for None; a longer one is not wider: `0.42 s`, `12.3 s`, `123 s`."""
    if value is None:
        return "-"
    return f"{value:.2f} s" if value < 9.995 else f"{digits(value)} s"


def percent(value: float) -> str:
    """Return a share as a percentage; infinite if something is used although nothing may be."""
    if value == float("inf"):
        return "no room"
    # Rounded, so that a gap of float noise is a gap of 0.
    return f"{digits(round(100 * value, 6))} %"


def factor(value: float) -> str:
    """Return a factor such as a headroom."""
    return "unlimited" if value == float("inf") else f"{digits(value)}x"


def instead_of(now: str, then: str) -> str:
    """Return two quantities, with a unit of both once: `623.7 instead of 444.1 ms`."""
    number, _, unit = now.partition(" ")
    shared = unit and then.partition(" ")[2] == unit
    return f"{number if shared else now} instead of {then}"
