"""Credit windows of running jobs against the links they cross."""

from dataclasses import replace

import pytest

from edgeplace.adapters.flink.doctor.credit_window import Buffers, buffers, crossings
from edgeplace.adapters.flink.doctor.examine import Seen, examine
from edgeplace.adapters.flink.doctor.snapshot import SeenJob, SeenTaskManager
from edgeplace.model import Cluster, JobGraph

FIELD = ("pi-1", "pi-2")
SITE_OF = {"pi-1": "field", "pi-2": "field", "server": "hall"}


@pytest.fixture
def cluster() -> Cluster:
    """25 ms and 2 MB/s from field to hall, by way of a hub without nodes."""
    return Cluster.model_validate(
        {
            "sites": [{"id": "field"}, {"id": "hub"}, {"id": "hall", "tier": "cloud"}],
            "nodes": [
                {"id": "pi-1", "site": "field", "cores": 4, "slots": 4},
                {"id": "pi-2", "site": "field", "cores": 4, "slots": 4},
                {"id": "server", "site": "hall", "cores": 8, "slots": 8},
            ],
            "links": [
                {"source": "field", "target": "hub", "delay_ms": 5, "both_ways": True}
                | {"bandwidth_bytes_per_s": 2_000_000},
                {"source": "hub", "target": "hall", "delay_ms": 20, "both_ways": True}
                | {"bandwidth_bytes_per_s": 100_000_000},
            ],
        }
    )


def job(strategy: str, p: int = 2, q: int = 1) -> JobGraph:
    return JobGraph.model_validate(
        {
            "name": "job",
            "operators": [
                {"id": "a", "name": "source", "parallelism": p},
                {"id": "b", "name": "sink", "parallelism": q},
            ],
            "streams": [{"source": "a", "target": "b", "ship_strategy": strategy}],
        }
    )


def test_the_window_of_a_gate_with_two_channels(cluster):
    places = {"a": FIELD, "b": ("server",)}
    (found,) = crossings(job("REBALANCE"), places, SITE_OF, cluster, Buffers())
    assert (found.source, found.target, found.channels) == ("field", "hall", 2)
    assert found.round_trip_ms == 50
    assert found.bandwidth_bytes_per_s == 2_000_000
    # 2 exclusive buffers each, and the 8 floating ones of the one gate.
    assert found.window_bytes == (2 + 2 + 8) * 32768
    assert found.room_bytes_per_s == pytest.approx(12 * 32768 / 0.05)


@pytest.mark.parametrize(
    ("strategy", "p", "q", "channels", "buffers_"),
    [
        ("FORWARD", 2, 2, 2, 2 * (2 + 8)),
        ("RESCALE", 4, 2, 4, 4 * (2 + 8 / 2)),
        ("RESCALE", 2, 4, 4, 4 * (2 + 8)),
        ("HASH", 4, 2, 8, 8 * (2 + 8 / 4)),
        ("GLOBAL", 4, 2, 4, 4 * (2 + 8 / 4)),
    ],
)
def test_the_channels_of_each_strategy(cluster, strategy, p, q, channels, buffers_):
    places = {"a": ("pi-1",) * p, "b": ("server",) * q}
    (found,) = crossings(job(strategy, p, q), places, SITE_OF, cluster, Buffers())
    assert (found.channels, found.buffers) == (channels, pytest.approx(buffers_))


def test_only_channels_between_sites_count(cluster):
    places = {"a": ("pi-1", "server"), "b": ("server",)}
    (found,) = crossings(job("HASH"), places, SITE_OF, cluster, Buffers())
    assert found.channels == 1
    # The floating buffers are shared with the channel that stays at the site.
    assert found.buffers == 2 + 8 / 2
    assert crossings(job("HASH"), {"a": FIELD, "b": ("pi-1",)}, SITE_OF, cluster, Buffers()) == []


@pytest.mark.parametrize("places", [{}, {"a": FIELD, "b": (None,)}, {"a": FIELD, "b": ()}])
def test_subtasks_that_are_nowhere_have_no_window(cluster, places):
    assert crossings(job("HASH"), places, SITE_OF, cluster, Buffers()) == []


@pytest.mark.parametrize(
    "change", [{"links": ()}, {"delay_ms": 0.0}, {"bandwidth_bytes_per_s": None}]
)
def test_routes_that_bound_nothing_are_left_out(cluster, change):
    links = change.get("links", tuple(a.model_copy(update=change) for a in cluster.links))
    other = cluster.model_copy(update={"links": links})
    places = {"a": FIELD, "b": ("server",)}
    assert crossings(job("HASH"), places, SITE_OF, other, Buffers()) == []


