"""Quantities with units in input files, against the table of docs/cluster.md."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from edgeplace.cli.schemas import schema
from edgeplace.control.settings import ControlSettings
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Link, SourceDemand, parse, read

SIZE = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
SIZE |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
BIT = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
MS = {"us": Fraction(1, 1000), "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
NUMBERS = st.decimals(min_value="0.001", max_value=800, places=3)
BLANK = st.sampled_from(["", " "])


def link(**fields):
    return Link(source="a", target="b", **fields)


@settings(deadline=None)
@given(NUMBERS, BLANK, st.sampled_from(sorted(SIZE)))
def test_sizes_are_read_exactly(number, blank, unit):
    rate = link(bandwidth_bytes_per_s=f"{number}{blank}{unit}/s").bandwidth_bytes_per_s
    assert rate == float(Fraction(number) * SIZE[unit])


@settings(deadline=None)
@given(NUMBERS, BLANK, st.sampled_from(sorted(BIT)))
def test_bits_are_eighths_of_bytes(number, blank, unit):
    rate = link(bandwidth_bytes_per_s=f"{number}{blank}{unit}/s").bandwidth_bytes_per_s
    assert rate == float(Fraction(number) * BIT[unit] / 8)


@settings(deadline=None)
@given(NUMBERS, BLANK, st.sampled_from(sorted(MS)))
def test_times_are_read_exactly(number, blank, unit):
    assert link(delay_ms=f"{number}{blank}{unit}").delay_ms == float(Fraction(number) * MS[unit])


@settings(deadline=None)
@given(NUMBERS, st.sampled_from(["EUR", "USD", "€", "$", ""]), st.sampled_from(sorted(SIZE)))
def test_prices_are_read_exactly(number, money, unit):
    price = link(price_per_byte=f"{number} {money}/{unit}").price_per_byte
    assert price == float(Fraction(number) / SIZE[unit])


@settings(deadline=None)
@given(st.floats(min_value=1e-9, max_value=1e15))
def test_a_plain_number_is_what_it_was(number):
    for written in (number, repr(number)):
        assert link(bandwidth_bytes_per_s=written).bandwidth_bytes_per_s == number
        assert link(delay_ms=written).delay_ms == number


def test_units_are_read_in_lists_whole_numbers_and_other_documents():
    assert SourceDemand(rates_per_s=["600/min", "5 records/s", 7]).rates_per_s == (10, 5, 7)
    for one in (5, "5", "5 /s", "300 /min"):
        assert SourceDemand(rates_per_s=one).rates_per_s == (5,)
    assert Cluster(sites=[{"id": "a"}], buffer_bytes="32 KiB").buffer_bytes == 32768
    control = {"jobmanager": "http://jm:8081", "job": "j", "cluster": "c.yaml", "poll_s": "1 min"}
    assert ControlSettings(**control).poll_s == 60
    job = JobGraph(
        name="j",
        checkpoint_interval_ms="30 s",
        operators=[
            {"id": "o", "name": "o", "parallelism": 1, "cost": {"state_bytes": "2.5 GiB"}},
        ],
    )
    assert job.checkpoint_interval_ms == 30000
    assert job.operators[0].cost.state_bytes == 2.5 * 2**30


@pytest.mark.parametrize(
    ("field", "written", "cure"),
    [
        ("bandwidth_bytes_per_s", "10 mbit/s", 'did you mean "10 Mbit/s"?'),
        ("bandwidth_bytes_per_s", "10 Mbit", '"10 Mbit/s"'),
        ("bandwidth_bytes_per_s", "fast", 'write it as in "10 Mbit/s"'),
        ("delay_ms", "40 msec", 'did you mean "40 ms"?'),
        ("delay_ms", "1,000 ms", 'write it as in "40 ms"'),
        ("price_per_byte", "4 EUR", 'write it as in "4 EUR/GB"'),
        ("price_per_byte", "4 EUR/gb", 'did you mean "4 EUR/GB"?'),
    ],
)
def test_an_unknown_unit_is_named_with_file_line_and_cure(tmp_path, field, written, cure):
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "sites: [{id: a}, {id: b}]\nnodes: []\nlinks:\n"
        f'  - source: a\n    target: b\n    {field}: "{written}"\n'
    )
    with pytest.raises(InvalidInputError) as error:
        read(file, Cluster)
    assert f"{file}: links.0.{field} (" in error.value.what
    assert "line 6" in error.value.what
    assert written in error.value.what
    assert cure in error.value.cure


def test_a_field_without_a_unit_takes_none():
    with pytest.raises(InvalidInputError, match="cores"):
        parse({"sites": [{"id": "a"}], "nodes": [{"id": "n", "site": "a", "cores": "4 cores"}]},
              Cluster, "file")  # fmt: skip


@pytest.mark.parametrize(
    ("written", "valid"),
    [(1, True), ("10 Mbit/s", True), ("2.5 GiB/s", True), ("10 mbit/s", False), ("1 s", False)],
)
def test_the_schema_takes_the_same_texts(written, valid):
    data = {
        "sites": [{"id": "a"}, {"id": "b"}],
        "links": [{"source": "a", "target": "b", "bandwidth_bytes_per_s": written}],
    }
    assert Draft202012Validator(schema("cluster")).is_valid(data) == valid


@pytest.mark.parametrize("target", ["b", "b*"])
@pytest.mark.parametrize(
    ("bandwidth", "said"),
    [("10 Mbit/s", "10 Mbit/s"), ("1.25 MB/s", "1.25 MB/s"), (1.25e6, "1.25 MB/s")],
)
def test_traffic_is_written_as_the_bandwidths_of_the_file_are(bandwidth, said, target):
    link = {"source": "a", "target": target, "bandwidth_bytes_per_s": bandwidth}
    found = parse({"sites": [{"id": "a"}, {"id": "b"}], "links": [link]}, Cluster, "c")
    assert found.rates_in.text(found.links[0].bandwidth_bytes_per_s) == said
    assert Cluster.model_validate_json(found.model_dump_json()) == found
