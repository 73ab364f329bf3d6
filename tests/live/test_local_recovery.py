"""With local recovery, a move reads back the state of what moved, and nothing else."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
config = pytest.importorskip("testbed.flink.config", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)

KEYS = 8_000
COUNTS = 8
COUNTED = "counted-reads"
TASK_MANAGERS = tuple(
    local_cluster.TaskManagerSpec(name, host, slots=5, process_memory="780m")
    for name, host in (("pi-1", "127.0.0.11"), ("pi-2", "127.0.0.12"), ("server", "127.0.0.21"))
)


@pytest.fixture(scope="module")
def flink(
    home: Path, agent_jar: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[live_flink.AgentCluster]:
    storage = tmp_path_factory.mktemp("storage").as_uri().replace("file:", "counted:")
    settings = {
        **config.QUICK,
        "execution.checkpointing.dir": storage,
        "state.checkpoints.dir": storage,
        "state.backend.local-recovery": "true",
        "execution.state-recovery.from-local": "true",
        "execution.checkpointing.local-backup.enabled": "true",
        # Else small state comes with the deployment.
        "state.storage.fs.memory-threshold": "0",
        "execution.checkpointing.data-inline-threshold": "0",
    }
    with live_flink.AgentCluster(
        home, agent_jar, "", TASK_MANAGERS, settings, file_system="CountedFiles"
    ) as cluster:
        yield cluster


class Reads:
    """What each TaskManager has read from the checkpoint storage since the last call."""

    def __init__(self, flink: live_flink.AgentCluster) -> None:
        self._flink = flink
        self._seen: dict[str, int] = {}

    def of(self, task_manager: str) -> int:
        file = self._flink.cluster.scratch / task_manager / COUNTED
        total = (
            sum(int(x.split()[0]) for x in file.read_text().splitlines()) if file.exists() else 0
        )
        fresh = total - self._seen.get(task_manager, 0)
        self._seen[task_manager] = total
        return fresh

    def all(self) -> dict[str, int]:
        return {tm.name: self.of(tm.name) for tm in TASK_MANAGERS}


def state_of_counts(flink: live_flink.AgentCluster, job: str) -> list[int]:
    """Return the bytes of state of each subtask of `count` in the last checkpoint."""
    last = flink.rest.latest_checkpoint(job, "completed")
    (count,) = (v["id"] for v in flink.rest.get(f"/jobs/{job}")["vertices"] if v["name"] == "count")
    subtasks = flink.rest.get(f"/jobs/{job}/checkpoints/details/{last}/subtasks/{count}")
    return [s["state_size"] for s in subtasks["subtasks"]]


def move(flink: live_flink.AgentCluster, job: str, places: Mapping[str, str]) -> None:
    sha256 = flink.write_plan(job, places)
    flink.wait_for_placement(job, places)
    flink.wait_for_status(job, "placed", sha256)
    flink.wait_for_checkpoint(job)


def test_only_the_state_of_what_moved_is_read_back(flink: live_flink.AgentCluster) -> None:
    out = flink.cluster.scratch / "out"
    out.mkdir()
    job = flink.submit(
        "CountingJob",
        f"keys={KEYS}",
        "parallelism=2",
        f"count-parallelism={COUNTS}",
        f"records={2 * KEYS * 2 * 500}",
        "per-second=8000",
        f"finish={out}/never",
        f"out={out}",
        "chaining=false",
    )
    flink.wait_for_running(job)
    heads = ("Source: numbers", "filter")
    places = {f"{task} ({i}/2)": "pi-1" for task in heads for i in (1, 2)}
    tails = ("count", "sink")
    places |= {
        f"{task} ({i}/{COUNTS})": "pi-1" if i <= COUNTS // 2 else "pi-2"
        for task in tails
        for i in range(1, COUNTS + 1)
    }
    # All keys have been seen once the first ranges are through.
    flink.wait_until(lambda: min(state_of_counts(flink, job), default=0) > 0, "state")
    reads = Reads(flink)
    move(flink, job, places)
    small = sum(state_of_counts(flink, job)) // 20
    everything = reads.all()
    assert everything["pi-1"] > small
    assert everything["pi-2"] > small

    # One subtask of eight: its TaskManager reads its state, and the others stay below a 20th.
    one = {**places, f"count (3/{COUNTS})": "server"}
    move(flink, job, one)
    sizes = state_of_counts(flink, job)
    read = reads.all()
    assert read["server"] == pytest.approx(sizes[2], rel=0.1)
    assert max(read["pi-1"], read["pi-2"]) < small

    # Two change places: each finds a slot that another has left.
    two = {**one, f"count (5/{COUNTS})": "pi-1", f"count (1/{COUNTS})": "pi-2"}
    move(flink, job, two)
    sizes = state_of_counts(flink, job)
    read = reads.all()
    assert read["pi-1"] == pytest.approx(sizes[4], rel=0.1)
    assert read["pi-2"] == pytest.approx(sizes[0], rel=0.1)
    assert read["server"] < small

    # A change of parallelism leaves the state of the other tasks where it is. (A third source would
    # find no range of numbers left, and be FINISHED before anyone sees it run.)
    fewer = {task: place for task, place in two.items() if not task.startswith(heads)}
    fewer |= {f"{task} (1/1)": "pi-1" for task in heads}
    move(flink, job, fewer)
    assert max(reads.all().values()) < small
