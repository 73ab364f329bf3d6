"""Quantities as people write them: `10 Mbit/s`, `40 ms`, `4 GB`, `4 EUR/GB`.

The name of a field ends in its unit (`delay_ms`, `bandwidth_bytes_per_s`). A plain number is in
that unit; a text may have any unit of the same dimension. `kB`, `MB` and `GB` are powers of 1000,
`KiB`, `MiB` and `GiB` powers of 1024.
"""

import difflib
import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError


class Dimension(NamedTuple):
    """What a field measures: its units, as multiples of the unit of the field's name."""

    example: str
    units: Mapping[str, Fraction]
    money: bool = False
    """Whether it is a price, which may name its currency before the unit."""


_SIZES = {
    "bytes": Fraction(1),
    "byte": Fraction(1),
    **{f"{p}B": Fraction(1000) ** i for i, p in enumerate(("", "k", "M", "G", "T", "P"))},
    **{f"{p}iB": Fraction(1024) ** i for i, p in enumerate(("K", "M", "G", "T", "P"), 1)},
    **{f"{p}bit": Fraction(1000**i, 8) for i, p in enumerate(("", "k", "M", "G", "T"))},
}
_SECONDS = {
    **dict.fromkeys(("us", "µs", "μs"), Fraction(1, 1_000_000)),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_BYTES = Dimension("4 GB", MappingProxyType(_SIZES))
_BYTES_PER_S = Dimension(
    "10 Mbit/s",
    MappingProxyType(
        {f"{unit}/s": size for unit, size in _SIZES.items()}
        | {f"{p}bps": Fraction(1000**i, 8) for i, p in enumerate(("k", "M", "G"), 1)}
    ),
)
_MS = Dimension("40 ms", MappingProxyType({u: s * 1000 for u, s in _SECONDS.items()}))
_S = Dimension("30 s", MappingProxyType(_SECONDS))
_PER_S = Dimension(
    "400 /s",
    MappingProxyType(
        {
            f"{what}/{time}": 1 / _SECONDS[time]
            for what in ("", "records", "record")
            for time in ("s", "min", "h")
        }
    ),
)
_PER_BYTE = Dimension(
    "4 EUR/GB",
    MappingProxyType({f"/{unit}": 1 / size for unit, size in _SIZES.items() if "bit" not in unit}),
    money=True,
)
_PER_HOUR = Dimension(
    "0.04 EUR/h",
    MappingProxyType({"": Fraction(1), "/h": Fraction(1), "/month": 12 / Fraction(8766)}),
    money=True,
)
_BY_ENDING = (
    ("bytes_per_s", _BYTES_PER_S),
    ("per_byte", _PER_BYTE),
    ("per_core_hour", _PER_HOUR),
    ("per_node_hour", _PER_HOUR),
    ("_per_s", _PER_S),
    ("_bytes", _BYTES),
    ("bytes_per_record", _BYTES),
    ("_ms", _MS),
    ("_ms_per_record", _MS),
    ("_s", _S),
)
"""The first ending of a field's name that fits states what it measures."""
_QUANTITY = re.compile(
    r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?)\s*(\D.*)"
)
_CURRENCY = re.compile(r"[A-Z]{3}|[€$£]")
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP"}
_CODE = re.compile(r"[A-Z]{3}")
_WORDS = {"euro": "EUR", "dollar": "USD", "pound": "GBP", "franc": "CHF", "yen": "JPY"}


def dimension(field: str) -> Dimension | None:
    """Return what a field measures by its name; None: it is a plain number."""
    return next((found for ending, found in _BY_ENDING if field.endswith(ending)), None)


def quantity(text: str, field: str) -> float | str:
    """Return a text with a unit as a number in the unit of the field's name.

    A text that is no number with a unit is returned as it is.

    Raises
    ------
    PydanticCustomError
        If the unit is not one of this field's; `cure` of its context says what to write.

    >>> quantity("10 Mbit/s", "bandwidth_bytes_per_s")
    1250000.0
    """
    measured = dimension(field)
    match = _QUANTITY.fullmatch(text.strip())
    if measured is None or match is None or _is_number(text):
        return text
    number, written = match.groups()
    unit = "".join(written.split())
    named = _CURRENCY.match(unit) if measured.money else None
    money = named.group() if named else ""
    unit = unit.removeprefix(money)
    factor = measured.units.get(unit)
    if factor is None:
        raise PydanticCustomError(
            "unit",
            "{unit} is no unit of this field",
            {"unit": repr(written), "cure": _cure(f"{number} {money}", unit, measured)},
        )
    return float(Fraction(number) * factor)


def price_currency(text: str, field: str) -> str | None:
    """Return the ISO 4217 code of the currency of a price, `EUR` for `4 €/GB`.

    None if it names none, or is no price of this field.
    """
    measured = dimension(field)
    match = _QUANTITY.fullmatch(text.strip())
    unit = "".join(match.group(2).split()) if match else ""
    money = _CURRENCY.match(unit)
    if measured is None or money is None or unit[money.end() :] not in measured.units:
        return None
    return _SIGNS.get(money.group(), money.group())


def currency_code(value: Any) -> Any:
    """Return the ISO 4217 code of a currency, as it is; for `BeforeValidator`.

    Raises
    ------
    PydanticCustomError
        If the value is another name of a currency; `cure` of its context says what to write.
    """
    if value is None or (isinstance(value, str) and _CODE.fullmatch(value)):
        return value
    text = str(value).strip()
    code = _SIGNS.get(text) or _WORDS.get(text.lower().rstrip("s")) or text.upper()
    raise PydanticCustomError(
        "currency",
        "a currency is written as its code of three capital letters (ISO 4217)",
        {"cure": f"write {code if _CODE.fullmatch(code) else 'the code, such as EUR or USD'}"},
    )


def quantity_pattern(field: str) -> str | None:
    """Return a regular expression of the texts with a unit that a field takes; None: none."""
    measured = dimension(field)
    if measured is None:
        return None
    units = "|".join(sorted(map(re.escape, measured.units)))
    money = "([A-Z]{3}|[€$£])? *" if measured.money else ""
    return rf"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *{money}({units}) *$"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cure(before: str, unit: str, measured: Dimension) -> str:
    plain = {u.lower(): u for u in reversed(list(measured.units))}
    near = [unit.lower()] if unit.lower() in plain else []
    near = near or difflib.get_close_matches(unit.lower(), list(plain), 2, 0.6)
    if near:
        return "did you mean " + " or ".join(f'"{before}{plain[n]}"' for n in near) + "?"
    return how_to_write(measured)


def how_to_write(measured: Dimension) -> str:
    """Return how to write a quantity, as the cure of an error."""
    return (
        f'write it as in "{measured.example}", or a plain number in the unit of the field\'s name'
    )
