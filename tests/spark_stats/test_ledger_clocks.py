"""A ledger beside clocks that are wrong: nothing is counted twice, and nothing is lost."""

from types import SimpleNamespace

import pytest

from edgeplace.model import InvalidInputError, dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from edgeplace.spark_stats.ledger import times
from tests.support.measured import START
from tests.support.segments import POLL_MS, without_quarters

pytest.importorskip("pyarrow", reason="a ledger needs pyarrow")
pytestmark = pytest.mark.slow


@pytest.fixture
def clock(monkeypatch):
    """Set the clock of this machine to that of a poll."""

    def shows(poll: int) -> None:
        at_s = (START + POLL_MS * poll) / 1000
        monkeypatch.setattr(times, "time", SimpleNamespace(time=lambda: at_s))

    return shows


def test_a_clock_that_was_set_back_counts_nothing_twice(engine, two, ledger, clock):
    before = dump(costs_from_ledger(ledger, None))
    clock(-1000)
    with pytest.raises(
        InvalidInputError, match=r"has samples of 2026-.*Z, and this machine's clock shows 2026-"
    ) as e:
        add_to_ledger(ledger, [two / "log"], spark=engine)
    assert "set the clocks" in e.value.cure
    assert dump(costs_from_ledger(ledger, None)) == before


def test_what_was_ahead_of_the_clock_counts_when_the_clock_is_right(engine, two, tmp_path, clock):
    ledger, log = tmp_path / "ledger", two / "log"
    clock(5)  # What is up to five minutes, 15 polls, ahead counts.
    [note] = add_to_ledger(ledger, [log], spark=engine)
    assert "minutes ahead of this machine's clock and were passed over" in note
    assert costs_from_ledger(ledger, None).to_ms < START + 21 * POLL_MS
    clock(1000)
    [note] = add_to_ledger(ledger, [log], spark=engine)
    assert "they were counted before" in note
    whole = without_quarters(dump(measure([log], None).costs))
    assert without_quarters(dump(costs_from_ledger(ledger, None))) == whole
    assert add_to_ledger(ledger, [log]) == ("3 segments are in the ledger and were not read",)
