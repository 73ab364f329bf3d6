"""Releases of Flink that live tests run on: the newest, some also on an older one.

`EDGEPLACE_FLINK=1.20.3 pytest tests/live` runs all of them on that release instead.
"""

import os

import pytest

_CHOSEN = os.environ.get("EDGEPLACE_FLINK")
NEWEST = _CHOSEN or "2.3.0"
_BOTH = [_CHOSEN] if _CHOSEN else [NEWEST, "1.20.3"]

on_both = pytest.mark.parametrize("flink_version", _BOTH, indirect=True, scope="session")
