"""A stock Flink with the agent obeys: every subtask on its planned TaskManager."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.flink_releases import on_both

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

IDS = ("pi-1", "pi-2", "server-1", "server-2")
TWO_PER_HOST = "127.0.0.21"


def submitted(flink: live_flink.AgentCluster, name: str = "counting", *arguments: str) -> str:
    """Start a job that counts slowly and for long."""
    out = flink.cluster.scratch / f"out-{name}"
    out.mkdir(exist_ok=True)
    finish = flink.cluster.scratch / f"finish-{name}"
    # Two hours, unless it is cancelled.
    records = f"records={144 * 50_000}"
    common = [records, f"finish={finish}", f"out={out}", f"name={name}"]
    job_id: str = flink.submit("CountingJob", *common, *arguments)
    return job_id


def dealt(tasks: "list[str]", places: "tuple[str, ...]", start: int) -> dict[str, str]:
    """Deal tasks to places in turn."""
    turn = itertools.islice(itertools.cycle(places), start, None)
    return dict(zip(tasks, turn, strict=False))


def restarts_counted(flink: live_flink.AgentCluster, job: str) -> int:
    """Return what Flink counts; its answer to a first question may be empty."""
    path, found = f"/jobs/{job}/metrics", []

    def is_known() -> bool:
        found[:] = flink.rest.get(path, ["numRestarts"])
        return bool(found)

    flink.wait_until(is_known, "the metric numRestarts")
    return int(found[0]["value"])


@on_both
@pytest.mark.parametrize(
    "arguments", [(), ("chaining=false",), ("chaining=false", "sharing=false")]
)
def test_a_job_starts_moves_and_survives_as_planned(
    flink: live_flink.AgentCluster, arguments: tuple[str, ...]
) -> None:
    job = submitted(flink, "counting", *arguments)
    tasks = list(flink.wait_for_running(job))
    assert flink.wait_for_status(job, "unplanned")["applied_sha256"] is None

    first = dealt(tasks, IDS, 0)
    sha256 = flink.write_plan("counting", first)
    flink.wait_for_placement(job, first)
    status = flink.wait_for_status(job, "placed", sha256)
    assert (status["exact"], status["subtasks"], status["moves"]) == (len(tasks), len(tasks), 1)

    second = dealt(tasks, IDS, 1)
    flink.write_plan("counting", second)
    flink.wait_for_placement(job, second)
    # Moves are no failures: the restart strategy has not been asked.
    assert flink.rest.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
    assert restarts_counted(flink, job) == 0

    flink.cluster.kill("pi-1")
    waiting = flink.wait_for_status(job, "waiting")
    assert waiting["waiting_for"] == ["pi-1"]
    flink.cluster.start("pi-1")
    flink.wait_for_placement(job, second)


def test_a_job_is_placed_again_after_a_savepoint(flink: live_flink.AgentCluster) -> None:
    job = submitted(flink)
    places = dealt(list(flink.wait_for_running(job)), IDS, 2)
    flink.write_plan("counting", places)
    flink.wait_for_placement(job, places)
    savepoint = flink.rest.stop_with_savepoint(job, flink.cluster.scratch / "savepoints")
    flink.wait_until(lambda: flink.status(job) is None, "end of the job's status")
    out = flink.cluster.scratch / "out-counting"
    finish = flink.cluster.scratch / "finish-counting"
    again = flink.submit(
        "CountingJob",
        f"records={144 * 50_000}",
        f"finish={finish}",
        f"out={out}",
        savepoint=savepoint,
    )
    flink.wait_for_placement(again, places)
    assert flink.wait_for_status(again, "placed")["moves"] == 0


def test_a_restarted_jobmanager_keeps_the_last_good_plan(flink: live_flink.AgentCluster) -> None:
    job = submitted(flink)
    places = dealt(list(flink.wait_for_running(job)), IDS, 3)
    sha256 = flink.write_plan("counting", places)
    flink.wait_for_placement(job, places)

    flink.write_plan_file("counting.schedulercfg", b"garbage")
    status = flink.wait_for_status(job, "rejected")
    assert status["applied_sha256"] == sha256
    assert "line 1" in status["reasons"][0]

    flink.cluster.kill("jobmanager")
    flink.cluster.start("jobmanager")
    flink.wait_for_placement(job, places)
    assert flink.wait_for_status(job, "rejected")["applied_sha256"] == sha256


@on_both
def test_the_tasks_of_sql_are_known_by_name_and_by_id(flink: live_flink.AgentCluster) -> None:
    first = flink.submit("SqlJob")
    tasks = list(flink.wait_for_running(first))
    name = flink.rest.get(f"/jobs/{first}")["name"]
    ids = {each.task: each.vertex_id for each in flink.rest.subtasks(first)}
    assert any("[" in task for task in tasks), "the planner's node ids"
    flink.rest.cancel(first)
    flink.wait_until(lambda: flink.rest.state(first) == "CANCELED", "end of the job")

    # The names of the first submission, with node ids that the second does not have.
    places = dealt(tasks, IDS, 0)
    flink.write_plan_file(
        f"{encoded(name)}.schedulercfg",
        "".join(f"{task}; {place}\n" for task, place in places.items()).encode(),
    )
    second = flink.submit("SqlJob")
    flink.wait_for_running(second)
    by_id = {(each.vertex_id, each.index): each.task for each in flink.rest.subtasks(second)}
    assert set(by_id.values()).isdisjoint(tasks), "node ids grow"
    # The same program has the same vertex ids.
    assert {vertex for vertex, _ in by_id} == set(ids.values())
    renamed = {
        by_id[ids[task], int(task.rpartition("(")[2].partition("/")[0]) - 1]: place
        for task, place in places.items()
    }
    flink.wait_for_placement(second, renamed)


def encoded(name: str) -> str:
    """Encode a job's name for a file, as docs/flink-agent.md has it."""
    from edgeplace.adapters.flink.plans.folder import key

    return key(name)


