"""Quantities keep three digits, and never fall into powers of ten where a prefix will do."""

import pytest

from edgeplace.cli.quantities import (
    count,
    counted,
    exact,
    factor,
    milliseconds,
    percent,
    seconds,
    size,
)
from edgeplace.model import RateUnit, all_digits

INFINITY = float("inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (-0.0, "0"),
        (0.0123456, "0.0123"),
        (0.9999, "1"),
        (1, "1"),
        (12.345, "12.3"),
        (99.96, "100"),
        (999.4, "999"),
        (999.6, "1,000"),
        (1000, "1,000"),
        (1234.5, "1,234"),
        (-1234.5, "-1,234"),
        (1e7, "10,000,000"),
        (1e-9, "1e-09"),
        (INFINITY, "unlimited"),
    ],
)
def test_count(value, text):
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (0.5, "0.5 B"),
        (123, "123 B"),
        (999.4, "999 B"),
        (999.6, "1 kB"),
        (1000, "1 kB"),
        (1234, "1.23 kB"),
        (999_499, "999 kB"),
        (999_999, "1 MB"),
        (-5000, "-5 kB"),
        (2.5e12, "2.5 TB"),
        (5e18, "5,000 PB"),
    ],
)
def test_size(value, text):
    assert size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(124.999999, "999.999992 bit/s"), (125.0, "1 kbit/s"), (124.99999999999999, "1 kbit/s")],
)
def test_all_digits_are_not_cut_by_a_prefix(value, text):
    assert RateUnit.BITS.text(value, all_digits) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "slots", "1 slot"),
        (0, "slots", "0 slots"),
        (2, "slots", "2 slots"),
        (1.5, "cores", "1.5 cores"),
        (1, "threads", "1 thread"),
        (1, "ms", "1 ms"),
    ],
)
def test_one_of_a_thing_is_singular(value, unit, text):
    assert counted(value, unit) == text


def test_size_per_second():
    assert size(130_268, "/s") == "130 kB/s"
    assert size(None, "/s") == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 ms"),
        (-1, "no route"),
        (0.04, "0.0 ms"),
        (287.222, "287.2 ms"),
        (1062.5, "1,062.5 ms"),
    ],
)
def test_milliseconds(value, text):
    assert milliseconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 %"),
        (6.7e-14, "0 %"),
        (1e-6, "0.0001 %"),
        (0.326, "32.6 %"),
        (1, "100 %"),
        (12.345, "1,234 %"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0143, "0.0143x"), (1, "1x"), (1.19, "1.19x"), (1234.5, "1,234x"), (INFINITY, "unlimited")],
)
def test_factor(value, text):
    assert factor(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00168, "0.00168"),
        (287.2221, "287.222"),
        (168_000, "168,000"),
        (14_000_001, "14,000,001"),
    ],
)
def test_exact(value, text):
    assert exact(value) == text


@pytest.mark.parametrize("longer", [9.996, 12.34, 99.96, 999.4])
def test_a_longer_time_is_not_wider(longer):
    assert len(seconds(longer)) <= len(seconds(5.57))
    assert float(seconds(longer).removesuffix(" s")) == pytest.approx(longer, 0.01)
