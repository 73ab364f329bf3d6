"""`flink apply` of a plan of several jobs."""

import json

import pytest

from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_job import FakeJob, FakeVertex
from tests.support.flink_case import GOAL, MAP, SINK, SRC, START, files

X = f"{9:032x}"
ON_SERVER = {SRC: ("server",) * 2, MAP: ("server",) * 2, SINK: ("server",)}


@pytest.fixture
def other(flink):
    """A job of one task, which runs beside the first."""
    job = FakeJob("c" * 32, "other", [FakeVertex(X, "x", ["pi-3"])])
    flink.submit(job)
    return job


@pytest.fixture
def both(tmp_path):
    """Write a plan of both jobs, the other one first."""

    def write(wordcount, x):
        path = tmp_path / "both.json"
        jobs = {"other": {X: [x]}, "wordcount": wordcount}
        path.write_text(json.dumps({"format": "edgeplace/plan", "version": 1, "jobs": jobs}))
        return path

    return write


def slots(flink, **counts):
    for tm in flink.task_managers:
        tm.slots = counts.get(tm.id.replace("-", "_"), tm.slots)


def test_all_jobs_of_the_plan_are_moved(apply, flink, other, both, plans):
    ran = apply(of=both(GOAL, "pi-1"))
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement == GOAL
    assert other.placement[X] == ("pi-1",)
    assert "wordcount: done" in ran.out
    assert "other: done" in ran.out
    assert sorted(files(plans)) == ["other.schedulercfg", "wordcount.schedulercfg"]
    assert "nothing to do" in apply(of=both(GOAL, "pi-1")).out


def test_one_job_of_the_plan_may_be_asked_for(apply, flink, other, both):
    assert apply("--job", "other", of=both(GOAL, "pi-1")).status is ExitStatus.OK
    assert flink.jobs[0].placement == START
    assert other.placement[X] == ("pi-1",)


def test_a_job_that_does_not_run_is_named_and_the_others_move(apply, flink, both):
    ran = apply(of=both(GOAL, "pi-1"))
    assert ran.status is ExitStatus.OK, ran.err
    assert "job 'other' of" in ran.err
    assert "does not run" in ran.err
    assert flink.jobs[0].placement == GOAL


def test_a_job_waits_until_another_has_left_its_slots(apply, flink, other, both):
    """The plan names the job first that needs the slot of the second."""
    slots(flink, pi_1=1)
    ran = apply(of=both(ON_SERVER, "pi-1"))
    assert ran.status is ExitStatus.OK, ran.err
    assert other.placement[X] == ("pi-1",)
    assert ran.out.index("wordcount: done") < ran.out.index("other: done")


def test_jobs_that_want_each_others_only_slots_stay(apply, flink, other, both, plans):
    slots(flink, pi_1=1, pi_3=1)
    change = {SRC: ("pi-3", "pi-2"), MAP: ("pi-3", "pi-2"), SINK: ("server",)}
    ran = apply(of=both(change, "pi-1"))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-1' has 1 slots, 1 held by other jobs: 'other' needs 1" in ran.err
    assert "'pi-3' has 1 slots, 1 held by other jobs: 'wordcount' needs 1" in ran.err
    assert flink.jobs[0].placement == START
    assert files(plans) == {}


def test_if_one_fails_those_that_moved_return(apply, flink, other, both):
    flink.jobs[0].fails_with = "no disk"
    ran = apply(of=both(GOAL, "pi-1"))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert flink.jobs[0].placement == START
    assert "other: goes back to where it was" in ran.out
    assert other.placement[X] == ("pi-3",)
    assert other.moves == 2


def test_what_hinders_one_job_keeps_all_where_they_are(apply, flink, other, both, plans):
    flink.jobs[0].interval_ms = None
    ran = apply(of=both(GOAL, "pi-1"))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "checkpointing of 'wordcount' is off" in ran.err
    assert other.moves == 0
    assert files(plans) == {}


def test_moves_of_all_jobs_count_together(apply, other, both):
    ran = apply("--max-moves", 2, of=both(GOAL, "pi-1"))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "3 subtasks would move, --max-moves allows 2" in ran.err
    assert apply("--max-moves", 3, of=both(GOAL, "pi-1")).status is ExitStatus.OK


def test_dry_run_shows_both_jobs_and_json_has_them(apply, flink, other, both, plans):
    ran = apply("--dry-run", of=both(GOAL, "pi-1"))
    assert "dry run: nothing was changed; the plan files are " in ran.out
    found = json.loads(apply("--dry-run", "--json", of=both(GOAL, "pi-1")).out)
    assert {job["name"]: len(job["moves"]) for job in found["jobs"]} == {"wordcount": 2, "other": 1}
    assert files(plans) == {}
    assert other.moves == 0
