"""`edgeplace flink apply | drain | doctor` against a real Flink with the agent."""

import io
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeplace.case.told import with_names
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.model import JobGraph, Plan, read, write
from tests.support.flink_releases import on_both

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)


class Ran:
    """What a command has said and returned."""

    def __init__(self, flink: live_flink.AgentCluster, *arguments: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        where = ["--jobmanager", flink.rest.url]
        self.status = main(["flink", *arguments, *where], Console(out, err))
        self.out, self.err = out.getvalue(), err.getvalue()


def submitted(flink: live_flink.AgentCluster, *arguments: str, **options: str) -> str:
    """A job that stock Flink has placed, and that bears failing checkpoints."""
    out = flink.cluster.scratch / "out-commands"
    out.mkdir(exist_ok=True)
    checkpointing = {"tolerable-failed-checkpoints": "1000", **options}
    job_id: str = flink.submit(
        "CountingJob",
        "records=7200000",
        f"finish={out}/never",
        f"out={out}",
        "chaining=false",
        *arguments,
        options={f"execution.checkpointing.{key}": value for key, value in checkpointing.items()},
    )
    flink.wait_for_running(job_id)
    flink.wait_for_checkpoint(job_id)
    return job_id


@pytest.fixture
def job(flink: live_flink.AgentCluster) -> str:
    return submitted(flink)


def plan_file(folder: Path, places: dict[str, str]) -> str:
    path = folder / "schedulercfg"
    path.write_text("".join(f"{task}; {place}\n" for task, place in places.items()))
    return str(path)


def other_places(flink: live_flink.AgentCluster, job: str) -> dict[str, str]:
    """Everything where it is not now, except on pi-2."""
    now = flink.placement(job)
    return {t: "server-1" if place != "server-1" else "server-2" for t, place in now.items()}


def plan_of_query(flink: live_flink.AgentCluster, job: str, file: Path) -> Plan:
    """A plan that moves all but one subtask of a query, as `solve` would write it."""
    found = Ran(flink, "discover", "--job", job, "--job-out", str(file))
    assert found.status is ExitStatus.OK, found.err
    graph = read(file, JobGraph)
    where = {(each.vertex_id, each.index): each.task for each in flink.rest.subtasks(job)}
    places = other_places(flink, job)
    moved = {
        op.id: tuple(places[where[op.id, i]] for i in range(op.parallelism))
        for op in graph.operators
    }
    return with_names(Plan(jobs={graph.name: moved}), [graph])


def test_the_plan_of_another_query_with_the_same_ids_is_refused(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    """Flink makes a JobVertexID of the place in the job graph: the number of readings, and the
    lowest one, are at the same place.
    """
    interval = {"execution.checkpointing.interval": "1 s"}
    number = flink.submit("SqlJob", options=interval)
    flink.wait_for_running(number)
    of_number = plan_of_query(flink, number, tmp_path / "number.yaml")
    write(of_number, tmp_path / "number-plan.yaml")
    ids = {each.vertex_id for each in flink.rest.subtasks(number)}
    flink.rest.cancel(number)
    flink.wait_until(lambda: flink.rest.state(number) == "CANCELED", "end of the job")

    lowest = flink.submit("SqlJob", "lowest=true", options=interval)
    flink.wait_for_running(lowest)
    assert {each.vertex_id for each in flink.rest.subtasks(lowest)} == ids
    flink.wait_for_checkpoint(lowest)
    before = flink.placement(lowest)
    refused = Ran(flink, "apply", str(tmp_path / "number-plan.yaml"))
    assert refused.status is ExitStatus.INVALID_INPUT
    assert "was made for other operators than job 'sql' has under the same ids" in refused.err
    assert "GroupAggregate" in refused.err
    assert "Rank" in refused.err
    assert flink.placement(lowest) == before
    assert not list(flink.plans.glob("*.schedulercfg"))

    write(plan_of_query(flink, lowest, tmp_path / "lowest.yaml"), tmp_path / "lowest-plan.yaml")
    done = Ran(flink, "apply", str(tmp_path / "lowest-plan.yaml"))
    assert done.status is ExitStatus.OK, done.err
    assert flink.placement(lowest) != before


@on_both
def test_apply_moves_a_job_and_then_has_nothing_to_do(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    places = other_places(flink, job)
    plan = plan_file(tmp_path, places)
    before = flink.placement(job)

    dry = Ran(flink, "apply", plan, "--dry-run")
    assert dry.status is ExitStatus.OK, dry.err
    assert flink.placement(job) == before
    assert not list(flink.plans.glob("*.schedulercfg"))

    done = Ran(flink, "apply", plan)
    assert done.status is ExitStatus.OK, done.out + done.err
    assert flink.placement(job) == places

    again = Ran(flink, "apply", plan, "--json")
    assert again.status is ExitStatus.OK
    assert json.loads(again.out)["end"] == "unchanged"


def test_apply_refuses_what_cannot_be_and_nothing_moves(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    before = flink.placement(job)
    too_many = plan_file(tmp_path, dict.fromkeys(before, "pi-1") | {next(iter(before)): "pi-9"})
    refused = Ran(flink, "apply", too_many)
    assert refused.status in (ExitStatus.INVALID_INPUT, ExitStatus.NOT_APPLIED)
    assert "pi-9" in refused.out + refused.err
    limited = Ran(flink, "apply", plan_file(tmp_path, other_places(flink, job)), "--max-moves", "1")
    assert limited.status is ExitStatus.NOT_APPLIED
    assert flink.placement(job) == before
    assert not list(flink.plans.glob("*.schedulercfg"))


@contextmanager
def checkpoints_fail(flink: live_flink.AgentCluster, job: str) -> Iterator[None]:
    """New checkpoints cannot be written, old ones can be read; also for root."""
    folder = flink.cluster.scratch / "checkpoints" / job
    fixed = subprocess.run(["/usr/bin/chattr", "+i", str(folder)], capture_output=True, text=True)
    if fixed.returncode:
        pytest.skip(f"chattr +i is not possible here: {fixed.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["/usr/bin/chattr", "-i", str(folder)], check=True)


@pytest.fixture
def unwritable_checkpoints(flink: live_flink.AgentCluster, job: str) -> Iterator[None]:
    with checkpoints_fail(flink, job):
        yield


def test_the_way_back_is_open_even_without_checkpoints(
    flink: live_flink.AgentCluster, job: str
) -> None:
    before = flink.placement(job)
    after = other_places(flink, job)
    flink.write_plan("counting", after)
    flink.wait_for_placement(job, after)
    flink.wait_for_checkpoint(job)
    with checkpoints_fail(flink, job):
        # Stock Flink may have put all of it on one TaskManager, and back is no third place.
        third = dict.fromkeys(after, "pi-1" if "pi-2" in before.values() else "pi-2")
        status = flink.wait_for_status(job, "rejected", flink.write_plan("counting", third))
        assert "the checkpoint before the move failed" in status["reasons"][0]
        assert flink.placement(job) == after
        flink.write_plan("counting", before)
        flink.wait_for_placement(job, before)


def test_no_checkpoint_no_move(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path, unwritable_checkpoints: None
) -> None:
    before = flink.placement(job)
    attempts = {s.task: s.attempt for s in flink.rest.subtasks(job)}
    refused = Ran(flink, "apply", plan_file(tmp_path, other_places(flink, job)), "--timeout", "20")
    assert refused.status is ExitStatus.NOT_APPLIED, refused.out + refused.err
    assert "checkpoint" in refused.out + refused.err
    assert flink.placement(job) == before
    assert {s.task: s.attempt for s in flink.rest.subtasks(job)} == attempts
    assert not list(flink.plans.glob("*.schedulercfg"))


def test_drain_empties_a_machine_for_a_while(flink: live_flink.AgentCluster, job: str) -> None:
    before = flink.placement(job)
    victim = before[next(iter(before))]
    drained = Ran(flink, "drain", victim, "--for", "1h")
    assert drained.status is ExitStatus.OK, drained.out + drained.err
    assert victim not in flink.placement(job).values()
    stayed = {task for task, place in before.items() if place != victim}
    assert all(flink.placement(job)[task] == before[task] for task in stayed)

    back = Ran(flink, "drain", victim, "--undo")
    assert back.status is ExitStatus.OK, back.out + back.err
    assert flink.placement(job) == before


def test_a_drain_ends_by_itself(flink: live_flink.AgentCluster, job: str) -> None:
    before = flink.placement(job)
    victim = before[next(iter(before))]
    drained = Ran(flink, "drain", victim, "--for", "20s", "--timeout", "20")
    assert drained.status is ExitStatus.OK, drained.out + drained.err
    assert victim not in flink.placement(job).values()
    flink.wait_for_placement(job, before)


def test_a_job_that_waits_for_a_lost_machine_gets_another_plan(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    tasks = flink.placement(job)
    there = Ran(flink, "apply", plan_file(tmp_path, dict.fromkeys(tasks, "pi-2")))
    assert there.status is ExitStatus.OK, there.out + there.err
    flink.cluster.kill("pi-2")
    flink.wait_for_status(job, "waiting")
    wanted = dict.fromkeys(tasks, "pi-1")
    moved = Ran(flink, "apply", plan_file(tmp_path, wanted))
    assert moved.status is ExitStatus.OK, moved.out + moved.err
    assert flink.placement(job) == wanted


def test_a_job_whose_checkpoints_fail_at_its_new_place_goes_back(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    # Flink draws the time to the first checkpoint after a start between the pause and the interval.
    job = submitted(flink, "checkpoint-ms=5000", **{"min-pause": "5s"})
    before = flink.placement(job)
    with checkpoints_fail(flink, job):
        pass  # Skips where that is not possible.
    moved_back = threading.Event()

    def spoil() -> None:
        flink.wait_for_status(job, "moving")
        # From the redeployment on, not from its end: the checkpoint before it must succeed.
        flink.wait_until(lambda: flink.status(job)["moves"] == 1, "the redeployment")
        with checkpoints_fail(flink, job):
            flink.wait_until(lambda: flink.status(job)["moves"] == 2, "the way back")
        moved_back.set()

    plan = plan_file(tmp_path, other_places(flink, job))
    spoiler = threading.Thread(target=spoil)
    spoiler.start()
    ran = Ran(flink, "apply", plan, "--timeout", "20")
    spoiler.join()
    assert moved_back.is_set()
    assert ran.status is ExitStatus.NOT_APPLIED, ran.out + ran.err
    assert "checkpoints fail at the new places" in ran.err
    assert flink.placement(job) == before


@on_both
def test_doctor_sees_the_agent_and_what_hinders(flink: live_flink.AgentCluster, job: str) -> None:
    well = Ran(flink, "doctor", "--json")
    findings = json.loads(well.out)["findings"]
    assert well.status is ExitStatus.OK, well.out
    assert any("is alive" in each["what"] for each in findings)

    flink.write_plan_file("counting.schedulercfg", b"garbage")
    flink.wait_for_status(job, "rejected")
    ill = Ran(flink, "doctor")
    assert ill.status is ExitStatus.HINDERED
    assert "line 1" in ill.out


def test_apply_goes_back_when_the_jobmanager_dies_for_good(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    """REST is down from the middle on: no success is claimed."""
    plan = plan_file(tmp_path, other_places(flink, job))
    written = threading.Event()

    def kill_when_written() -> None:
        while not list(flink.plans.glob("counting.schedulercfg")):
            time.sleep(0.01)
        written.set()

    watch = threading.Thread(target=kill_when_written)
    watch.start()
    killer = threading.Timer(0.0, lambda: (written.wait(60), flink.cluster.kill("jobmanager")))
    killer.start()
    ran = Ran(flink, "apply", plan, "--timeout", "8")
    killer.join()
    watch.join()
    assert ran.status is ExitStatus.UNREACHABLE, ran.out + ran.err


def test_a_job_with_a_finished_source_is_moved_and_drained(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    job = flink.submit("FinishedSource")
    flink.wait_until(
        lambda: sorted({s.state for s in flink.rest.subtasks(job)}) == ["FINISHED", "RUNNING"],
        "the end of one source",
    )
    flink.wait_for_checkpoint(job)

    def everywhere() -> dict[str, str]:
        return {s.task: s.task_manager for s in flink.rest.subtasks(job)}

    wanted = dict.fromkeys(everywhere(), "pi-1")
    moved = Ran(flink, "apply", plan_file(tmp_path, wanted))
    assert moved.status is ExitStatus.OK, moved.out + moved.err
    flink.wait_until(lambda: everywhere() == wanted, "every subtask at its place")

    drained = Ran(flink, "drain", "pi-1", "--for", "1h")
    assert drained.status is ExitStatus.OK, drained.out + drained.err
    assert "pi-1" not in everywhere().values()
    back = Ran(flink, "drain", "pi-1", "--undo")
    assert back.status is ExitStatus.OK, back.out + back.err
    assert everywhere() == wanted
    well = Ran(flink, "doctor")
    assert well.status is ExitStatus.OK, well.out


def test_a_schedulercfg_finds_its_job_by_its_ids(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    other = flink.submit("FinishedSource")
    flink.wait_until(lambda: flink.rest.state(other) == "RUNNING", "the other job")
    places = {
        f"{s.vertex_id} ({s.index + 1}/{s.parallelism})": "server-1"
        for s in flink.rest.subtasks(job)
    }
    done = Ran(flink, "apply", plan_file(tmp_path, places))
    assert done.status is ExitStatus.OK, done.out + done.err
    assert set(flink.placement(job).values()) == {"server-1"}
    assert flink.status(other)["moves"] == 0
