"""`flink apply` of a plan with another parallelism, against a Flink of memory that obeys."""

import json

import pytest

from edgeplace.cli.exit_status import ExitStatus
from tests.support.flink_case import FORMER, MAP, SINK, SRC, START, assert_untouched, write_plan

MORE = {SRC: ("pi-1", "pi-2"), MAP: ("pi-1", "server", "pi-3"), SINK: ("server",)}
FEWER = {SRC: ("pi-1", "pi-2"), MAP: ("server",), SINK: ("server",)}


@pytest.mark.parametrize("places", [MORE, FEWER], ids=["more", "fewer"])
def test_a_plan_with_another_parallelism_is_obeyed_and_verified(apply, flink, tmp_path, places):
    path = write_plan(tmp_path / "rescaled.json", places)
    ran = apply(of=path)
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement == places
    assert "a checkpoint has completed there" in ran.out
    again = apply(of=path)
    assert "nothing to do" in again.out
    assert flink.jobs[0].moves == 1


def test_subtasks_that_begin_and_end_are_shown(apply, tmp_path):
    ran = apply("--dry-run", of=write_plan(tmp_path / "more.json", MORE))
    assert "map       2         pi-2   server" in ran.out
    assert "map       3         (new)  pi-3" in ran.out
    ran = apply("--dry-run", "--json", of=write_plan(tmp_path / "fewer.json", FEWER))
    moves = json.loads(ran.out)["jobs"][0]["moves"]
    assert [(m["subtask"], m["from"], m["to"]) for m in moves] == [
        (0, "pi-1", "server"),
        (1, "pi-2", "(gone)"),
    ]


def test_all_state_of_a_rescaled_operator_is_dealt_anew(apply, tmp_path):
    same_places = {**START, MAP: ("pi-1", "pi-2", "pi-3")}
    ran = apply("--dry-run", "--json", of=write_plan(tmp_path / "more.json", same_places))
    assert json.loads(ran.out)["jobs"][0]["state_bytes"] == 2000


def test_a_job_that_fails_in_its_new_parallelism_goes_back(apply, flink, plans, tmp_path):
    flink.agent.judge = lambda job, text: (
        ("rejected", ["it went back to its former one"]) if "(1/3)" in text else None
    )
    ran = apply(of=write_plan(tmp_path / "more.json", MORE))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "it went back to its former one" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.slow
def test_a_move_that_cannot_be_verified_is_taken_back_in_the_former_parallelism(
    apply, flink, tmp_path
):
    flink.agent.on_move = lambda job: setattr(
        job, "checkpoints_fail", len(job.vertices[1].places) == 3
    )
    flink.agent.judge = lambda job, text: (
        setattr(job, "checkpoints_fail", False) if "(1/3)" not in text else None
    )
    ran = apply(of=write_plan(tmp_path / "more.json", MORE))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "checkpoints fail at the new places" in ran.err
    assert flink.jobs[0].placement == START


@pytest.mark.slow
def test_a_flink_that_cannot_rescale_is_said_before_anything_is_written(
    apply, flink, plans, tmp_path
):
    with flink.lock:
        flink.agent.no_rescaling_because = "this Flink lacks what rescaling needs (x)"
        flink.agent.beat()
    ran = apply(of=write_plan(tmp_path / "more.json", MORE))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "no job can be rescaled while it runs: this Flink lacks" in ran.err
    assert_untouched(flink, plans)


def test_more_subtasks_than_slots_are_refused(apply, flink, plans, tmp_path):
    crowd = {**START, MAP: ("pi-1",) * 3}
    ran = apply(of=write_plan(tmp_path / "crowd.json", crowd))
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-1' has 2 slots, 0 held by other jobs: 'wordcount' needs 3" in ran.err
    assert_untouched(flink, plans)


def test_settings_of_a_plan_reach_the_agent_and_its_epoch_leads_back(apply, plans, tmp_path):
    path = tmp_path / "schedulercfg"
    path.write_text("# epoch: 18\n" + FORMER.replace("map (1/2); pi-1", "map (1/2); server"))
    assert apply(of=path).status is ExitStatus.OK
    assert (plans / "wordcount.schedulercfg").read_text().startswith("# epoch: 18\nSource: lines")


def test_a_pause_that_is_longer_than_the_timeout_is_said_before(apply, tmp_path):
    path = write_plan(tmp_path / "more.json", MORE)
    ran = apply("--timeout", "1", of=path)
    assert "a move that takes longer than --timeout 1 s is taken back" in ran.err
    assert "longer than --timeout" not in apply(of=path).err
