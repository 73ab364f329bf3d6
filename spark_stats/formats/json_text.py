"""JSON as Spark parses it: the first value of a text counts, whatever follows."""

import json
import re
from typing import Any

_FIRST = re.compile(r"[^ \t\r\n]")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_HALF = re.compile("[\ud800-\udfff]")


def parsed(text: str) -> Any:
    """Return the first JSON value of a text, None if there is none or it is damaged."""
    first = _FIRST.search(text)
    if first is None:
        return None
    try:
        value, _ = _DECODER.raw_decode(text, first.start())
    except (ValueError, RecursionError):
        return None
    if "\\ud" in text or "\\uD" in text:
        # Half of a surrogate pair is no text that can be written.
        return _mended(value)
    return value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("?", value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value