@on_both
def test_regions_fail_over_to_their_places_and_others_run_on(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    fail = tmp_path / "fail"
    job = flink.submit("TwoPipelines", f"fail={fail}")
    tasks = list(flink.wait_for_running(job))
    places = dealt(tasks, IDS, 0)
    flink.write_plan(encoded(flink.rest.get(f"/jobs/{job}")["name"]), places)
    flink.wait_for_placement(job, places)
    flink.wait_for_checkpoint(job)
    before = {each.task: each.attempt for each in flink.rest.subtasks(job)}

    fail.touch()
    flink.wait_until(
        lambda: any(s.attempt > before[s.task] for s in flink.rest.subtasks(job)), "a fail-over"
    )
    fail.unlink(missing_ok=True)
    flink.wait_for_placement(job, places)
    after = {each.task: each.attempt for each in flink.rest.subtasks(job)}
    assert any(after[task] == before[task] for task in tasks), "not all regions were restarted"


def test_two_planned_jobs_and_one_without_a_plan(flink: live_flink.AgentCluster) -> None:
    vertices = ("Source: numbers -> filter", "count -> sink")
    tasks = [f"{vertex} ({i}/3)" for vertex in vertices for i in (1, 2, 3)]
    plans = {"one": dealt(tasks, IDS, 0), "two": dealt(tasks, IDS[2:], 0)}
    for name, places in plans.items():
        flink.write_plan(name, places)
    jobs = {name: submitted(flink, name) for name in ("one", "two", "three")}
    for name, places in plans.items():
        # From the start: no move is needed.
        flink.wait_for_placement(jobs[name], places)
        assert flink.wait_for_status(jobs[name], "placed")["moves"] == 0
    assert flink.wait_for_status(jobs["three"], "unplanned")["reasons"] == []
    assert len(flink.wait_for_running(jobs["three"])) == len(tasks)


BAD_PLANS = {
    "nobody.schedulercfg": "is not registered",
    "host": f"location '{TWO_PER_HOST}' means 2 TaskManagers",
    "too many": "pi-1 (127.0.0.11) has too few slots for the plan",
    "missing": "has no line",
    "parallelism": "has 4 in the lines above",
    "another job": "the job has no task",
    "twice": "has a line already",
}


@pytest.fixture
def placed(flink: live_flink.AgentCluster) -> Iterator[tuple[str, dict[str, str]]]:
    """A job in slots of its own that runs where its plan says."""
    job = submitted(flink, "counting", "chaining=false", "sharing=false")
    places = dealt(list(flink.wait_for_running(job)), IDS, 0)
    flink.write_plan("counting", places)
    flink.wait_for_placement(job, places)
    return job, places


def test_bad_plans_are_rejected_as_a_whole_and_nothing_moves(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    job, places = placed
    good = "".join(f"{task}; {place}\n" for task, place in places.items())
    first_line = good.splitlines()[0]
    task = first_line.partition(" (")[0]
    texts = {
        "nobody.schedulercfg": good.replace("; pi-1", "; pi-9"),
        "host": good.replace("; server-1", f"; {TWO_PER_HOST}"),
        "too many": "".join(f"{each}; pi-1\n" for each in places),
        "missing": good.replace(first_line + "\n", ""),
        "parallelism": good.replace(f"{task} (1/3)", f"{task} (1/4)"),
        "another job": good.replace(task, "somebody else's"),
        "twice": good + first_line + "\n",
    }
    before = {each.task: each.attempt for each in flink.rest.subtasks(job)}
    for kind, text in texts.items():
        sha256 = flink.write_plan_file("counting.schedulercfg", text.encode())
        status = flink.wait_for_status(job, "rejected", sha256)
        assert any(BAD_PLANS[kind] in reason for reason in status["reasons"]), (kind, status)
    assert flink.placement(job) == places
    assert {each.task: each.attempt for each in flink.rest.subtasks(job)} == before

    # The good plan again: nothing to move.
    status = flink.wait_for_status(job, "placed", flink.write_plan("counting", places))
    assert {each.task: each.attempt for each in flink.rest.subtasks(job)} == before


def test_a_plan_waits_for_a_task_manager_that_may_be_registering(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    # Flink's REST API names a TaskManager before its slots are known where plans are judged.
    job, places = placed
    plan = {**places, next(iter(places)): "pi-9"}
    sha256 = flink.write_plan("counting", plan)
    written = (flink.plans / "counting.schedulercfg").stat().st_mtime
    flink.wait_for_status(job, "rejected", sha256)
    assert (flink.plans / f"{job}.status.json").stat().st_mtime - written >= 3.0


def test_slots_of_other_jobs_are_not_there(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    job, places = placed
    other = submitted(flink, "other")
    tasks = list(flink.wait_for_running(other))
    free = 4 - sum(place == "pi-1" for place in places.values())
    assert 0 < free < 3
    sha256 = flink.write_plan("other", dict.fromkeys(tasks, "pi-1"))
    status = flink.wait_for_status(other, "rejected", sha256)
    assert "held by other jobs" in status["reasons"][0]
    assert flink.placement(job) == places


def test_a_job_without_checkpoints_is_not_moved_but_starts_as_planned(
    flink: live_flink.AgentCluster,
) -> None:
    job = submitted(flink, "counting", "checkpoint-ms=0")
    tasks = list(flink.wait_for_running(job))
    before = flink.placement(job)
    # Elsewhere than it is now.
    places = {task: "pi-1" if before[task] != "pi-1" else "pi-2" for task in tasks}
    flink.write_plan("counting", places)
    status = flink.wait_for_status(job, "pending")
    assert "checkpointing is off" in status["reasons"][0]
    assert flink.placement(job) == before

    flink.rest.cancel(job)
    flink.wait_until(lambda: flink.rest.state(job) == "CANCELED", "end of the job")
    again = submitted(flink, "counting", "checkpoint-ms=0")
    flink.wait_for_placement(again, places)


def test_a_plan_until_a_time_gives_way_to_the_plan_below(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    import time

    job, places = placed
    drained = {task: "server-1" if place == "pi-2" else place for task, place in places.items()}
    text = "".join(f"{task}; {place}\n" for task, place in drained.items())
    window_s = 25
    until = int(time.time()) + window_s + 1
    flink.write_plan_file(f"counting.until-{until}.schedulercfg", text.encode())
    flink.wait_for_placement(job, drained, seconds=window_s)
    flink.wait_for_placement(job, places, seconds=60)
    assert time.time() >= until


def test_a_plan_is_obeyed_where_no_copy_of_it_can_be_kept(flink: live_flink.AgentCluster) -> None:
    job = submitted(flink)
    places = dealt(list(flink.wait_for_running(job)), IDS, 1)
    # A folder in the way of the copy: permissions would not stop root.
    in_the_way = flink.plans / f"{job}.applied" / "x"
    in_the_way.mkdir(parents=True)
    sha256 = flink.write_plan("counting", places)
    flink.wait_for_placement(job, places)
    assert flink.wait_for_status(job, "placed", sha256)["applied_sha256"] == sha256
    in_the_way.rmdir()
    in_the_way.parent.rmdir()


def test_a_job_with_local_recovery_is_moved(flink: live_flink.AgentCluster) -> None:
    out = flink.cluster.scratch / "out-local"
    out.mkdir(exist_ok=True)
    # The option's names since 1.20, and before.
    local = {
        "execution.state-recovery.from-local": "true",
        "state.backend.local-recovery": "true",
    }
    arguments = ["records=7200000", f"finish={out}/never", f"out={out}", "name=local"]
    job = flink.submit("CountingJob", *arguments, options=local)
    tasks = list(flink.wait_for_running(job))
    for start in (1, 2):
        flink.wait_for_checkpoint(job)
        places = dealt(tasks, IDS, start)
        flink.write_plan("local", places)
        flink.wait_for_placement(job, places)


def test_a_rejected_plan_is_not_used_by_a_fail_over(
    flink: live_flink.AgentCluster, placed: tuple[str, dict[str, str]]
) -> None:
    job, places = placed
    bad = {task: "pi-9" if place == "pi-1" else place for task, place in places.items()}
    flink.wait_for_status(job, "rejected", flink.write_plan("counting", bad))
    flink.cluster.kill("pi-2")
    flink.cluster.start("pi-2")
    flink.wait_until(lambda: all(s.attempt > 1 for s in flink.rest.subtasks(job)), "the fail-over")
    flink.wait_for_placement(job, places)
    # The agent looks twice a second.
    flink.wait_until(lambda: flink.status(job)["exact"] == len(places), "the agent's word for it")
    assert flink.status(job)["state"] == "rejected"
