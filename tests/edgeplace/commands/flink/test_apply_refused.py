"""`flink apply` where it cannot work: it says why, and nothing is changed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeJob, FakeVertex
from tests.support.flink_case import FORMER, SINK, SRC, assert_untouched, files, write_plan


def test_without_the_agent(edgeplace, plan):
    with FakeFlink(None) as flink:
        ran = edgeplace("flink", "apply", plan, "--jobmanager", flink.url)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "runs without edgeplace's agent" in ran.err
    assert "edgeplace flink install" in ran.err


def test_a_folder_that_no_agent_works_on(apply, flink, plans, tmp_path):
    (tmp_path / "other").mkdir()
    ran = apply("--plans", tmp_path / "other")
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "there is no agent.json" in ran.err
    assert_untouched(flink, plans)


def test_an_agent_that_is_dead(apply, flink, plans):
    flink.agent.alive = False
    with flink.lock:
        flink.agent.beat(age_s=100)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    # A busy machine takes some seconds more.
    assert re.search("has not written for 1[0-9][0-9] s", ran.err)
    assert_untouched(flink, plans)


def test_an_agent_of_another_version(apply, flink, plans):
    flink.agent.alive = False
    (plans / "agent.json").write_text('{"edgeplace_agent": 2}')
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent writes version 2, this release reads version 1" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ('{"edgeplace_status": 3}', "the agent writes version 3, this release reads version 1"),
        ('{"edgeplace_status": 1, "state": "parked"}', "not written by the agent"),
    ],
    ids=["another version", "another state"],
)
def test_a_status_of_another_version(apply, flink, plans, status, why):
    flink.agent.alive = False
    with flink.lock:
        flink.agent.beat()
    (plans / f"{'a' * 32}.status.json").write_text(status)
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert why in ran.err
    assert "use the agent of this release: `edgeplace flink install`" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.slow
def test_an_agent_that_is_replaced_by_another_version_in_the_middle(apply, flink, plans):
    def replaced(job, text):
        flink.agent.alive = False
        flink.agent.report = lambda *said: None
        (plans / f"{job.id}.status.json").write_text('{"edgeplace_status": 3}')

    flink.agent.judge = replaced
    ran = apply("--timeout", 5)
    assert ran.status is ExitStatus.UNREACHABLE  # Nobody tells what is obeyed.
    assert "the agent writes version 3, this release reads version 1" in ran.err
    assert files(plans) == {}


def test_a_plan_of_another_format(apply, flink, plans, tmp_path):
    plan = write_plan(tmp_path / "later.json")
    plan.write_text(plan.read_text().replace('"version": 1', '"version": 9'))
    ran = apply(of=plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "version 9 of 'edgeplace/plan'" in ran.err
    assert_untouched(flink, plans)


def test_a_plan_for_another_job(apply, flink, plans, tmp_path):
    ran = apply(of=write_plan(tmp_path / "other.json", job="fraud"))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"is a plan for 'fraud', running: 'wordcount' ({'a' * 32})" in ran.err
    assert_untouched(flink, plans)


def test_a_plan_where_no_job_runs(apply, flink, plan):
    flink.jobs.clear()
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "running: none\n  cure: submit the job first" in ran.err


def test_a_plan_for_another_shape_of_the_job(apply, flink, plans, tmp_path):
    wrong = {SRC: ("pi-1",), "f" * 32: ("pi-1",), SINK: ("server",)}
    ran = apply(of=write_plan(tmp_path / "other.json", wrong))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "it lacks 'map'" in ran.err
    assert f"it has '{'f' * 32}', which the job has not" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.parametrize("as_schedulercfg", [False, True])
def test_a_host_that_is_gone(apply, flink, plans, plan, tmp_path, as_schedulercfg):
    if as_schedulercfg:
        plan = tmp_path / "schedulercfg"
        plan.write_text(FORMER.replace("map (2/2); pi-2", "map (2/2); pi-3"))
    flink.task_managers = [t for t in flink.task_managers if t.id != "pi-3"]
    ran = apply(of=plan)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-3' is not registered with Flink" in ran.err
    assert "registered: pi-1, pi-2, server" in ran.err
    assert_untouched(flink, plans)


def test_slots_that_are_taken_and_all_other_problems_at_once(apply, flink, plans):
    other = FakeJob("c" * 32, "other", [FakeVertex(f"{9:032x}", "x", ["pi-3", "pi-3"])])
    flink.submit(other)
    flink.agent.resource_manager = False
    with flink.lock:
        flink.agent.beat()
    ran = apply("--max-moves", 1)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-3' has 2 slots, 2 held by other jobs: 'wordcount' needs 1" in ran.err
    assert "no active ResourceManager" in ran.err
    assert "2 subtasks would move, --max-moves allows 1" in ran.err
    assert_untouched(flink, plans)


def test_an_agent_that_does_not_know_the_job(apply, flink, plans):
    flink.agent.alive = False
    with flink.lock:
        flink.agent.beat()
    (plans / f"{'a' * 32}.status.json").unlink()
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert f"does not know job 'wordcount' ({'a' * 32})" in ran.err
    assert_untouched(flink, plans)


def test_a_job_that_fails_at_its_planned_places_is_not_fine(apply, flink):
    apply()
    flink.jobs[0].state = "FAILING"
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "job 'wordcount' is FAILING" in ran.err
    assert "nothing to do" not in ran.out


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("state", "RESTARTING", "job 'wordcount' is RESTARTING"),
        ("interval_ms", None, "checkpointing of 'wordcount' is off"),
        ("checkpoints_fail", True, "the last checkpoint of 'wordcount' failed: storage is full"),
    ],
    ids=["not-running", "no-checkpoints", "failing-checkpoints"],
)
def test_a_job_that_cannot_be_moved_as_it_is(apply, flink, plans, field, value, said):
    setattr(flink.jobs[0], field, value)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert said in ran.err
    assert_untouched(flink, plans)


def test_flink_that_is_down(edgeplace, plan, plans):
    ran = edgeplace("flink", "apply", plan, "--jobmanager", "http://127.0.0.1:1", "--plans", plans)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "no connection: Connection refused" in ran.err
    assert "rest.port" in ran.err


def test_an_address_that_is_a_web_page(apply, flink):
    flink.web_page = True
    ran = apply()
    assert ran.status is ExitStatus.UNREACHABLE
    assert "the answer is not JSON" in ran.err


def test_a_wrong_token_is_said_and_never_shown(apply, flink, plans, monkeypatch):
    flink.token = "right"
    ran = apply()
    assert ran.status is ExitStatus.UNREACHABLE
    assert "access refused (401)" in ran.err
    monkeypatch.setenv("EDGEPLACE_FLINK_TOKEN", "w-r-o-n-g")
    ran = apply("--traceback")
    assert ran.status is ExitStatus.UNREACHABLE
    assert "the credentials of the environment (EDGEPLACE_FLINK_TOKEN) are not accepted" in ran.err
    assert "w-r-o-n-g" not in ran.out + ran.err
    assert_untouched(flink, plans)
    monkeypatch.setenv("EDGEPLACE_FLINK_TOKEN", "right")
    assert apply().status is ExitStatus.OK


@pytest.fixture
def certificate(tmp_path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    key, made = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=flink", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate with")
    both = tmp_path / "both.pem"
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


def test_a_certificate_has_to_be_trusted(edgeplace, plan, plans, certificate):
    with FakeFlink(plans, tls=certificate) as flink:
        args = ("flink", "apply", plan, "--jobmanager", flink.url)
        ran = edgeplace(*args)
        assert ran.status is ExitStatus.UNREACHABLE
        assert "the certificate is not trusted" in ran.err
        assert "--ca-file FILE" in ran.err
        assert_untouched(flink, plans)
        plain = edgeplace(*args[:-1], flink.url.replace("https", "http"))
        assert plain.status is ExitStatus.UNREACHABLE
        trusted = certificate.with_name("certificate.pem")
        assert edgeplace(*args, "--ca-file", trusted).status is ExitStatus.OK


def test_tls_where_there_is_none(edgeplace, plan, flink):
    url = flink.url.replace("http", "https")
    ran = edgeplace("flink", "apply", plan, "--jobmanager", url)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "no TLS connection" in ran.err


@pytest.mark.parametrize("former", [None, FORMER])
def test_a_full_disk(apply, flink, plans, monkeypatch, former):
    if former:
        (plans / "wordcount.schedulercfg").write_text(former)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "a plan cannot be written: No space left on device" in ran.err
    assert "free some space" in ran.err
    assert_untouched(flink, plans, former)


def test_a_plan_of_two_thousand_wrong_lines(apply, flink, plans, tmp_path):
    path = tmp_path / "long"
    path.write_text("".join(f"mop ({i}/2000); pi-{i}\n" for i in range(1, 2001)))
    ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "the job has no task 'mop'" in ran.err
    assert "more" in ran.err
    assert len(ran.err) < 10_000
    assert_untouched(flink, plans)


def test_a_plan_larger_than_the_job_can_have(apply, flink, plans, tmp_path):
    path = tmp_path / "long"
    path.write_text("".join(f"map ({i}/10000); pi-{i}\n" for i in range(1, 10_001)))
    ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "bytes, and a plan of job 'wordcount' has 65,536 at most" in ran.err
    assert_untouched(flink, plans)


def test_a_plan_larger_than_any_is_refused_before_the_lock(apply, plans, tmp_path):
    path = tmp_path / "long"
    with path.open("wb") as f:
        f.truncate(100_000_000)
    with PlansFolder(plans).locked():
        ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "larger than 16,777,216 bytes, the most that a plan can have" in ran.err


def test_garbage_in_the_plans_place_that_no_plan_can_be(apply, flink, plans):
    with (plans / "wordcount.schedulercfg").open("wb") as f:
        f.truncate(100_000_000)
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "wordcount.schedulercfg: larger than 16,777,216 bytes\n  cure: remove it" in ran.err


@pytest.mark.parametrize("location", ["10.0.0.1:6122", "10_0_0_1", "10.0.0.1:50123-0a1b2c"])
def test_a_location_means_what_it_means_to_the_agent(apply, flink, plans, tmp_path, location):
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("map (1/2); pi-1", f"map (1/2); {location}"))
    ran = apply(of=path)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert f"TaskManager '{location}' is not registered with Flink" in ran.err
    assert_untouched(flink, plans)


def test_two_at_once_exclude_each_other(apply, flink, plans):
    with PlansFolder(plans).locked():
        ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "another edgeplace command is at work there" in ran.err
    assert_untouched(flink, plans)
