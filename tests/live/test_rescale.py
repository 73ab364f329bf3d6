"""A plan with another parallelism: obeyed in place, refused with a reason, or taken back."""

import io
import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from tests.support.flink_releases import on_both

REASON = "the testbed is not in the wheel, and not beside these tests"
counting = pytest.importorskip("testbed.experiments.counting", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

LONGEST_SECONDS = 600
IDS = ("server-1", "server-2", "pi-1", "pi-2")
FAILS_AT = 5


def places(sources: int, counts: int, start: int = 0) -> dict[str, str]:
    """Deal the tasks of a counting job to TaskManagers: two and two are joined by FORWARD."""
    n = {"Source: numbers": sources, "filter": sources, "count": counts, "sink": counts}
    tasks = [f"{task} ({i}/{k})" for task, k in n.items() for i in range(1, k + 1)]
    slots = itertools.cycle(itertools.islice(itertools.cycle(IDS), start, start + len(IDS)))
    return dict(zip(tasks, slots, strict=False))


def parallelism(flink: live_flink.AgentCluster, job: str) -> dict[str, int]:
    return {v["name"]: v["parallelism"] for v in flink.rest.get(f"/jobs/{job}")["vertices"]}


def plan_text(planned: Mapping[str, str], top: str = "") -> bytes:
    return (top + "".join(f"{task}; {place}\n" for task, place in planned.items())).encode()


def rejected(flink: live_flink.AgentCluster, job: str, content: bytes) -> str:
    """Write a plan that is refused, and return why."""
    sha256 = flink.write_plan_file(f"{job}.schedulercfg", content)
    reasons: list[str] = flink.wait_for_status(job, "rejected", sha256)["reasons"]
    return "; ".join(reasons)


@on_both
def test_a_job_is_rescaled_in_place_and_no_number_is_lost_or_doubled(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    # Another test on this cluster has the folder of the default name.
    run = counting.CountingRun(flink, LONGEST_SECONDS, "rescaled-job", [f"fails-at={FAILS_AT}"])
    job = run.job_id
    flink.wait_for_running(job)
    flink.wait_for_checkpoint(job)
    assert flink.agent()["no_rescaling_because"] is None

    # From 3 to 6 and to other places at once, by hand.
    six = places(3, 6)
    sha256 = flink.write_plan_file(f"{job}.schedulercfg", plan_text(six, "# epoch: 17\n"))
    flink.wait_for_placement(job, six)
    status = flink.wait_for_status(job, "placed", sha256)
    assert (status["exact"], status["subtasks"], status["moves"]) == (18, 18, 1)
    assert flink.rest.latest_checkpoint(job, "restored") is not None
    flink.wait_for_checkpoint(job)

    # The interval changes without a move.
    sha256 = flink.write_plan_file(
        f"{job}.schedulercfg", plan_text(six, "# epoch: 17\n# checkpoint-interval-ms: 700\n")
    )
    assert flink.wait_for_status(job, "placed", sha256)["moves"] == 1
    flink.wait_for_checkpoint(job)
    assert flink.rest.get(f"/jobs/{job}/checkpoints/config")["interval"] == 700

    # What cannot be is refused before anything is cancelled.
    before = flink.rest.subtasks(job)
    forward = plan_text({t: p for t, p in six.items() if "sink" not in t} | {"sink (1/1)": "pi-1"})
    assert "joined by FORWARD" in rejected(flink, job, forward)
    many = {f"{task} ({i}/129)": "pi-1" for task in ("count", "sink") for i in range(1, 130)}
    assert "128 key groups" in rejected(flink, job, plan_text(places(3, 0) | many))
    crowd = dict.fromkeys(places(3, 4), "pi-1")
    assert "has too few slots for the plan" in rejected(flink, job, plan_text(crowd))
    old = plan_text(places(3, 3), "# epoch: 16\n")
    assert "epoch is 16, and a plan of epoch 17" in rejected(flink, job, old)
    assert flink.rest.subtasks(job) == before

    # What fails after the cancel goes back.
    fails = plan_text(places(3, FAILS_AT, 1))
    assert "went back to its former one" in rejected(flink, job, fails)
    flink.wait_for_placement(job, six)
    flink.wait_for_checkpoint(job)

    # From 6 to 3, by command.
    three = places(3, 3, 2)
    path = tmp_path / "schedulercfg"
    path.write_bytes(plan_text(three))
    out, err = io.StringIO(), io.StringIO()
    where = ("--jobmanager", flink.rest.url, "--job", job)
    assert main(["flink", "apply", str(path), *where], Console(out, err)) is ExitStatus.OK, (
        err.getvalue()
    )
    assert flink.placement(job) == three
    assert "a checkpoint has completed there" in out.getvalue()

    # The parallelism of the plan outlives TaskManagers and JobManagers.
    flink.cluster.kill("pi-1")
    flink.wait_for_status(job, "waiting")
    flink.cluster.start("pi-1")
    flink.wait_for_placement(job, three)
    flink.wait_for_checkpoint(job)
    flink.cluster.kill("jobmanager")
    flink.cluster.start("jobmanager")
    flink.wait_for_placement(job, three)
    flink.wait_for_checkpoint(job)

    assert run.finish() == []


def test_two_jobs_that_are_rescaled_at_once_do_not_take_slots_from_each_other(
    flink: live_flink.AgentCluster,
) -> None:
    homes = {"first": "server-2", "second": "pi-1"}
    runs = []
    for name, home in homes.items():
        flink.write_plan(name, dict.fromkeys(places(3, 3), home))
        runs.append(counting.CountingRun(flink, LONGEST_SECONDS, name, ["sharing=true"]))
    for run in runs:
        flink.wait_for_running(run.job_id)
        flink.wait_for_checkpoint(run.job_id)
    # server-1 has eight slots, and they want five each: one of them has to stay.
    crowd = dict.fromkeys(places(3, 5), "server-1")
    sha256 = {run.job_id: flink.write_plan(run.job_id, crowd) for run in runs}

    def decided() -> list[str]:
        said = [(job, flink.status(job)) for job in sha256]
        return [
            status["state"]
            for job, status in said
            if status is not None
            and status["plan_sha256"] == sha256[job]
            and status["state"] in ("placed", "rejected")
        ]

    flink.wait_until(lambda: len(decided()) == len(runs), "an end of both moves")
    assert "rejected" in decided()
    for run in runs:
        flink.wait_for_running(run.job_id)
        status = flink.status(run.job_id)
        moved = status["state"] == "placed"
        five = {"Source: numbers": 3, "filter": 3, "count": 5, "sink": 5}
        former = dict.fromkeys(five, counting.PARALLELISM)
        assert parallelism(flink, run.job_id) == (five if moved else former), status
        flink.wait_for_checkpoint(run.job_id)

    # With room for both, both move.
    wanted = [dict.fromkeys(places(2, 4), home) for home in homes.values()]
    for run, planned in zip(runs, wanted, strict=True):
        flink.write_plan(run.job_id, planned)
    for run, planned in zip(runs, wanted, strict=True):
        flink.wait_for_placement(run.job_id, planned)
    for run in runs:
        assert run.finish() == []


def test_a_plan_that_comes_while_the_jobmanager_is_down_has_a_way_back(
    flink: live_flink.AgentCluster,
) -> None:
    # The job has run without a plan, so no copy of one is kept.
    run = counting.CountingRun(flink, LONGEST_SECONDS, "way-back", [f"fails-at={FAILS_AT}"])
    flink.wait_for_running(run.job_id)
    flink.wait_for_checkpoint(run.job_id)
    flink.cluster.kill("jobmanager")
    fails = plan_text(places(3, FAILS_AT))
    sha256 = flink.write_plan_file(f"{run.job_id}.schedulercfg", fails)
    flink.cluster.start("jobmanager")
    flink.cluster.wait_for_task_managers()
    reasons = flink.wait_for_status(run.job_id, "rejected", sha256, 180)["reasons"]
    assert "went back to its former one" in "; ".join(reasons)
    flink.wait_for_running(run.job_id)
    assert set(parallelism(flink, run.job_id).values()) == {counting.PARALLELISM}
    flink.wait_for_checkpoint(run.job_id)
    assert run.finish() == []


def test_a_job_starts_in_the_parallelism_of_its_plan_and_ends_in_the_middle_of_a_change(
    flink: live_flink.AgentCluster,
) -> None:
    four = places(2, 4)
    flink.write_plan("counting", four)
    first = submitted(flink)
    flink.wait_for_placement(first, four)
    flink.wait_for_checkpoint(first)
    savepoint = flink.rest.stop_with_savepoint(first, flink.cluster.scratch / "rescaled")

    two = places(1, 2)
    flink.write_plan("counting", two)
    second = submitted(flink, savepoint)
    flink.wait_for_placement(second, two)
    flink.wait_for_checkpoint(second)

    sha256 = flink.write_plan("counting", four)
    flink.wait_for_status(second, "moving", sha256)
    flink.rest.cancel(second)
    flink.wait_until(lambda: flink.rest.state(second) == "CANCELED", "end of the job")


def test_nothing_is_kept_of_a_rescaled_job_that_has_ended(flink: live_flink.AgentCluster) -> None:
    job = submitted(flink)
    flink.wait_for_running(job)
    two = places(1, 2)
    flink.write_plan(job, two)
    flink.wait_for_placement(job, two)
    flink.rest.cancel(job)
    flink.wait_until(lambda: flink.rest.state(job) == "CANCELED", "end of the job")
    # Else a JobManager of Flink 2.3.0 that is started again ends at once.
    flink.wait_until(flink.cluster.nothing_to_clean_up, "clean-up")


def submitted(flink: live_flink.AgentCluster, savepoint: str | None = None) -> str:
    out = flink.cluster.scratch / "out-rescaled"
    out.mkdir(exist_ok=True)
    job: str = flink.submit(
        "CountingJob",
        f"records={144 * 50_000}",
        f"finish={out}/never",
        f"out={out}",
        "chaining=false",
        savepoint=savepoint,
    )
    return job
