"""The first metrics of a log are not older than the log."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from edgeplace.adapters.flink.collect import wait_for_fetch
from edgeplace.adapters.flink.rest.client import FlinkClient
from tests.support.fake_flink import FakeFlink


class Lazy(FakeFlink):
    """A Flink that returns the result of the last fetch, which some TaskManagers answer late."""

    def __init__(self, late):
        super().__init__(None)
        self.late = dict(late)
        """TaskManager -> how many more requests get its old answer."""

    def _tm_metrics(self, tm_id):
        if tm_id == "pi-2":
            # It has left since the list was made.
            return None
        left = self.late.get(tm_id, 1)
        self.late[tm_id] = left - 1
        return self._values({"Status.JVM.CPU.Time": 7 if left > 0 else 8})


def waited(late, most_s):
    with (
        Lazy(late) as flink,
        FlinkClient(flink.url, timeout_s=1.0) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        old = wait_for_fetch(client, most_s, pool)
        return old, [path.split("/")[2] for path in flink.asked if "/metrics" in path]


def test_it_waits_for_the_slowest_and_asks_the_others_no_more():
    old, asked = waited({"pi-1": 4}, 60)
    assert old == ()
    assert asked.count("pi-1") == 5
    assert asked.count("pi-3") == asked.count("server") == 2
    assert asked.count("pi-2") == 1


@pytest.mark.parametrize("most_s", [0.0, 0.3])
def test_who_does_not_answer_in_the_time_is_named(most_s):
    old, asked = waited({"pi-1": 1000}, most_s)
    assert old == ("pi-1",)
    assert "server" in asked


def test_no_task_managers():
    with FakeFlink(None) as flink, FlinkClient(flink.url) as client, ThreadPoolExecutor(1) as pool:
        flink.task_managers.clear()
        assert wait_for_fetch(client, 60, pool) == ()
