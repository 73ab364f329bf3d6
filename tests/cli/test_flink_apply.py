"""`flink apply` against a Flink of memory: it obeys, or nothing changes and it says why."""

import json
import os
import signal
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from fake_flink import FakeFlink, FakeJob, FakeTaskManager, FakeVertex, now_ms, wordcount

from edgeplace.adapters.flink.plans_folder import PlansFolder
from edgeplace.cli import main
from edgeplace.console import Console
from edgeplace.status import ExitStatus

SRC, MAP, SINK = (f"{i:032x}" for i in (1, 2, 3))
START = {SRC: ("pi-1", "pi-2"), MAP: ("pi-1", "pi-2"), SINK: ("server",)}
GOAL = {SRC: ("pi-1", "pi-2"), MAP: ("server", "pi-3"), SINK: ("server",)}
FORMER = """\
Source: lines (1/2); pi-1
Source: lines (2/2); pi-2
map (1/2); pi-1
map (2/2); pi-2
Sink: out (1/1); server
"""


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch):
    for name in ("TOKEN", "USER", "PASSWORD"):
        monkeypatch.delenv(f"EDGEPLACE_FLINK_{name}", raising=False)


@pytest.fixture
def plans(tmp_path) -> Path:
    (tmp_path / "plans").mkdir()
    return tmp_path / "plans"


@pytest.fixture
def flink(plans):
    with FakeFlink(plans) as running:
        yield running


def write_plan(path: Path, places=GOAL, job="wordcount") -> Path:
    document = {"format": "edgeplace/plan", "version": 1, "jobs": {job: places}}
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def plan(tmp_path) -> Path:
    return write_plan(tmp_path / "plan.json")


@pytest.fixture
def apply(edgeplace, flink, plan):
    """Apply the plan to the running Flink."""

    def run(*more, of=plan):
        return edgeplace("flink", "apply", of, "--jobmanager", flink.url, "--timeout", 3, *more)

    return run


def files(plans: Path) -> dict[str, str]:
    """Return the plan files, and whatever hidden files were left behind."""
    return {
        p.name: p.read_text()
        for p in plans.iterdir()
        if p.name.endswith(".schedulercfg") or p.name.startswith(".plan-")
    }


def assert_untouched(flink, plans, former=None):
    assert flink.jobs[0].placement == START
    assert flink.jobs[0].moves == 0
    assert files(plans) == ({"wordcount.schedulercfg": former} if former else {})


def test_a_plan_is_shown_written_obeyed_and_verified(apply, flink, plans):
    ran = apply()
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement == GOAL
    assert "map       1         pi-1  server" in ran.out
    assert "map       2         pi-2  pi-3" in ran.out
    assert "2 of 5 subtasks are to move" in ran.out
    assert "state that moves: 2 kB" in ran.out
    assert "a checkpoint has completed there" in ran.out
    assert list(files(plans)) == ["wordcount.schedulercfg"]
    assert (plans / "wordcount.schedulercfg").stat().st_mode & 0o777 == 0o644


def test_applied_again_it_does_nothing(apply, flink, plans):
    apply()
    written = (plans / "wordcount.schedulercfg").stat()
    ran = apply()
    assert ran.status is ExitStatus.OK
    assert "nothing to do" in ran.out
    assert flink.jobs[0].moves == 1
    assert (plans / "wordcount.schedulercfg").stat().st_ino == written.st_ino


def test_what_runs_there_already_gets_its_plan_for_fail_overs_and_does_not_move(
    apply, flink, plans, tmp_path
):
    ran = apply(of=write_plan(tmp_path / "same.json", START))
    assert ran.status is ExitStatus.OK
    assert "none of its 5 subtasks is to move" in ran.out
    assert flink.jobs[0].moves == 0
    assert list(files(plans)) == ["wordcount.schedulercfg"]
    assert flink.jobs[0].applied