def test_what_is_proposed_fills_the_link_and_one_less_does_not(cluster):
    fast = cluster.model_copy(
        update={
            "links": tuple(
                a.model_copy(update={"bandwidth_bytes_per_s": 5e7}) for a in cluster.links
            )
        }
    )
    places = {"a": FIELD, "b": ("server",)}

    def factor(network: Buffers) -> float:
        (found,) = crossings(job("HASH"), places, SITE_OF, fast, network)
        return found.missing_window_factor

    (found,) = crossings(job("HASH"), places, SITE_OF, fast, Buffers())
    count, size = found.exclusive_to_fill(), found.segment_bytes_to_fill()
    assert factor(Buffers()) > 1
    assert factor(Buffers(exclusive=count)) <= 1 < factor(Buffers(exclusive=count - 1))
    assert factor(Buffers(segment_bytes=size)) <= 1 < factor(Buffers(segment_bytes=size // 2))
    assert size & (size - 1) == 0


def test_measured_sizes_of_buffers_win_and_the_smaller_end_counts(cluster):
    places = {"a": ("pi-1",), "b": ("server",)}
    network = Buffers(segment_bytes_of={"pi-1": 8192, "server": 65536})
    (found,) = crossings(job("FORWARD", 1, 1), places, SITE_OF, cluster, network)
    assert found.window_bytes == 10 * 8192


CONFIGURED = {
    "taskmanager.network.memory.buffers-per-channel": "4",
    "taskmanager.network.memory.floating-buffers-per-gate": "16",
    "taskmanager.memory.segment-size": "64 kb",
}


def test_buffers_as_configured():
    found = buffers("1.20.3", CONFIGURED)
    assert (found.exclusive, found.floating, found.segment_bytes) == (4, 16, 65536)


def test_flink_2_has_fixed_the_numbers_of_buffers():
    found = buffers("2.0.1", CONFIGURED)
    assert (found.exclusive, found.floating, found.segment_bytes) == (2, 8, 65536)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8192", 8192), ("8kb", 8192), ("1m", 2**20), ("32768b", 32768), ("?", 32768)],
)
def test_sizes_are_read_as_flink_writes_them(text, size):
    assert buffers("2.3.0", {"taskmanager.memory.segment-size": text}).segment_bytes == size


def seen(release: str, strategy: str = "HASH") -> Seen:
    names = ("pi-1", "pi-2", "server")
    return Seen(
        release=release,
        now_s=0.0,
        registered={"taskmanagers": [{"id": name} for name in names]},
        task_managers=tuple(SeenTaskManager(name, name, slots=1) for name in names),
        jobs=(
            SeenJob("1" * 32, "job", graph=job(strategy), places={"a": FIELD, "b": ("server",)}),
        ),
    )


def windows(at: Seen, cluster: Cluster) -> list[tuple[str, str, str]]:
    found = examine(at, version="0.2.0", cluster=cluster)
    return [(f.severity.value, f.what, f.cure) for f in found if f.check == "credit windows"]


def test_a_window_below_its_link_comes_with_the_exact_setting(cluster):
    fast = cluster.model_copy(
        update={
            "links": tuple(
                a.model_copy(update={"bandwidth_bytes_per_s": 5e7}) for a in cluster.links
            )
        }
    )
    (warning, note) = windows(seen("1.20.3"), fast)
    assert warning[:2] == (
        "warning",
        "'job': 2 channels field -> hall carry at most 7,864 kB/s in all, the link 50,000 kB/s: "
        "393 kB of buffers in 50 ms of round trip",
    )
    assert (
        "taskmanager.network.memory.buffers-per-channel: 35 on the TaskManagers at hall"
        in (warning[2])
    )
    assert note[0] == "note"
    assert "2 buffers per channel (Flink's default)" in note[1]
    (warning, note) = windows(seen("2.3.0"), fast)
    assert "taskmanager.memory.segment-size: 262144 on all TaskManagers" in warning[2]
    assert "8 times the network memory" in warning[2]
    assert "2 buffers per channel (fixed in Flink 2)" in note[1]


def test_a_window_above_its_link(cluster):
    (fine, note) = windows(seen("2.3.0"), cluster)
    assert (fine[0], note[0]) == ("ok", "note")


def test_a_job_within_one_site_has_nothing_to_say(cluster):
    at = seen("2.3.0")
    inside = replace(at.jobs[0], places={"a": FIELD, "b": ("pi-1",)})
    assert windows(replace(at, jobs=(inside,)), cluster) == []
