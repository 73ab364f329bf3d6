"""Each kind of state is redistributed, and whatever comes in the middle, each number counts once.

Each change ends with the job running as planned, or as before and with a reason.
"""

import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
import requests

from tests.support.flink_releases import on_both

REASON = "the testbed is not in the wheel, and not beside these tests"
kinds = pytest.importorskip("testbed.experiments.kinds_of_state", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)

MANY = 400_000
PACE = ("per-second=200",)
"""With three sources, MANY last for eleven minutes unless a test says that the rest may come."""
IDS = ("server-1", "server-2", "pi-1", "pi-2")
TRIES = 5


def places(start: int = 0, **n: int) -> dict[str, str]:
    """Deal the tasks to TaskManagers."""
    found = dict.fromkeys(kinds.TASKS, kinds.PARALLELISM) | {"Source: rules": 1, "sink": 1}
    found["Source: numbers"] = n.get("numbers", kinds.PARALLELISM)
    found |= dict.fromkeys(kinds.JOINED, n.get("listed", kinds.PARALLELISM))
    found |= {task: n.get(task, kinds.PARALLELISM) for task in ("keyed", "odd")}
    tasks = [f"{task} ({i}/{k})" for task, k in found.items() for i in range(1, k + 1)]
    where = itertools.cycle(itertools.islice(itertools.cycle(IDS), start, start + len(IDS)))
    return dict(zip(tasks, where, strict=False))


FOUR = places(1, numbers=3, listed=5, keyed=4, odd=3)
THREE = places(3, numbers=1, listed=2, keyed=3, odd=4)
ONE = places(2, numbers=1, listed=2, keyed=1, odd=5)


def text(planned: Mapping[str, str]) -> bytes:
    return "".join(f"{task}; {place}\n" for task, place in planned.items()).encode()


def write(flink: live_flink.AgentCluster, job: str, planned: Mapping[str, str]) -> str:
    sha256: str = flink.write_plan_file(f"{job}.schedulercfg", text(planned))
    return sha256


def wait_for_start(flink: live_flink.AgentCluster, job: str) -> None:
    """Wait until the bounded source is FINISHED, all others run, and a checkpoint knows it."""

    def started() -> bool:
        states = {s.vertex: s.state for s in flink.rest.subtasks(job)}
        return states.pop("Source: rules", "") == "FINISHED" and set(states.values()) == {"RUNNING"}

    flink.wait_until(started, "the bounded source to finish, and the others to run")
    flink.wait_for_checkpoint(job)


def wait_for_rest(flink: live_flink.AgentCluster, job: str, sha256: str) -> str:
    """Wait until a plan has been followed or rejected, and return which."""
    ends = ("placed", "rejected")
    found: dict = {}

    def ended() -> bool:
        found.update(flink.status(job) or {})
        up = {s.state for s in flink.rest.subtasks(job)} <= {"RUNNING", "FINISHED"}
        return found.get("plan_sha256") == sha256 and found["state"] in ends and up

    flink.wait_until(ended, f"an end of the change, not {found}")
    assert found["state"] == "placed" or found["reasons"]
    return str(found["state"])


@pytest.fixture
def run(flink: live_flink.AgentCluster, request: pytest.FixtureRequest) -> Iterator[kinds.KindsRun]:
    name = request.function.__name__
    started = kinds.KindsRun(flink, MANY, name, PACE)
    wait_for_start(flink, started.job_id)
    yield started
    assert started.finish() == []


@on_both
def test_all_kinds_of_state_are_redistributed(
    flink: live_flink.AgentCluster, run: kinds.KindsRun
) -> None:
    job = run.job_id
    for planned in (FOUR, ONE, FOUR):
        status = flink.wait_for_status(job, "placed", write(flink, job, planned))
        assert status["exact"] == status["subtasks"] == len(planned)
        flink.wait_for_checkpoint(job)

    # What cannot be leaves the job as it is.
    wait_for_start(flink, job)  # The bounded source finishes again.
    before = flink.rest.subtasks(job)
    many = write(flink, job, places(keyed=kinds.KEY_GROUPS + 1))
    (reason, *_) = flink.wait_for_status(job, "rejected", many)["reasons"]
    assert "has 4 key groups, its max parallelism" in reason
    none = {"keyed (1/0)": "pi-1"} | {t: p for t, p in FOUR.items() if "keyed" not in t}
    (reason, *_) = flink.wait_for_status(job, "rejected", write(flink, job, none))["reasons"]
    assert "subtasks are numbered 1 to n" in reason
    assert flink.rest.subtasks(job) == before