def test_dry_run_shows_and_changes_nothing(apply, flink, plans):
    ran = apply("--dry-run")
    assert ran.status is ExitStatus.OK
    assert "2 of 5 subtasks are to move" in ran.out
    assert "nothing was changed" in ran.out
    assert_untouched(flink, plans)


def test_json_has_the_moves_and_the_end(apply):
    ran = apply("--json")
    document = json.loads(ran.out)
    assert document["end"] == "applied"
    (job,) = document["jobs"]
    assert job["moves"][0] == {
        "operator": MAP,
        "name": "map",
        "subtask": 0,
        "from": "pi-1",
        "to": "server",
    }
    assert job["state_bytes"] == 2000


def test_a_schedulercfg_is_a_plan_too(apply, flink, tmp_path):
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("map (1/2); pi-1", "map (1/2); 10.0.0.9"))
    assert apply(of=path).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == ("server", "pi-2")


def test_the_names_of_a_cluster_file_are_understood(apply, flink, tmp_path):
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        "sites: [{id: lyon}]\n"
        "nodes:\n"
        "  - {id: first, site: lyon, cores: 4, slots: 2, host: 10.0.0.1}\n"
        "  - {id: second, site: lyon, cores: 4, slots: 2, host: 10.0.0.2}\n"
        "  - {id: big, site: lyon, cores: 4, slots: 4, host: 10.0.0.9}\n"
    )
    wanted = {SRC: ("first", "second"), MAP: ("big", "big"), SINK: ("big",)}
    path = write_plan(tmp_path / "users.json", wanted)
    assert apply("--cluster", cluster, of=path).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == ("server", "server")


def test_jobs_of_one_name_get_plans_by_id(apply, flink, plans):
    flink.task_managers.append(FakeTaskManager("spare", "10.0.0.8", 9))
    twin = wordcount(job_id="b" * 32)
    for vertex in twin.vertices:
        vertex.places = ["spare"] * len(vertex.places)
    flink.jobs.append(twin)
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "2 running jobs" in ran.err
    assert apply("--job", "a" * 32).status is ExitStatus.OK
    assert list(files(plans)) == [f"{'a' * 32}.schedulercfg"]
    assert twin.moves == 0


def test_a_plan_by_id_that_is_there_is_the_one_that_is_written(apply, plans):
    by_id = plans / f"{'a' * 32}.schedulercfg"
    by_id.write_text(FORMER)
    assert apply().status is ExitStatus.OK
    assert "map (1/2); server" in by_id.read_text()
    assert list(files(plans)) == [by_id.name]


# Each failure ends in a clear message, the former placement, and its exit status.


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
    flink.agent_alive = False
    with flink.lock:
        flink.agent_beats(age_s=100)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "has not written for 100 s" in ran.err
    assert_untouched(flink, plans)


def test_an_agent_of_another_version(apply, flink, plans):
    flink.agent_alive = False
    (plans / "agent.json").write_text('{"edgeplace_agent": 2}')
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent writes version 2, this release reads version 1" in ran.err
    assert_untouched(flink, plans)


def test_a_plan_for_another_job(apply, flink, plans, tmp_path):
    ran = apply(of=write_plan(tmp_path / "other.json", job="fraud"))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"is a plan for 'fraud', running: 'wordcount' ({'a' * 32})" in ran.err
    assert_untouched(flink, plans)


def test_a_plan_for_another_shape_of_the_job(apply, flink, plans, tmp_path):
    wrong = {SRC: ("pi-1",), "f" * 32: ("pi-1",), SINK: ("server",)}
    ran = apply(of=write_plan(tmp_path / "other.json", wrong))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "it lacks 'map'" in ran.err
    assert "1 places for 'Source: lines', which runs with parallelism 2" in ran.err
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
    flink.jobs.append(other)
    flink.resource_manager = False
    with flink.lock:
        flink.agent_beats()
    ran = apply("--max-moves", 1)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "'pi-3' has 2 slots, 2 held by other jobs: 'wordcount' needs 1" in ran.err
    assert "no active ResourceManager" in ran.err
    assert "2 subtasks would move, --max-moves allows 1" in ran.err
    assert_untouched(flink, plans)


