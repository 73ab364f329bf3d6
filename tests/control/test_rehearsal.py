"""Schedules of failures: YAML and CSV, and what is wrong in one."""

import pytest

from edgeplace.control.loop.recovery import made_up_s
from edgeplace.control.rehearsal import read_rehearsal
from edgeplace.model import InvalidInputError

YAML = """\
duration_s: 4 min
events:
  - {at_s: 20, do: rate, factor: 3}
  - {at_s: 1 min, do: link, site: a, other: b, bandwidth_bytes_per_s: 2 Mbit/s, for_s: 30}
  - {at_s: 100, do: cut, site: a}
  - {at_s: 110, do: kill, node: pi, for_s: 20}
  - {at_s: 120, do: slow, node: pi, cores: 0.25}
"""
CSV = """\
at_s,do,site,node,factor,for_s
20,rate,,,3,
130,cut,hall,,,60
,,,,,
"""


def schedule(folder, text, name="s.yaml"):
    (folder / name).write_text(text)
    return read_rehearsal(folder / name)


def test_all_that_may_happen_in_yaml(tmp_path):
    found = schedule(tmp_path, YAML)
    assert found.duration_s == 240
    assert [e.said for e in found.events] == [
        "rate x3",
        "link a - b at 2 Mbit/s",
        "site a cut off",
        "pi killed",
        "pi at 0.25 cores",
    ]
    assert found.events[1].at_s == 60 and found.events[1].bandwidth_bytes_per_s == 250_000


def test_a_table_ends_a_minute_after_its_last_event(tmp_path):
    found = schedule(tmp_path, CSV, "s.csv")
    assert [e.said for e in found.events] == ["rate x3", "site hall cut off"]
    assert found.duration_s == 250


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("events: []", "events"),
        ("events: [{at_s: 1, do: burn}]", "burn"),
        ("events: [{at_s: 1, do: rate}]", "factor"),
        ("events: [{at_s: -1, do: rate, factor: 2}]", "at_s"),
        ("events: [{at_s: 1, do: slow, node: pi, cores: 0.1}]", "cores"),
        ("events: [{at_s: 1, do: cut, sight: a}]", "sight"),
        ("events: [{at_s: 300, do: cut, site: a}]", "after the end at 240 s"),
        ("policy: best\nevents: [{at_s: 1, do: cut, site: a}]", "policy"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    with pytest.raises(InvalidInputError, match=says):
        schedule(tmp_path, text)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        # 10 s of 100 records/s wait; 200 are sustained afterwards: 1,000 / 100.
        ({"outage_s": 10, "rate": 100, "before": 0, "after": 200}, 20),
        # The same, with 500 records read again.
        ({"outage_s": 10, "rate": 100, "before": 0, "after": 200, "again": 500}, 25),
        # What was sustained meanwhile does not wait.
        ({"outage_s": 10, "rate": 100, "before": 60, "after": 150}, 18),
        ({"outage_s": 10, "rate": 100, "before": 120, "after": 120}, 10),
        ({"outage_s": 10, "rate": 100, "before": 0, "after": 100}, float("inf")),
    ],
)
def test_when_an_outage_is_made_up_for(given, seconds):
    assert made_up_s(**given) == pytest.approx(seconds)
