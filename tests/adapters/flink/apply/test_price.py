"""Which state a move reads back, and where."""

from types import SimpleNamespace

import pytest

from edgeplace.adapters.flink.apply.price import read_seconds, state_read
from edgeplace.model import Cluster

SIZES = {"map": {0: 10, 1: 20, 2: 60}, "sink": {0: 1, 1: 2}}
BEFORE = {"map": ("a", "b", "c"), "sink": ("a", "b")}


@pytest.mark.parametrize(
    ("after", "keeps_state", "read"),
    [
        (BEFORE, True, {}),
        (BEFORE, False, {"a": 11, "b": 22, "c": 60}),
        ({**BEFORE, "map": ("a", "c", "c")}, True, {"c": 20}),
        ({**BEFORE, "map": ("a", "c", "c")}, False, {"a": 11, "b": 2, "c": 80}),
        # All state of `map` is dealt anew; that of `sink` stays.
        ({**BEFORE, "map": ("a", "b")}, True, {"a": 45, "b": 45}),
    ],
)
def test_a_subtask_that_stays_reads_nothing_if_its_state_is_there(after, keeps_state, read):
    assert state_read(BEFORE, after, SIZES, keeps_state=keeps_state) == read


CLUSTER = Cluster.model_validate(
    {
        "sites": [{"id": "lyon"}, {"id": "nice"}, {"id": "cloud", "tier": "cloud"}],
        "nodes": [
            {"id": f"pi-{s}", "site": s, "node_class": "pi", "cores": 1} for s in ("lyon", "nice")
        ],
        "task_managers": [
            {"id": s, "node": f"pi-{s}", "host": s, "slots": 1} for s in ("lyon", "nice")
        ],
        "links": [
            {"source": "cloud", "target": s, "bandwidth_bytes_per_s": rate, "both_ways": True}
            for s, rate in (("lyon", 1000), ("nice", 500))
        ],
        "checkpoint_storage": "cloud",
    }
)


def live(*names: str) -> SimpleNamespace:
    """A Flink with these TaskManagers registered."""
    found = {f"id-{name}": name for name in names}
    return SimpleNamespace(users_cluster=lambda _: (CLUSTER, found))


def test_the_slowest_link_tells_how_long_state_is_read():
    read = {"id-lyon": 3000, "id-nice": 1000}
    assert read_seconds(read, live("lyon", "nice"), CLUSTER) == pytest.approx(3.0)


def test_a_task_manager_that_was_lost_a_moment_ago_leaves_the_time_unknown():
    read = {"id-lyon": 3000, "id-nice": 1000}
    assert read_seconds(read, live("lyon"), CLUSTER) is None


def test_what_no_checkpoint_tells_is_unknown():
    sizes = {**SIZES, "map": {0: 10, 2: 60}}
    assert state_read(BEFORE, BEFORE, sizes, keeps_state=True) is None
