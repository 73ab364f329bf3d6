"""How often a channel sends what is not a full buffer, from the buffers that readers counted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edgeplace.spark_stats import measure
from tests.support.measured import START

POLLS, POLL_S = 13, 10


def measured(
    recording_in: Callable, folder: Path, cluster, *, records, buffers, since=0, readers=4
):
    """Return the stream from 2 senders to 4 subtasks, of which `readers` get records.

    Figures are of each reader in a second; buffers are counted from the poll `since` on.
    """
    bytes_ = 28
    log = recording_in(folder)
    log.job({"window": 2, "merge": 4}, [("window", "merge", "HASH")])
    for poll in range(POLLS):
        ts = START + 1000 * POLL_S * poll
        each = [POLL_S * poll * records * (i < readers) for i in range(4)]
        log.placed(ts, "window", ["pi-1", "pi-2"])
        log.placed(ts, "merge", ["server", "server", "server", "pi-1"])
        log.metrics(ts, "window", numRecordsIn=[0, 0], numRecordsOut=[2 * each[0]] * 2)
        counters = {
            "numRecordsIn": each,
            "numBytesIn": [bytes_ * n for n in each],
            "accumulateBusyTimeMs": [poll] * 4,
            "Shuffle__Netty__Input__numBytesInLocal": [0, 0, 0, bytes_ * each[3] // 2],
            "Shuffle__Netty__Input__numBytesInRemote": [
                *[bytes_ * n for n in each[:3]],
                bytes_ * each[3] // 2,
            ],
        }
        if buffers is not None and poll >= since:
            count = round(POLL_S * poll * buffers)
            counters["Shuffle__Netty__Input__numBuffersInLocal"] = [0, 0, 0, 0]
            counters["Shuffle__Netty__Input__numBuffersInRemote"] = [
                count * (i < readers) for i in range(4)
            ]
        log.metrics(ts, "merge", **counters)
    costs = measure([log.write()], cluster).costs
    assert costs.streams
    (found,) = [s for s in costs.streams if s.source == "id-window"]
    return found


def test_a_window_that_fires_every_ten_seconds_sends_a_tenth_of_a_buffer_a_second(
    recording_in, tmp_path, cluster
):
    # Each reader gets a buffer from each of two senders.
    found = measured(recording_in, tmp_path, cluster, records=60, buffers=0.2)
    # Bytes that would fill one in 20 seconds are counted as parts of full buffers.
    assert found.flushes_per_s == pytest.approx((0.2 - 60 * 28 / 32_768) / 2)


def test_a_cluster_says_how_large_full_buffers_are(recording_in, tmp_path, cluster):
    # 4 full buffers of 64 kB and 0.2 others; they would be 8 of the usual size.
    large = cluster.model_copy(update={"buffer_bytes": 65_536})
    records = 4 * 65_536 / 28
    found = measured(recording_in, tmp_path, large, records=records, buffers=4.2)
    assert found.flushes_per_s == pytest.approx(0.2 / 2, rel=0.05)


@pytest.mark.parametrize("records", [2, 60, 5000])
def test_records_that_come_one_by_one_are_no_bursts(recording_in, tmp_path, cluster, records):
    """Each of two senders has something at 1, 9.5 or all ten ticks a second, and full buffers."""
    buffers = {2: 1.9, 60: 19, 5000: 20 + 5000 * 28 / 32_768}[records]
    found = measured(recording_in, tmp_path, cluster, records=records, buffers=buffers)
    assert found.flushes_per_s is None


def test_a_log_without_counts_of_buffers_says_nothing(recording_in, tmp_path, cluster):
    assert measured(recording_in, tmp_path, cluster, records=60, buffers=None).flushes_per_s is None


@pytest.mark.parametrize("since", [1, 2, 6, 10, 12])
def test_what_was_counted_in_a_part_of_the_log_only_makes_no_bursts(
    recording_in, tmp_path, cluster, since
):
    """As in a ledger that is older than the counts: 19 buffers a second are no bursts."""
    found = measured(recording_in, tmp_path, cluster, records=60, buffers=19, since=since)
    assert found.flushes_per_s is None


def test_subtasks_that_get_nothing_do_not_count(recording_in, tmp_path, cluster):
    alone = measured(recording_in, tmp_path, cluster, records=60, buffers=0.2, readers=1)
    assert alone.flushes_per_s == pytest.approx((0.2 - 60 * 28 / 32_768) / 2)