def test_an_agent_that_does_not_know_the_job(apply, flink, plans):
    flink.agent_alive = False
    with flink.lock:
        flink.agent_beats()
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


def test_a_job_that_waits_for_a_lost_task_manager_gets_another_plan(apply, flink, plans):
    job = flink.jobs[0]
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    with flink.lock:
        flink.task_managers = [t for t in flink.task_managers if t.id != "pi-2"]
        job.vertex_state, job.waiting_for, job.interval_ms = "SCHEDULED", ["pi-2"], 100
        for vertex in job.vertices:
            vertex.places = [None] * len(vertex.places)
        flink.judge = lambda job, text: ("waiting", []) if text == FORMER else None
        flink._obey(job)
    wanted = FORMER.replace("pi-2", "pi-3")
    path = plans.with_name("schedulercfg")
    path.write_text(wanted)
    ran = apply(of=path)
    assert ran.status is ExitStatus.OK, ran.err
    assert "(unassigned)  pi-3" in ran.out
    assert job.placement[MAP] == ("pi-1", "pi-3")


def test_a_job_that_is_not_running(apply, flink, plans):
    flink.jobs[0].state = "RESTARTING"
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "job 'wordcount' is RESTARTING" in ran.err
    assert_untouched(flink, plans)


def test_checkpointing_that_is_off(apply, flink, plans):
    flink.jobs[0].interval_ms = None
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "checkpointing of 'wordcount' is off" in ran.err
    assert_untouched(flink, plans)


def test_checkpoints_that_fail_before(apply, flink, plans):
    flink.jobs[0].checkpoints_fail = True
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the last checkpoint of 'wordcount' failed: storage is full" in ran.err
    assert_untouched(flink, plans)


@pytest.mark.parametrize("state", ["rejected", "pending"])
@pytest.mark.parametrize("former", [None, FORMER])
def test_a_plan_that_the_agent_refuses(apply, flink, plans, state, former):
    if former:
        (plans / "wordcount.schedulercfg").write_text(former)
    flink.judge = lambda job, text: (
        None if text == former else (state, ["the checkpoint failed: timed out"])
    )
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the checkpoint failed: timed out" in ran.err
    assert "Flink shows the former placement running" in ran.err
    assert_untouched(flink, plans, former)


def test_an_agent_that_does_not_react(apply, flink, plans):
    flink.judge = lambda job, text: ("moving", [])
    flink.agent_alive = False
    ran = apply("--timeout", 0.5)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent has not judged the plan within 0.5 s" in ran.err
    assert_untouched(flink, plans)


def test_an_agent_that_reacts_when_the_plan_is_taken_back(apply, flink, plans, monkeypatch):
    flink.agent_alive = False
    remove, job = PlansFolder.remove, flink.jobs[0]

    def read_just_before(folder, path):
        text = path.read_text()
        remove(folder, path)
        with flink.lock:
            flink._place(job, text)
            flink._status(job, "placed", None, None, [])
        flink.agent_alive = True

    monkeypatch.setattr(PlansFolder, "remove", read_just_before)
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the agent has not judged the plan" in ran.err
    assert "rolled back" in ran.err
    assert job.placement == START
    assert job.moves == 2


def test_the_word_on_a_former_attempt_does_not_count(apply, flink, plans, tmp_path):
    job = flink.jobs[0]
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("map (1/2); pi-1", "map (1/2); server"))
    with flink.lock:
        job.checkpoints_fail = True
        (plans / "wordcount.schedulercfg").write_text(path.read_text())
        flink._obey(job)
        job.checkpoints_fail = False
    ran = apply(of=path)
    assert ran.status is ExitStatus.OK, ran.err
    assert job.placement[MAP] == ("server", "pi-2")


def test_an_agent_that_lies(apply, flink, plans):
    flink.lies = True
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "map (1/2) is RUNNING at pi-1, not at server" in ran.err
    assert flink.jobs[0].placement == START


