"""`flink apply` against a Flink of memory that obeys."""

import json
from io import StringIO

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeJob, FakeTaskManager, FakeVertex, wordcount
from tests.support.flink_case import (
    FORMER,
    GOAL,
    MAP,
    SINK,
    SRC,
    START,
    assert_untouched,
    files,
    write_plan,
)


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


def test_the_plan_file_says_what_the_plan_promises(apply, flink, plans, tmp_path):
    path = write_plan(tmp_path / "plan.json", GOAL)
    plan = json.loads(path.read_text())
    plan["uses"] = {"wordcount": {"bytes_per_s": {"lyon": {"cloud": 65000}}}}
    plan["headroom"] = 1.5
    path.write_text(json.dumps(plan))
    assert apply(of=path).status is ExitStatus.OK
    top = (plans / "wordcount.schedulercfg").read_text().splitlines()[:2]
    assert top == ["# predicted-wan-bytes-per-s: 65000", "# predicted-headroom-percent: 150"]
    assert "nothing to do" in apply(of=path).out


def test_an_agent_without_metrics_of_plans_gets_a_plan_that_it_can_read(
    apply, flink, plans, tmp_path
):
    flink.agent.settings = ["epoch", "checkpoint-interval-ms"]
    flink.agent.beat()
    path = write_plan(tmp_path / "plan.json", GOAL)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"headroom": 1.5}))
    assert apply(of=path).status is ExitStatus.OK
    assert "#" not in (plans / "wordcount.schedulercfg").read_text()


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


SITES = """\
sites: [{id: lyon}, {id: cloud}]
nodes:
  - {id: pi-1, site: lyon, cores: 4, slots: 2, host: 10.0.0.1}
  - {id: pi-2, site: lyon, cores: 4, slots: 2, host: 10.0.0.2}
  - {id: pi-3, site: lyon, cores: 4, slots: 2, host: 10.0.0.3}
  - {id: server, site: cloud, cores: 4, slots: 4, host: 10.0.0.9}
links: [{source: lyon, target: cloud, bandwidth_bytes_per_s: 500, both_ways: true}]
"""


@pytest.mark.parametrize(
    ("storage", "is_on", "planned", "read", "seconds"),
    [
        # Both move to where the storage is, or one does.
        ("cloud", True, True, {"server": 1000, "pi-3": 1000}, 2.0),
        ("lyon", True, True, {"server": 1000, "pi-3": 1000}, 2.0),
        # All state is read back without local recovery, and by a job without a plan.
        ("cloud", False, True, {"pi-1": 1000, "pi-2": 1000, "pi-3": 1000, "server": 2000}, 6.0),
        ("cloud", True, False, {"pi-1": 1000, "pi-2": 1000, "pi-3": 1000, "server": 2000}, 6.0),
        (None, True, True, {"server": 1000, "pi-3": 1000}, None),
    ],
)
def test_the_pause_has_the_time_to_read_state_back(
    apply, flink, tmp_path, storage, is_on, planned, read, seconds
):
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(SITES + (f"checkpoint_storage: {storage}\n" if storage else ""))
    flink.configuration["state.backend.local-recovery"] = str(is_on).lower()
    if planned:
        assert apply(of=write_plan(tmp_path / "now.json", START)).status is ExitStatus.OK
    ran = apply("--dry-run", "--json", "--cluster", cluster)
    (job,) = json.loads(ran.out)["jobs"]
    assert (job["read_bytes"], job["read_s"]) == (read, seconds)
    ran = apply("--dry-run", "--cluster", cluster)
    counted = "is not counted" if seconds is None else f"and {seconds:.1f} s to read state back"
    assert counted in " ".join(ran.out.split())


def test_a_schedulercfg_is_a_plan_too(apply, flink, tmp_path):
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("map (1/2); pi-1", "map (1/2); 10.0.0.9"))
    assert apply(of=path).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == ("server", "pi-2")


def test_a_host_stays_a_host_in_the_file(apply, plans, tmp_path):
    """An id dies with the pod that has it."""
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("; pi-2", "; 10.0.0.2"))
    assert apply(of=path).status is ExitStatus.OK
    (text,) = files(plans).values()
    assert text == path.read_text()
    path.write_text(FORMER)
    assert apply(of=path).status is ExitStatus.OK
    (text,) = files(plans).values()
    assert text == FORMER


def test_a_host_of_two_task_managers_gives_way_to_ids(apply, flink, plans, tmp_path):
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("; pi-2", "; 10.0.0.2"))
    apply(of=path)
    flink.task_managers.append(FakeTaskManager("pi-2b", "10.0.0.2", 2))
    ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "10.0.0.2" in ran.err
    assert apply(of=write_plan(tmp_path / "ids.json", START)).status is ExitStatus.OK
    assert files(plans)["wordcount.schedulercfg"] == FORMER


def test_the_names_of_a_cluster_file_are_understood(apply, flink, plans, tmp_path):
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
    # The file names the nodes by hosts, so does the plan.
    assert "map (1/2); 10.0.0.9\n" in files(plans)["wordcount.schedulercfg"]


def test_jobs_of_one_name_get_plans_by_id(apply, flink, plans):
    flink.task_managers.append(FakeTaskManager("spare", "10.0.0.8", 9))
    twin = wordcount(job_id="b" * 32)
    for vertex in twin.vertices:
        vertex.places = ["spare"] * len(vertex.places)
    flink.submit(twin)
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "2 running jobs" in ran.err
    assert apply("--job", "a" * 32).status is ExitStatus.OK
    assert list(files(plans)) == [f"{'a' * 32}.schedulercfg"]
    assert twin.moves == 0


