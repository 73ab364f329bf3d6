"""Fields of logs as numbers, times and text, by Spark's rules."""

import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

_SPACES = "".join(map(chr, range(33)))
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
# What Java knows as a number, and Python does not.
_SUFFIXED = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+[dDfF]?", re.ASCII)
_TIME = re.compile(
    r"(\d{4,6})-(\d\d?)-(\d\d?)"
    r"(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d*))?)? *(Z|UTC|GMT|[+-]\d\d?(?::?\d\d)?)?)?",
    re.ASCII,
)


def number(text: str | None) -> float | None:
    """Return text as a double, None where it is none; NaN and Infinity are kept."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        plain = text.strip(_SPACES)
        if _SUFFIXED.fullmatch(plain):
            return float(plain[:-1])
        return float.fromhex(plain.rstrip("dDfF")) if _HEX.fullmatch(plain) else None
    # Python knows more: 1_000, the digits of other alphabets, +nan.
    if not text.isascii() or "_" in text:
        return None
    if value != value:
        plain = text.strip(_SPACES)
        return value if plain.lower() == "nan" or plain in ("+NaN", "-NaN") else None
    return value


def whole(text: str | None, bits: int = 64) -> int | None:
    """Return text as an integer, None where it is none of this size."""
    if text is None:
        return None
    plain = text.strip(_SPACES + "\x7f")
    return within(int(plain), bits) if _WHOLE.fullmatch(plain) and len(plain) < 30 else None


def within(value: Any, bits: int) -> int | None:
    """Return a JSON value if it is an integer of this size, else None."""
    fits = type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1
    return value if fits else None


def as_text(value: Any) -> str | None:
    """Return a JSON value as text; JSON's null is None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such number; as text it is none, either.
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def instant_ms(text: str | None) -> int | None:
    """Return a time as ms since the epoch, None where it is none; UTC if it has no zone."""
    found = _TIME.fullmatch(text.strip(_SPACES)) if text is not None else None
    if found is None:
        return None
    fraction = ((found[7] or "") + "000000")[:6]
    parts = [int(part or 0) for part in found.group(1, 2, 3, 4, 5, 6)]
    try:
        instant = datetime(*parts, int(fraction), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    zone = found[8] or "Z"
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
        shift = timedelta(hours=int(hours), minutes=int(minutes))
        instant += -shift if zone[0] == "+" else shift
    return (instant - _EPOCH) // timedelta(milliseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