def fails(job):
    if job.moves == 1:
        job.exceptions.append((now_ms() + 1, "java.lang.OutOfMemoryError: Java heap space"))


def checkpoints_fail(job):
    job.checkpoints_fail = job.moves == 1
    if job.moves == 1:
        job.interval_ms = 100


@pytest.mark.parametrize("former", [None, FORMER])
def test_a_job_that_is_not_healthy_there_goes_back(apply, flink, plans, former):
    if former:
        (plans / "wordcount.schedulercfg").write_text(former)
    flink.on_move = fails
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
    flink.on_move = checkpoints_fail
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "checkpoints fail at the new places: storage is full" in ran.err
    assert "the agent rejects the plan: the checkpoint before the move failed" in ran.err
    assert "Flink shows every subtask at the new place" in ran.err


def test_the_way_back_is_tried_again(apply, flink, monkeypatch):
    monkeypatch.setattr("edgeplace.adapters.flink.apply._AGAIN_S", 0.05)
    refused = []

    def judge(job, text):
        if job.moves == 1 and len(refused) < 2:
            refused.append(text)
            return "rejected", ["the checkpoint before the move failed"]
        return None

    def fails_and_is_judged(job):
        fails(job)
        flink.judge = judge

    flink.on_move = fails_and_is_judged
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "rolled back; Flink shows the former placement running again" in ran.err
    assert flink.jobs[0].placement == START
    assert len(refused) == 2


def test_a_failure_between_the_move_and_the_first_look_is_seen(apply, flink):
    def fails_and_recovers(job):
        if job.moves == 1:
            job.exceptions.append((now_ms(), "java.io.IOException: no camera here"))
            job.deployed_ms = now_ms() + 2

    flink.on_move = fails_and_recovers
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "the job failed at its new places: java.io.IOException: no camera here" in ran.err
    assert flink.jobs[0].placement == START


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


def test_checkpoints_that_are_not_due_in_time_are_a_warning(apply, flink):
    flink.jobs[0].interval_ms = 100_000
    flink.jobs[0].deployed_ms -= 200_000
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.OK
    assert "warning: none of the checkpoints (every 100 s) was due" in ran.err
    assert "a checkpoint has completed" not in ran.out


def test_flink_that_falls_silent_during_the_move(apply, flink, plans):
    def cut(job):
        flink.down = True

    flink.on_move = cut
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


def test_a_job_that_is_cancelled_meanwhile(apply, flink, plans):
    def cancelled(job, text):
        job.state = "CANCELED"
        flink._status = lambda *said: (plans / f"{job.id}.status.json").unlink(missing_ok=True)
        return "moving", []

    flink.judge = cancelled
    ran = apply("--timeout", 100)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "job 'wordcount' is CANCELED" in ran.err
    assert "Flink shows the job CANCELED" in ran.err
    assert files(plans) == {}


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


