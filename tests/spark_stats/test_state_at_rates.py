"""The state law of a log whose rate changes, read with and without Spark and from a ledger."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from tests.support.measured import START, operator

POLL_MS = 10_000
MINUTES = 6
"""At each rate."""
FIXED, HELD_S = 20_000.0, 90.0


def polls(recording, rates: list[float], state: Callable[[int, float], float], **answer) -> Path:
    """Write polls of two subtasks, and a checkpoint at each third one.

    Parameters
    ----------
    rates
        Records/s into both together, each for some minutes.
    state
        Poll, records/s -> state.
    """
    recording.job({"source": 1, "join": 2}, [("source", "join", "HASH")])
    records, start = 0.0, START // 60_000 * 60_000
    for number in range(6 * MINUTES * len(rates) + 1):
        rate = rates[min(number // (6 * MINUTES), len(rates) - 1)]
        at = start + POLL_MS * number
        recording.metrics(at, "source", numRecordsOut=records, accumulateBusyTimeMs=records / 10)
        recording.metrics(
            at,
            "join",
            numRecordsIn=[0.25 * records, 0.75 * records],
            accumulateBusyTimeMs=[0.1 * records, 0.3 * records],
        )
        if number % 3 == 1:
            size = state(number, rate)
            told = {"latest_ack_timestamp": at - 900, **answer}
            sizes = {"status": "COMPLETED", "state_size": size, "checkpointed_size": size}
            path = f"/jobs/{'a' * 32}/checkpoints/details/{number}/subtasks/id-join"
            recording.answer(at, path, {**sizes, **told})
        records += rate * POLL_MS / 1000
    return recording.write()


def so_far(number: int) -> float:
    """Return the records before a poll, at 100, 300, 1000 and then 3000 records/s."""
    each = 6 * MINUTES
    done, more = divmod(number, each)
    ramp = (100.0, 300.0, 1000.0, 3000.0, 3000.0)
    return 10.0 * (each * sum(ramp[:done]) + more * ramp[done])


def by_law(number: int, rate: float) -> float:
    return (FIXED + HELD_S * rate) * (1 + 0.02 * (number % 4 - 1.5))


def test_state_that_follows_the_rate_has_its_law(engine, recording):
    log = polls(recording, [100.0, 1000.0, 300.0, 3000.0, 300.0], by_law)
    join = operator(measure([log], None, spark=engine), "join")
    assert join.state_law.fixed_bytes == pytest.approx(FIXED, rel=0.1)
    assert join.state_law.held_bytes_s == pytest.approx(HELD_S, rel=0.05)
    assert "its state follows its rate: by a law of 4 rates" in join.notes
    # The state is still that of the last checkpoints.
    assert join.state_bytes == pytest.approx(by_law(3, 300.0), rel=0.01)
    assert operator(measure([log], None, spark=engine), "source").state_law is None


def test_checkpoints_write_the_same_share_of_a_larger_state(engine, recording):
    polls(recording, [100.0, 1000.0, 300.0, 3000.0, 300.0], by_law)
    # Of the last ten checkpoints, four are of a rate that is ten times as high.
    end = json.loads(recording.lines[-1])["ts_ms"] - 3 * 60_000
    recording.lines = [x for x in recording.lines if json.loads(x)["ts_ms"] < end]
    log = recording.write()
    join = operator(measure([log], None, spark=engine), "join")
    assert join.state_bytes == pytest.approx(by_law(3, 3000.0), rel=0.01)
    # Each of these checkpoints wrote all of its state.
    assert join.state_law is not None
    assert join.checkpointed_bytes == pytest.approx(join.state_bytes, rel=1e-6)


def test_a_ledger_has_the_share_of_the_checkpoints_of_its_time(recording, tmp_path):
    log = polls(recording, [300.0, 1000.0, 100.0, 3000.0, 3000.0], by_law)
    add_to_ledger(tmp_path / "ledger", [log])
    begin = START // 60_000 * 60_000
    early = (begin, begin + (3 * MINUTES + 3) * 60_000)
    join = next(
        op
        for op in costs_from_ledger(tmp_path / "ledger", None, between_ms=early).operators
        if op.operator == "id-join"
    )
    assert join.state_law is not None
    assert join.checkpointed_bytes == pytest.approx(join.state_bytes, rel=1e-6)


@pytest.mark.parametrize(
    ("rates", "state", "answer"),
    [
        ([100.0, 1000.0], by_law, {}),
        ([100.0, 1000.0, 300.0, 3000.0], lambda number, rate: 5e6 + number % 2, {}),
        # It grows with time, whatever the rate is.
        ([100.0, 1000.0, 300.0, 3000.0, 100.0], lambda number, rate: 1e5 * (1 + number), {}),
        # It has all records so far, and the rate grows with time.
        ([100.0, 300.0, 1000.0, 3000.0], lambda number, rate: 40.0 * so_far(number), {}),
        ([100.0, 1000.0, 300.0, 3000.0], by_law, {"latest_ack_timestamp": -1}),
        ([100.0, 1000.0, 300.0, 3000.0], by_law, {"latest_ack_timestamp": None}),
    ],
    ids=["two rates", "constant", "grows", "grows with the rate", "not acknowledged", "no time"],
)
def test_other_state_has_none(recording, rates, state, answer):
    log = polls(recording, rates, state, **answer)
    assert operator(measure([log], None), "join").state_law is None


@pytest.mark.slow
def test_a_ledger_has_the_same_law(engine, recording, tmp_path):
    pytest.importorskip("pyarrow", reason="a ledger needs pyarrow")
    from edgeplace.spark_stats import add_to_ledger, costs_from_ledger

    log = polls(recording, [100.0, 1000.0, 300.0, 3000.0], by_law)
    lines = log.read_text().splitlines(keepends=True)
    for number, first in enumerate(range(0, len(lines), len(lines) // 3 + 1)):
        part = tmp_path / f"{number}.jsonl"
        part.write_text("".join(lines[first : first + len(lines) // 3 + 1]))
        add_to_ledger(tmp_path / "ledger", [part], spark=engine)
    of_log = operator(measure([log], None), "join").state_law
    [join] = [o for o in costs_from_ledger(tmp_path / "ledger", None).operators if o.name == "join"]
    assert join.state_law.held_bytes_s == pytest.approx(of_log.held_bytes_s, rel=1e-9)
    # A time with two rates has no law.
    early = costs_from_ledger(tmp_path / "ledger", None, between_ms=(0, START + 420_000))
    assert all(op.state_law is None for op in early.operators)
