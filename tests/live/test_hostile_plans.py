"""Hostile plan files in the folder of a real JobManager: it says why, and no job feels them."""

from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
hostile = pytest.importorskip("testbed.experiments.hostile_plans", reason=REASON)

NAME = "counting"


@pytest.fixture
def placed(flink: live_flink.AgentCluster) -> tuple[str, dict[str, str]]:
    """A job that runs where its plan says."""
    out = flink.cluster.scratch / "out-hostile"
    out.mkdir(exist_ok=True)
    arguments = [f"records={144 * 50_000}", f"finish={out}/never", f"out={out}", f"name={NAME}"]
    job = flink.submit("CountingJob", *arguments)
    tasks = list(flink.wait_for_running(job))
    places = dict(zip(tasks, ("pi-1", "pi-2", "server-1", "server-2", "pi-1", "pi-2"), strict=True))
    flink.write_plan(NAME, places)
    flink.wait_for_placement(job, places)
    return job, places


def attempts(flink: live_flink.AgentCluster, job: str) -> dict[str, int]:
    return {each.task: each.attempt for each in flink.rest.subtasks(job)}


def test_hostile_texts_are_rejected_and_nothing_moves(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    job, places = placed
    before = attempts(flink, job)
    for kind, text in hostile.hostile_texts(places, "127.0.0.21").items():
        sha256 = flink.write_plan_file(f"{NAME}.schedulercfg", text.content)
        # What is too large is not read, and has no digest.
        is_read = "a plan of this job has" not in text.says
        flink.wait_until(
            lambda text=text: any(
                text.says in reason for reason in (flink.status(job) or {})["reasons"]
            ),
            f"a word on {kind}",
        )
        status = flink.wait_for_status(job, "rejected", sha256 if is_read else None)
        assert hostile.is_quiet(status["reasons"]), (kind, status)
    assert_unmoved(flink, job, places, before)


def test_hostile_files_are_named_and_not_opened(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    job, places = placed
    before = attempts(flink, job)
    path = flink.plans / f"{NAME}.schedulercfg"
    path.unlink()
    for i, (kind, file) in enumerate(hostile.hostile_files().items()):
        scratch = tmp_path / str(i)
        scratch.mkdir()
        try:
            file.make(path, scratch)
        except PermissionError as e:
            print(f"left out: {kind} cannot be made here: {e}")
            continue
        flink.wait_until(
            lambda file=file: any(
                file.says in reason for reason in (flink.status(job) or {})["reasons"]
            ),
            f"a word on {kind}",
        )
        status = flink.wait_for_status(job, "rejected")
        assert hostile.is_quiet(status["reasons"]), (kind, status)
        hostile.remove_hostile_file(path)
        # Else the next of the same kind could not be told from this one.
        flink.wait_for_status(job, "placed")
    assert_unmoved(flink, job, places, before)


def assert_unmoved(
    flink: live_flink.AgentCluster, job: str, places: dict[str, str], before: dict[str, int]
) -> None:
    assert flink.placement(job) == places
    assert attempts(flink, job) == before
    assert hostile.SECRET not in flink.cluster.log_end("jobmanager", 10**6)


def test_a_plan_that_changes_all_the_time_is_damped_and_the_last_one_wins(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    job, places = placed
    tasks = list(places)
    written = 0

    def keep_writing() -> bool:
        nonlocal written
        written += 1
        flink.write_plan(NAME, dict.fromkeys(tasks, ("pi-1", "pi-2")[written % 2]))
        status = flink.status(job)
        return status is not None and status["moves"] >= 3

    moves = (flink.status(job) or {})["moves"]
    flink.wait_until(keep_writing, "two more moves")
    # Each move is five seconds after the one before; a plan is written five times a second.
    assert written > 15 * (3 - moves)
    last = dict.fromkeys(tasks, "server-1")
    flink.write_plan(NAME, last)
    flink.wait_for_placement(job, last)