def test_a_former_plan_that_cannot_be_put_back(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    replace, renamed = os.replace, []

    def once(source, target):
        renamed.append(target)
        if len(renamed) > 1:
            raise OSError(30, "Read-only file system")
        replace(source, target)

    monkeypatch.setattr(os, "replace", once)
    flink.judge = lambda job, text: ("rejected", ["no"])
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

    flink.on_move = spoil
    ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "was replaced by somebody else meanwhile" in ran.err
    assert flink.jobs[0].placement == START
    assert files(plans) == {"wordcount.schedulercfg": FORMER}


def test_garbage_that_stood_there_is_replaced(apply, flink, plans):
    (plans / "wordcount.schedulercfg").write_bytes(b"\xff garbage")
    assert apply().status is ExitStatus.OK
    assert flink.jobs[0].placement == GOAL


def test_a_plan_of_ten_thousand_wrong_lines(apply, flink, plans, tmp_path):
    path = tmp_path / "long"
    path.write_text("".join(f"map ({i}/10000); pi-{i}\n" for i in range(1, 10_001)))
    ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "speaks of parallelism 10000, 'map' has 2" in ran.err
    assert "more" in ran.err
    assert len(ran.err) < 10_000
    assert_untouched(flink, plans)


def test_a_plan_of_ten_thousand_right_lines(edgeplace, plans, tmp_path):
    places = ["a", "b"] * 5000
    job = FakeJob("a" * 32, "wide", [FakeVertex(MAP, "map", list(places))], interval_ms=500)
    wanted = [*places]
    wanted[0], wanted[1] = "b", "a"
    with FakeFlink(plans, [job]) as flink:
        flink.task_managers = [FakeTaskManager(t, f"10.0.0.{t}", 6000) for t in "ab"]
        path = write_plan(tmp_path / "wide.json", {MAP: wanted}, "wide")
        ran = edgeplace("flink", "apply", path, "--jobmanager", flink.url)
    assert ran.status is ExitStatus.OK, ran.err
    assert job.placement == {MAP: tuple(wanted)}


def test_a_write_that_fails_when_the_plan_has_its_name_is_undone(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.judge = lambda job, text: None if text == FORMER else ("moving", [])
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


def test_two_at_once_exclude_each_other(apply, flink, plans):
    with PlansFolder(plans).locked():
        ran = apply()
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "another edgeplace command is at work there" in ran.err
    assert_untouched(flink, plans)


def test_what_a_killed_command_staged_is_removed(apply, plans):
    (plans / ".plan-left").write_text("half a plan")
    apply()
    assert list(files(plans)) == ["wordcount.schedulercfg"]


def test_ctrl_c_puts_the_former_plan_back_and_says_so(apply, flink, plans, monkeypatch):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.judge = lambda job, text: None if text == FORMER else ("moving", [])

    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeplace.adapters.flink.apply.time.sleep", interrupted)
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert "the former plan was put back" in ran.err
    assert files(plans) == {"wordcount.schedulercfg": FORMER}


def test_ctrl_c_on_the_way_back_says_what_stands_there(apply, flink, plans, monkeypatch):
    flink.judge = lambda job, text: ("rejected", ["no"])
    flink.vertex_state = "FAILED"

    def verified(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeplace.adapters.flink.apply._Transition._verify", verified)
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert f"{plans / 'wordcount.schedulercfg'} was removed again" in ran.err
    assert files(plans) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_does_what_ctrl_c_does(apply, flink, plans, monkeypatch, number):
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    flink.judge = lambda job, text: None if text == FORMER else ("moving", [])
    monkeypatch.setattr(
        "edgeplace.adapters.flink.apply.time.sleep", lambda seconds: signal.raise_signal(number)
    )
    ran = apply()
    assert ran.status is ExitStatus.INTERRUPTED
    assert files(plans) == {"wordcount.schedulercfg": FORMER}
    assert signal.getsignal(number) is signal.SIG_DFL


class Full(StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("refused", [False, True])
def test_the_exit_status_tells_what_the_output_cannot(flink, plans, plan, refused):
    if refused:
        flink.judge = lambda job, text: ("rejected", ["no"])
    argv = ["flink", "apply", str(plan), "--jobmanager", flink.url, "--timeout", "3"]
    for more in ([], ["--json"]):
        status = main([*argv, *more], Console(Full(), Full()))
        assert status is (ExitStatus.NOT_APPLIED if refused else ExitStatus.OK)
        assert flink.jobs[0].placement == (START if refused else GOAL)


def test_the_doctor_asks_flink_what_the_agent_says(edgeplace, apply, flink):
    apply()
    flink.jobs[0].vertices[1].places = ["pi-1", "pi-2"]
    ran = edgeplace("flink", "doctor", "--jobmanager", flink.url)
    assert ran.status is ExitStatus.HINDERED
    assert "Flink shows 2 subtasks elsewhere: map (1/2) at pi-1, not at server" in ran.out


def test_help_teaches(edgeplace):
    for command in ("apply", "drain"):
        text = edgeplace("flink", command, "--help").out
        assert "examples:" in text
        assert "  7  " in text