@pytest.fixture
def other(flink):
    """A job of other tasks, which runs beside the first."""
    job = FakeJob("c" * 32, "other", [FakeVertex(f"{9:032x}", "x", ["pi-3"])])
    flink.submit(job)
    return job


def schedulercfg_by_id(path):
    lines = FORMER.replace("map (1/2); pi-1", "map (1/2); 10.0.0.9")
    for name, task_id in (("Source: lines", SRC), ("map", MAP), ("Sink: out", SINK)):
        lines = lines.replace(name, task_id)
    path.write_text(lines)
    return path


@pytest.mark.parametrize("by_id", [False, True])
def test_a_schedulercfg_finds_its_job(apply, flink, other, tmp_path, by_id):
    path = schedulercfg_by_id(tmp_path / "schedulercfg")
    if not by_id:
        path.write_text(FORMER.replace("map (1/2); pi-1", "map (1/2); 10.0.0.9"))
    assert apply(of=path).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == ("server", "pi-2")
    assert other.moves == 0


def test_a_schedulercfg_that_fits_two_jobs_or_none_says_so(apply, flink, other, tmp_path):
    path = schedulercfg_by_id(tmp_path / "schedulercfg")
    path.write_text(path.read_text().replace(f"{SINK} (1/1)", f"{9:032x} (1/1)"))
    ran = apply(of=path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "names tasks that no running job has" in ran.err
    twin = wordcount("twin", "b" * 32)
    flink.submit(twin)
    ran = apply(of=schedulercfg_by_id(path))
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"can be for 2 running jobs: 'wordcount' ({'a' * 32}), 'twin'" in ran.err
    assert "other" not in ran.err.split("can be for")[1]
    assert f"say which: --job {'a' * 32} or --job wordcount" in ran.err
    flink.submit(wordcount("wordcount", "d" * 32))
    ran = apply()
    assert ran.status is ExitStatus.INVALID_INPUT
    # The name says nothing where two have it.
    assert "say which: --job aaaa" in ran.err and "--job wordcount" not in ran.err


def test_a_job_with_a_finished_source_is_moved(apply, flink):
    flink.jobs[0].vertices[0].state = "FINISHED"
    ran = apply()
    assert ran.status is ExitStatus.OK, ran.err
    assert flink.jobs[0].placement == GOAL


def test_a_plan_by_id_that_is_there_is_the_one_that_is_written(apply, plans):
    by_id = plans / f"{'a' * 32}.schedulercfg"
    by_id.write_text(FORMER)
    assert apply().status is ExitStatus.OK
    assert "map (1/2); server" in by_id.read_text()
    assert list(files(plans)) == [by_id.name]


@pytest.mark.slow
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


def test_a_job_that_waits_for_a_lost_task_manager_gets_another_plan(apply, flink, plans):
    job = flink.jobs[0]
    (plans / "wordcount.schedulercfg").write_text(FORMER)
    with flink.lock:
        flink.task_managers = [t for t in flink.task_managers if t.id != "pi-2"]
        job.vertex_state, job.waiting_for, job.interval_ms = "SCHEDULED", ["pi-2"], 100
        for vertex in job.vertices:
            vertex.places = [None] * len(vertex.places)
        flink.agent.judge = lambda job, text: ("waiting", []) if text == FORMER else None
        flink.agent.obey(job)
    wanted = FORMER.replace("pi-2", "pi-3")
    path = plans.with_name("schedulercfg")
    path.write_text(wanted)
    ran = apply(of=path)
    assert ran.status is ExitStatus.OK, ran.err
    assert "(unassigned)  pi-3" in ran.out
    assert job.placement[MAP] == ("pi-1", "pi-3")


def test_the_word_on_a_former_attempt_does_not_count(apply, flink, plans, tmp_path):
    job = flink.jobs[0]
    path = tmp_path / "schedulercfg"
    path.write_text(FORMER.replace("map (1/2); pi-1", "map (1/2); server"))
    with flink.lock:
        job.checkpoints_fail = True
        (plans / "wordcount.schedulercfg").write_text(path.read_text())
        flink.agent.obey(job)
        job.checkpoints_fail = False
    ran = apply(of=path)
    assert ran.status is ExitStatus.OK, ran.err
    assert job.placement[MAP] == ("server", "pi-2")


def test_garbage_that_stood_there_is_replaced(apply, flink, plans):
    (plans / "wordcount.schedulercfg").write_bytes(b"\xff garbage")
    assert apply().status is ExitStatus.OK
    assert flink.jobs[0].placement == GOAL


def test_what_a_killed_command_staged_is_removed(apply, plans):
    (plans / ".plan-left").write_text("half a plan")
    apply()
    assert list(files(plans)) == ["wordcount.schedulercfg"]


@pytest.mark.slow
def test_checkpoints_that_are_not_due_in_time_are_a_warning(apply, flink):
    flink.jobs[0].interval_ms = 100_000
    flink.jobs[0].deployed_ms -= 200_000
    ran = apply("--timeout", 1)
    assert ran.status is ExitStatus.OK
    assert "warning: none of the checkpoints (every 100 s) was due" in ran.err
    assert "a checkpoint has completed" not in ran.out


class Full(StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_the_exit_status_tells_what_the_output_cannot(flink, plans, plan, refused):
    if refused:
        flink.agent.judge = lambda job, text: ("rejected", ["no"])
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
