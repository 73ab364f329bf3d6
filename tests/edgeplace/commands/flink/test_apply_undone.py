"""`flink apply` that goes wrong on the way: the former placement, or what is known of it."""

import os
import signal
import time
import types

import pytest

from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_job import now_ms
from tests.support.flink_case import FORMER, GOAL, START, assert_untouched, files


@pytest.mark.parametrize("state", ["rejected", "pending"])
@pytest.mark.parametrize("former", [None, FORMER])
def test_a_plan_that_the_agent_refuses(apply, flink, plans, state, former):
    if former:
        (plans / "wordcount.schedulercfg").write_text(former)
    flink.agent.judge = lambda job, text: (
        None if text == former else (state, ["the checkpoint failed: timed out"])
    )
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the checkpoint failed: timed out" in ran.err
    assert "Flink shows the former placement running" in ran.err
    assert_untouched(flink, plans, former)


@pytest.mark.slow
def test_an_agent_that_does_not_react(apply, flink, plans):
    flink.agent.judge = lambda job, text: ("moving", [])
    flink.agent.alive = False
    ran = apply("--timeout", 0.5)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent has not judged the plan within 0.5 s" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.slow
def test_an_agent_that_reacts_when_the_plan_is_taken_back(apply, flink, plans, monkeypatch):
    flink.agent.alive = False
    remove, job = PlansFolder.remove, flink.jobs[0]

    def read_just_before(folder, path):
        text = path.read_text()
        remove(folder, path)
        with flink.lock:
            flink.agent.place(job, text)
            flink.agent.report(job, "placed", None, None, [])
        flink.agent.alive = True

    monkeypatch.setattr(PlansFolder, "remove", read_just_before)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent has not judged the plan" in ran.err
    assert "rolled back" in ran.err
    assert job.placement == START
    assert job.moves == 2


def test_an_agent_that_lies(apply, flink, plans):
    flink.agent.lies = True
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "map (1/2) is RUNNING at pi-1, not at server" in ran.err
    assert flink.jobs[0].placement == START


def fails(job):
    job.fails_with = "java.lang.OutOfMemoryError: Java heap space" if job.moves == 1 else None


def checkpoints_fail(job):
    job.checkpoints_fail = job.moves == 1
    if job.moves == 1:
        job.interval_ms = 100


@pytest.mark.parametrize("former", [None, FORMER])
def test_a_job_that_is_not_healthy_there_goes_back(apply, flink, plans, former):
    if former:
        (plans / "wordcount.schedulercfg").write_text(former)
    flink.agent.on_move = fails
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the job failed at its new places: java.lang.OutOfMemoryError" in ran.err
    assert "rolled back; Flink shows the former placement running again" in ran.err
    assert flink.jobs[0].placement == START
    assert flink.jobs[0].moves == 2
    (name, text), *hidden = files(plans).items()
    assert name == "wordcount.schedulercfg"
    assert "map (1/2); pi-1" in text or text == former
    assert not hidden


def test_a_job_that_cannot_go_back_for_its_checkpoints_fail_there(apply, flink):
    # The agent moves a job from a checkpoint only: so much for the way back.
    flink.agent.on_move = checkpoints_fail
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "checkpoints fail at the new places: storage is full" in ran.err
    assert "the agent rejects the plan: the checkpoint before the move failed" in ran.err
    assert "Flink shows every subtask at the new place" in ran.err


def test_the_way_back_is_tried_again(apply, flink, monkeypatch):
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._AGAIN_S", 0.05)
    refused = []

    def judge(job, text):
        if job.moves == 1 and len(refused) < 2:
            refused.append(text)
            return "rejected", ["the checkpoint before the move failed"]
        return None

    def fails_and_is_judged(job):
        fails(job)
        flink.agent.judge = judge

    flink.agent.on_move = fails_and_is_judged
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "rolled back; Flink shows the former placement running again" in ran.err
    assert flink.jobs[0].placement == START
    assert len(refused) == 2


@pytest.mark.parametrize("restarts", [False, True])
def test_a_failure_elsewhere_is_not_the_plans_fault(apply, flink, restarts):
    def fails_and_recovers(job):
        job.exceptions.append((now_ms() + 1, "java.io.IOException: TaskManager pi-9 is gone"))
        if restarts:
            job.restart()

    flink.agent.on_move = fails_and_recovers
    ran = apply()
    assert ran.status is ExitStatus.OK, ran.err
    assert "its recovery is awaited once" in ran.out
    assert "warning: the job failed at its new places: java.io.IOException: TaskManager" in ran.err
    assert "and has recovered there" in ran.err
    assert flink.jobs[0].placement == GOAL


@pytest.mark.slow
def test_a_job_that_does_not_recover_there_goes_back(apply, flink, monkeypatch):
    answer, job = flink.answer, flink.jobs[0]

    def fail_for_good(path, authorization):
        if "/exceptions" in path and job.moves == 1:
            job.exceptions.append((now_ms() + 1, "java.io.IOException: no camera here"))
            job.vertex_state = "SCHEDULED"
        return answer(path, authorization)

    monkeypatch.setattr(flink, "answer", fail_for_good)
    ran = apply("--timeout", 2)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "Flink shows: Source: lines (1/2) is SCHEDULED at pi-1" in ran.err
    assert job.placement == START


