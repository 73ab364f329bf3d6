"""What a rehearsal saw, from files as sources and the loop write them."""

import json

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
seen = pytest.importorskip("testbed.rehearsal.seen", reason=REASON)
offering = pytest.importorskip("testbed.rehearsal.offered", reason=REASON)
injection = pytest.importorskip("testbed.rehearsal.injection", reason=REASON)
place = pytest.importorskip("testbed.rehearsal.place", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
T0 = 1_000.0


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """100 records/s from T0, 200 from T0 + 50."""
    log = offering.OfferedLog(tmp_path / "offered")
    for at_s, rate in ((T0, 100.0), (T0 + 50, 200.0)):
        monkeypatch.setattr(offering.time, "time", lambda at_s=at_s: at_s)
        log.set(rate)
    return log


def emitted(folder, records):
    """Write what one source tells: second -> records."""
    lines = [json.dumps({"ts_ms": (T0 + s) * 1000, "records": n}) + "\n" for s, n in records]
    (folder / "source-0.jsonl").write_text("".join(lines))


def test_what_is_offered_adds_up_over_rates(offered, tmp_path):
    assert [offered.until(T0 + s) for s in (-1, 0, 10, 50, 60)] == [0, 0, 1000, 5000, 7000]
    assert (tmp_path / "offered").read_text() == "1000000 100.000000\n1050000 200.000000\n"


def test_a_source_that_keeps_up_lags_not(offered, tmp_path):
    emitted(tmp_path, [(s, offered.until(T0 + s)) for s in range(100)])
    lag = seen.lag(tmp_path, offered, T0, T0 + 99)
    assert lag.late_s(T0, T0 + 99) == 0 and lag.made_up_s(T0, T0 + 99) == 0.0
    assert lag.in_rate_s(T0, T0 + 99) is None and lag.gaps == ()


def test_an_outage_is_seen_with_its_length_and_when_it_was_made_up_for(offered, tmp_path):
    """Nothing from 10 to 20, then twice the rate: 1,000 records wait, made up for at 30."""
    lines = [(s, 100 * s) for s in range(11)]
    lines += [(s, 1000 + 200 * (s - 20)) for s in range(21, 31)]
    lines += [(s, 100 * s) for s in range(31, 50)]
    emitted(tmp_path, lines)
    lag = seen.lag(tmp_path, offered, T0, T0 + 49)
    assert lag.stood_s(T0 + 10, T0 + 49) == (T0 + 10, T0 + 21)
    assert lag.most_s(T0, T0 + 49) == pytest.approx(10, abs=1.01)
    assert lag.made_up_s(T0 + 10, T0 + 49) == pytest.approx(19, abs=1.01)
    assert lag.late_s(T0, T0 + 49) == pytest.approx(16, abs=2)


def test_changes_are_those_of_the_journal(tmp_path):
    places = {"op": ["a", "b"]}
    lines = [
        {
            "event": {"kind": "polled", "at_s": 5.0, "registered": ["a"]},
            "says": "site hall is lost; makes 1 moves",
            "effects": [{"kind": "apply", "id": "loss3", "at_once": True, "places": places}],
        },
        {
            "event": {"kind": "ended", "at_s": 7.5, "id": "loss3", "end": "applied"},
            "says": "loss3 applied",
            "effects": [],
        },
    ]
    (tmp_path / "journal").write_text("".join(json.dumps(x) + "\n" for x in lines))
    (found,) = seen.changes(tmp_path / "journal")
    assert (found.begun_s, found.ended_s, found.saw_s) == (5.0, 7.5, 5.0)
    assert found.places == {"op": ("a", "b")}


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"do": "cut", "site": "lyon"}, "no site 'lyon'; there are field, hall, cloud"),
        ({"do": "kill", "node": "pi-9"}, "no machine 'pi-9'"),
        (
            {"do": "link", "site": "hall", "other": "hall", "bandwidth_bytes_per_s": 1},
            "no link joins hall and hall",
        ),
    ],
)
def test_what_the_testbed_has_not_is_said_before_anything_starts(event, says):
    from edgeplace.control.rehearsal import Rehearsal

    schedule = Rehearsal.model_validate({"events": [{"at_s": 1, **event}]})
    with pytest.raises(errors.TestbedError, match=says):
        injection.check(schedule, place.LAYOUT)
