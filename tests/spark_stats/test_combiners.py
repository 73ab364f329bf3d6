"""`edgeplace costs` finds the flush law of a combiner in a log whose rate changes."""

import json

import pytest

from edgeplace.model import InvalidInputError
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from edgeplace.spark_stats.job_facts import tumbling_s
from tests.support.measured import START, stream

RATES = (20, 300, 2_000, 9_000)
POLL_S, MINUTES = 20, 3
FLUSHES = {"combine": Gathering(interval_s=1)}


def put_out(rate: float, keys: int = 150, cold: float = 0.02) -> float:
    """Return records/s of a combiner with a timer of 1 s and equal keys, by counting urns."""
    hot = (1 - cold) * rate
    return cold * rate + keys * (1 - (1 - 1 / keys) ** hot)


def changing(recording, rates=RATES, out=put_out, *, full=(), description="", outputs=1, readers=1):
    """Record a job whose two combiners get each rate for some minutes.

    In those of `full`, a link holds the combiners back, and they send a tenth. Each of several
    readers gets all records.
    """
    targets = [f"sink{i}" for i in range(outputs)]
    recording.job(
        {"source": 1, "combine": 2, **dict.fromkeys(targets, readers)},
        [
            ("source", "combine", "REBALANCE"),
            *(("combine", t, "HASH" if readers == 1 else "BROADCAST") for t in targets),
        ],
    )
    if description:
        there = f'{{"id": "id-combine", "description": "{description}",'
        recording.lines = [x.replace('{"id": "id-combine",', there) for x in recording.lines]
    got = sent = pressed = 0.0
    for poll in range(len(rates) * MINUTES * 60 // POLL_S + 1):
        at = START - START % 60_000 + 1000 * POLL_S * poll
        for name, counters in (
            ("source", {"numRecordsOut": 2 * round(got)}),
            (
                "combine",
                {
                    "numRecordsIn": [round(got)] * 2,
                    "numRecordsOut": [round(sent)] * 2,
                    "numBytesOut": [30 * round(sent) * readers] * 2,
                    "accumulateBackPressuredTimeMs": [pressed] * 2,
                },
            ),
            *(
                (
                    t,
                    {
                        "numRecordsIn": [2 * round(sent)] * readers,
                        "numBytesIn": [60 * round(sent)] * readers,
                    },
                )
                for t in targets
            ),
        ):
            recording.metrics(at, name, accumulateBusyTimeMs=100 * poll, **counters)
        rate = rates[min(poll * POLL_S // (60 * MINUTES), len(rates) - 1)]
        got += POLL_S * rate
        sent += POLL_S * out(rate) * (0.1 if rate in full else 1)
        pressed += 1000 * POLL_S * (rate in full)
    return recording.write()


def test_the_law_is_found_and_holds_at_rates_that_the_log_does_not_have(engine, recording):
    found = stream(
        measure([changing(recording)], None, flushes=FLUSHES, spark=engine), "combine", "sink0"
    )

    assert found.flush_law.form == "hot and cold"
    assert found.flush_law.keys == pytest.approx(150, rel=0.1)
    assert [at.rate_per_s for at in found.by_rate] == pytest.approx(RATES, rel=0.01)
    assert found.by_rate[0].bytes_per_record == pytest.approx(30)
    for rate in (5, 700, 40_000):
        assert found.flush_law.selectivity(rate) == pytest.approx(put_out(rate) / rate, rel=0.05)


def test_a_ledger_gives_the_same_law(recording, tmp_path):
    pytest.importorskip("pyarrow", reason="a ledger needs pyarrow")
    log = changing(recording)
    add_to_ledger(tmp_path / "ledger", [log])

    of_log = measure([log], None, flushes=FLUSHES).costs.streams
    of_ledger = costs_from_ledger(tmp_path / "ledger", None, flushes=FLUSHES).streams

    assert any(s.flush_law for s in of_log)
    assert of_ledger == of_log


def test_minutes_in_which_a_link_holds_the_combiner_back_do_not_count(recording):
    log = changing(recording, (*RATES, 4_000), full=(4_000,))

    found = stream(measure([log], None, flushes=FLUSHES), "combine", "sink0")

    assert [at.rate_per_s for at in found.by_rate] == pytest.approx(RATES, rel=0.01)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"rates": RATES[:2]}, "2 rates; the law needs 3"),
        ({"rates": RATES[:1]}, "1 rate; the law needs 3"),
        ({"out": lambda rate: 0.7 * rate}, "measurements at the rates next to them by 1.00"),
        ({"out": lambda rate: (rate * 7919) % 13 + 1}, "the flush law is off by a factor of"),
        ({"outputs": 2}, "several outputs, and a log counts their sum"),
        ({"rates": (0,)}, None),
    ],
    ids=["two rates", "one rate", "filter", "odd", "outputs", "silent"],
)
def test_without_a_law_that_holds_the_stream_stays_and_says_why(recording, how, reason):
    found = stream(measure([changing(recording, **how)], None, flushes=FLUSHES), "combine", "sink0")

    assert found.flush_law is None
    assert found.by_rate == ()
    assert reason is None or any(reason in note for note in found.notes)