def test_a_job_that_restarts_there_goes_back(apply, flink, monkeypatch):
    answer, job = flink.answer, flink.jobs[0]

    def restart_while_watched(path, authorization):
        if "/exceptions" in path and job.moves == 1:
            job.restart()
        return answer(path, authorization)

    monkeypatch.setattr(flink, "answer", restart_while_watched)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "subtasks were restarted at their new places" in ran.err
    assert flink.jobs[0].placement == START


@pytest.mark.slow
def test_flink_that_falls_silent_during_the_move(apply, flink, plans):
    def cut(job):
        flink.down = True

    flink.agent.on_move = cut
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "the former placement was not seen running again" in ran.err
    assert "the former plan was put back" in ran.err
    assert "the agent's last word" in ran.err
    assert "done" not in ran.out
    assert files(plans) == {"wordcount.schedulercfg": FORMER}
    # The agent needs no REST API: the job is back.
    assert flink.jobs[0].placement == START


@pytest.mark.slow
def test_a_job_that_is_cancelled_meanwhile(apply, flink, plans):
    def cancelled(job, text):
        job.state = "CANCELED"
        flink.agent.report = lambda *said: (plans / f"{job.id}.status.json").unlink(missing_ok=True)
        return "moving", []

    flink.agent.judge = cancelled
    ran = apply("--timeout", 100)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "job 'wordcount' is CANCELED" in ran.err
    assert "Flink shows the job CANCELED" in ran.err
    assert files(plans) == {}


def test_a_former_plan_that_cannot_be_put_back(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    replace, renamed = os.replace, []

    def once(source, target):
        renamed.append(target)
        if len(renamed) > 1:
            raise OSError(30, "Read-only file system")
        replace(source, target)

    monkeypatch.setattr(os, "replace", once)
    flink.agent.judge = lambda job, text: ("rejected", ["no"])
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "could not be put back" in ran.err
    assert "Read-only file system" in ran.err
    assert flink.jobs[0].placement == START
    assert len(renamed) == 2


def test_a_plan_file_replaced_by_garbage_meanwhile(apply, flink, plans):
    (plans / "wordcount.schedulercfg").write_text(FORMER)

    def spoil(job):
        if job.moves == 1:
            (plans / "wordcount.schedulercfg").write_bytes(b"\xff garbage")

    flink.agent.on_move = spoil
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "was replaced by somebody else meanwhile" in ran.err
    assert flink.jobs[0].placement == START
    assert files(plans) == {"wordcount.schedulercfg": FORMER}


def test_a_write_that_fails_when_the_plan_has_its_name_is_undone(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.agent.judge = lambda job, text: None if text == FORMER else ("moving", [])
    synced = []

    def once(folder):
        synced.append(folder)
        if len(synced) == 1:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(PlansFolder, "_sync", once)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "Input/output error" in ran.err
    assert_untouched(flink, plans, FORMER)


def test_ctrl_c_puts_the_former_plan_back_and_says_so(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.agent.judge = lambda job, text: None if text == FORMER else ("moving", [])

    def interrupted(seconds):
        raise KeyboardInterrupt

    sleep_in_apply(monkeypatch, interrupted)
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert "the former plan was put back" in ran.err
    assert files(plans) == {"wordcount.schedulercfg": FORMER}


def test_ctrl_c_on_the_way_back_says_what_stands_there(apply, flink, plans, monkeypatch):
    flink.agent.judge = lambda job, text: ("rejected", ["no"])
    flink.vertex_state = "FAILED"

    def verified(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._Transition._verify", verified)
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert f"{plans / 'wordcount.schedulercfg'} was removed again" in ran.err
    assert files(plans) == {}


def sleep_in_apply(monkeypatch, sleep):
    """Replace the sleep of that module only: other threads sleep, too, and signals end them."""
    own = types.SimpleNamespace(**{**vars(time), "sleep": sleep})
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply.time", own)


@pytest.fixture
def as_in_a_terminal():
    """Let SIGTERM and SIGHUP end the process, though `nohup` runs the tests."""
    former = {s: signal.signal(s, signal.SIG_DFL) for s in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("as_in_a_terminal")
def test_a_signal_does_what_ctrl_c_does(apply, flink, plans, monkeypatch, number):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.agent.judge = lambda job, text: None if text == FORMER else ("moving", [])
    sleep_in_apply(monkeypatch, lambda seconds: signal.raise_signal(number))
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert files(plans) == {"wordcount.schedulercfg": FORMER}
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.usefixtures("as_in_a_terminal")
def test_a_signal_that_is_ignored_stays_so(apply, flink, plans, monkeypatch):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sleep_in_apply(monkeypatch, lambda seconds: signal.raise_signal(signal.SIGHUP))
    assert apply().status is ExitStatus.OK
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