def test_a_subtask_that_fails_in_the_middle_of_a_change(
    flink: live_flink.AgentCluster, run: kinds.KindsRun
) -> None:
    job = run.job_id
    for planned, seconds in ((FOUR, 0.3), (ONE, 0.6)):
        sha256 = write(flink, job, planned)
        time.sleep(seconds)
        flink.cluster.kill("pi-1")
        flink.cluster.start("pi-1")
        wait_for_rest(flink, job, sha256)
        flink.wait_for_checkpoint(job)
        # The next plan finds pi-1 there.
        flink.cluster.wait_for_task_managers()


def test_two_changes_at_once(flink: live_flink.AgentCluster, run: kinds.KindsRun) -> None:
    job = run.job_id
    for seconds in (0.0, 0.4, 0.8):
        write(flink, job, FOUR)
        time.sleep(seconds)
        assert wait_for_rest(flink, job, write(flink, job, ONE)) == "placed"
        flink.wait_for_checkpoint(job)


def test_a_jobmanager_that_runs_out_of_memory_in_the_middle_of_a_change(
    flink: live_flink.AgentCluster, run: kinds.KindsRun
) -> None:
    jar_id = flink.upload("FillHeap")  # Before the change: a busy JobManager takes no upload.
    sha256 = write(flink, run.job_id, FOUR)
    with pytest.raises(requests.RequestException) as answer:
        flink.rest.run(jar_id, ["seconds=8"])
    log = flink.cluster.scratch / "jobmanager" / "console.log"
    flink.wait_until(
        lambda: "OutOfMemoryError" in log.read_text(),
        f"the JobManager to be out of memory ({answer.value!r})",
        seconds=240,  # The last bytes of a heap take as many collections as there are objects.
    )
    for _ in range(TRIES):
        # Flink ends a JobManager whose own threads found no memory, sooner or later or never.
        with suppress(errors.TestbedError):
            flink.cluster.start_missing()
            wait_for_rest(flink, run.job_id, sha256)
            flink.wait_for_checkpoint(run.job_id)
            return
    pytest.fail(f"neither the former nor the new job runs: {flink.status(run.job_id)}")


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.0])
def test_a_job_that_finishes_in_the_middle_of_a_change(
    flink: live_flink.AgentCluster, seconds: float
) -> None:
    run = kinds.KindsRun(flink, 20_000, f"finishes-{seconds}", ["per-second=1000"])
    wait_for_start(flink, run.job_id)
    run.hurry()
    time.sleep(seconds)
    write(flink, run.job_id, FOUR)
    assert run.finish() == []


def test_unaligned_checkpoints_with_records_on_the_way(flink: live_flink.AgentCluster) -> None:
    run = kinds.KindsRun(
        flink,
        MANY // 2,
        "unaligned",
        # The exchange in front of `keyed` fills up. Those above it, which are pointwise and so
        # stay aligned, are nearly empty: else a checkpoint would take minutes.
        ["per-second=2000", "pause-us=1000", "unaligned=true"],
    )
    job = run.job_id
    wait_for_start(flink, job)
    on_the_way = 0
    for planned in (FOUR, THREE, FOUR):
        # Flink fails some of these checkpoints: nothing moves then, and the plan can be written
        # again.
        ends = (wait_for_rest(flink, job, write(flink, job, planned)) for _ in range(TRIES))
        assert "placed" in ends, flink.status(job)
        flink.wait_for_checkpoint(job)
        summary = flink.rest.get(f"/jobs/{job}/checkpoints")["summary"]
        on_the_way = max(on_the_way, summary["persisted_data"]["max"])
    assert on_the_way > 0
    assert run.finish() == []