def test_the_law_of_a_broadcast_has_the_bytes_of_one_copy(recording):
    log = changing(
        recording, description="Window(TumblingEventTimeWindows(1000), Count)", readers=4
    )
    found = stream(measure([log], None), "combine", "sink0")
    assert found.bytes_per_record == pytest.approx(30)
    assert found.flush_law
    assert [at.bytes_per_record for at in found.by_rate] == pytest.approx([30] * len(found.by_rate))


def test_a_stated_flush_time_without_effect_is_said(recording):
    changing(recording)
    lines = [json.loads(x) for x in recording.lines]
    for line in lines:
        if "id-combine/metrics" in line["path"]:
            line["answer"] = [item for item in line["answer"] if item["id"].startswith("0.")]
    recording.lines = [json.dumps(line) for line in lines]
    found = stream(measure([recording.write()], None, flushes=FLUSHES), "combine", "sink0")
    assert found.flush_law is None
    assert any("no flush law: this log does not have all" in note for note in found.notes)


def test_a_window_of_the_plan_needs_no_word_of_the_user(recording):
    log = changing(recording, description="Window(TumblingEventTimeWindows(1000), Count)")

    found = stream(measure([log], None), "combine", "sink0")

    assert found.flush_law.gathering == Gathering(interval_s=1)


def test_nothing_is_said_of_a_window_at_one_rate(recording):
    log = changing(recording, RATES[:1], description="Window(TumblingEventTimeWindows(1000))")

    assert stream(measure([log], None), "combine", "sink0").notes == ()


@pytest.mark.parametrize(
    ("description", "seconds"),
    [
        ("Window(TumblingProcessingTimeWindows(5000), ProcessingTimeTrigger, Sum)", 5),
        ("[3]:WindowAggregate(groupBy=[a], window=[TUMBLE(time_col=[t], size=[1 min])])", 60),
        ("Window(SlidingEventTimeWindows(5000, 1000), Sum)", None),
        ("[3]:WindowAggregate(window=[HOP(time_col=[t], size=[10 s], slide=[2 s])])", None),
        ("map", None),
        (f"Window(TumblingEventTimeWindows({'9' * 400}), Sum)", None),
        ("window=[TUMBLE(time_col=[t], size=[1.2.3 s])]", None),
        ("window=[TUMBLE(time_col=[t], size=[1.5 s])]", 1.5),
    ],
)
def test_tumbling_windows_are_read_from_the_plan(description, seconds):
    assert tumbling_s(description) == seconds


@pytest.mark.parametrize(
    ("name", "said"), [("merge", "none of that name"), ("source", "which is a source")]
)
def test_what_cannot_flush_is_refused(recording, name, said):
    log = changing(recording, RATES[:1])

    with pytest.raises(InvalidInputError, match=said):
        measure([log], None, flushes={name: Gathering(interval_s=1)})


def test_a_name_and_the_id_of_one_operator_are_refused(recording):
    log = changing(recording, RATES[:1])

    with pytest.raises(InvalidInputError, match="given twice for 'combine'"):
        measure([log], None, flushes={**FLUSHES, "id-combine": Gathering(interval_s=2)})
