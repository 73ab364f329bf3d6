"""Collecting from a Flink of memory that restarts, moves and goes away."""

import gzip
import json
import re
from importlib import import_module
from urllib.parse import urlsplit

import pytest

from edgeplace.adapters.flink import answers_from_log
from edgeplace.adapters.flink.collect.collect import (
    Collected,
    CollectEnd,
    collect,
    followed_job,
    polling_interval_s,
)
from edgeplace.adapters.flink.collect.log_file import LogFolder
from edgeplace.adapters.flink.collect.poll import SUBTASK_METRICS
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.adapters.flink.rest.metric_age import OPTION, fetch_interval_s
from edgeplace.model import InvalidInputError
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeVertex, wordcount

MB = 10**6
JOB = "/jobs/" + "a" * 32
SOURCE = f"{JOB}/vertices/{1:032x}"
MAP = f"{JOB}/vertices/{2:032x}"


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


class Steps:
    """Does something after each poll, and ends collecting when there is nothing left to do.

    What is done after a gap was noted comes from `in_gaps`.
    """

    def __init__(self, after_polls=(), in_gaps=()):
        self.after_polls, self.in_gaps = list(after_polls), list(in_gaps)
        self.said = []

    def polled(self, so_far: Collected) -> None:
        if not self.after_polls:
            raise KeyboardInterrupt
        self.after_polls.pop(0)()

    def say(self, text: str) -> None:
        self.said.append(text)
        if "a gap in the log" in text and self.in_gaps:
            self.in_gaps.pop(0)()


def nothing():
    pass


@pytest.fixture
def collected(flink, tmp_path):
    """Collect, and return what came of it and the lines of the log."""

    def run(
        steps: Steps,
        ref: str | None = None,
        name: str | None = None,
        interval_s: float = 0.02,
        duration_s: float | None = None,
    ):
        log = LogFolder(tmp_path / "log", MB)
        with FlinkClient(flink.url, timeout_s=1.0) as client:
            job = followed_job(LiveFlink(client), ref or name)
            done = collect(
                client,
                log,
                steps,
                job=job,
                name=name,
                interval_s=interval_s,
                duration_s=duration_s,
            )
        log.close()
        paths = sorted((tmp_path / "log").iterdir())
        text = b"".join(gzip.decompress(p.read_bytes()) for p in paths)
        return done, [json.loads(line) for line in text.splitlines()]

    return run


def paths(lines):
    return [re.sub("/details/[0-9]+", "/details/N", line["path"]) for line in lines]


def test_a_log_has_what_costs_need(flink, collected):
    done, lines = collected(Steps([nothing, nothing]))
    assert done.end is CollectEnd.INTERRUPT
    assert done.polls == 3
    assert done.jobs == {"a" * 32: "wordcount"}
    assert {tuple(line) for line in lines} == {("edgeplace_log", "ts_ms", "path", "answer")}
    assert [line["ts_ms"] for line in lines] == sorted(line["ts_ms"] for line in lines)
    seen = paths(lines)
    # What changes only when the job starts anew is there once.
    assert seen.count(f"{JOB}/plan") == seen.count(f"{JOB}/checkpoints/config") == 1
    for path in (JOB, SOURCE, f"{SOURCE}/metrics", "/taskmanagers", "/taskmanagers/pi-1/metrics"):
        assert seen.count(path) == 3, path
    assert f"{JOB}/checkpoints/details/N/subtasks/{1:032x}" in seen
    # pi-3 runs nothing of the job.
    assert "/taskmanagers/pi-3/metrics" not in seen
    metrics = next(line["answer"] for line in lines if line["path"] == f"{SOURCE}/metrics")
    assert [m["id"] for m in metrics] == [
        f"{i}.{name}"
        for i in (0, 1)
        for name in (
            "numRecordsIn",
            "numRecordsOut",
            "accumulateBusyTimeMs",
            "Source__lines.numRecordsOut",
        )
    ]
    assert done.values == sum(len(x["answer"]) for x in lines if x["path"].endswith("/metrics"))


def test_an_answer_is_logged_as_flink_gave_it(flink, collected):
    flink.jobs[0].name = "capteurs à Nice"
    _, lines = collected(Steps())
    [plan] = [line["answer"] for line in lines if line["path"] == f"{JOB}/plan"]
    assert (200, plan) == flink.answer(f"{JOB}/plan", None)
    assert plan["plan"]["name"] == "capteurs à Nice"


def test_neither_other_metrics_nor_secrets_are_logged(flink, collected):
    flink.metrics = {"noise": "1", "decode.numRecordsOut": "1", "Shuffle.numBytesInRemote": "1"}
    flink.configuration["s3.secret-key"] = "hunter2"
    _, lines = collected(Steps())
    logged = json.dumps(lines)
    assert not [name for name in (*flink.metrics, "hunter2") if name in logged]
    assert "0.Source__lines.numRecordsOut" in logged


def test_the_log_is_read_as_one(flink, collected, tmp_path):
    collected(Steps())
    [path] = (tmp_path / "log").iterdir()
    answers = answers_from_log(path)
    assert answers.job_graph().name == "wordcount"
    assert answers.placement() == flink.jobs[0].placement


def test_a_checkpoint_is_logged_once(flink, collected):
    flink.jobs[0].interval_ms = 10**9
    flink.jobs[0].deployed_ms -= 10**9
    done, lines = collected(Steps([nothing] * 3))
    assert done.last.checkpoint == 1
    assert paths(lines).count(f"{JOB}/checkpoints") == 1


def test_a_job_without_checkpoints(flink, collected):
    flink.jobs[0].interval_ms = None
    done, lines = collected(Steps())
    assert done.polls == 1 and done.last.checkpoint is None
    assert f"{JOB}/checkpoints" not in paths(lines)


def test_the_fetch_is_started_before_anything_is_read(flink, collected):
    collected(Steps())
    asked = [urlsplit(path).path for path in flink.asked]
    assert asked.index(f"{JOB}/metrics") < asked.index(f"{SOURCE}/metrics")


def test_a_log_begins_when_flink_has_new_metrics_and_says_of_whom_it_has_none(
    flink, collected, monkeypatch
):
    told = flink._tm_metrics
    monkeypatch.setattr(
        flink,
        "_tm_metrics",
        lambda tm: flink._values({"Status.JVM.CPU.Time": 7}) if tm == "pi-1" else told(tm),
    )
    steps = Steps()
    done, lines = collected(steps, interval_s=0.5)
    assert done.polls == 1 and lines
    [said] = steps.said
    assert said.startswith("Flink has no new metrics of pi-1 after 0.5 s")
    asked = [path for path in flink.asked if "Status.JVM.CPU.Time" in path]
    first = next(i for i, path in enumerate(flink.asked) if path.startswith(f"{SOURCE}/metrics"))
    assert sum("/pi-1/" in path for path in asked[:first]) >= 2


def test_a_wide_job_is_asked_for_in_portions_of_whole_subtasks(flink, collected):
    flink.jobs[0].vertices[1] = FakeVertex(f"{2:032x}", "map", ["pi-1", "pi-2"] * 500)
    flink.metrics = dict.fromkeys(SUBTASK_METRICS, "1")
    done, lines = collected(Steps())
    portions = [line["answer"] for line in lines if line["path"] == f"{MAP}/metrics"]
    subtasks = [{m["id"].partition(".")[0] for m in portion} for portion in portions]
    assert sum(map(len, subtasks)) == len(set().union(*subtasks)) == 1000
    assert sum(map(len, portions)) == 1000 * len(SUBTASK_METRICS)
    # Flink's limit is 4,096 with method and version.
    assert max(map(len, flink.asked)) < 4000
    requests = [path for path in flink.asked if path.startswith(f"{MAP}/metrics?")]
    assert len(requests) == len(portions)
    # No request but the last has room for one more subtask.
    longest = max(len(path) for path in requests)
    of_one = longest // (1000 // len(portions))
    assert min(map(len, requests[:-1])) > longest - of_one
    # The first poll ends with the checkpoints; before it are questions about job and TaskManagers.
    began = flink.asked.index(f"{JOB}/metrics")
    assert done.last.requests == len(flink.asked) - began


def test_counters_that_come_late_are_looked_for(flink, collected):
    flink.jobs[0].vertices[0].name = "lines"

    def register():
        flink.jobs[0].vertices[0].name = "Source: lines"

    _, lines = collected(Steps([nothing, register, nothing]))
    has = [
        any(m["id"] == "1.Source__lines.numRecordsOut" for m in line["answer"])
        for line in lines
        if line["path"] == f"{SOURCE}/metrics"
    ]
    assert has == [False, False, True, True]


def test_a_new_attempt_is_described_anew(flink, collected):
    def restart():
        flink.jobs[0].deployed_ms += 1

    _, lines = collected(Steps([nothing, restart, nothing]))
    assert paths(lines).count(f"{JOB}/plan") == 2


def test_a_task_manager_that_goes_is_no_gap(flink, collected):
    def lose():
        flink.task_managers = flink.task_managers[1:]

    done, lines = collected(Steps([lose, nothing]))
    assert done.polls == 3 and not done.gaps
    assert paths(lines).count("/taskmanagers/pi-1/metrics") == 1


def test_a_cut_is_a_gap_said_once(flink, collected):
    def cut():
        flink.down = True

    def mend():
        flink.down = False

    steps = Steps([cut, nothing], [mend])
    done, _ = collected(steps)
    assert done.polls == 3
    [gap] = done.gaps
    assert "no connection" in gap.reason
    assert gap.from_ms <= gap.to_ms
    gap_begins, gap_ends = (text for text in steps.said if "a poll took" not in text)
    assert "a gap in the log" in gap_begins and "collecting continues after" in gap_ends


def test_a_job_that_restarts_is_a_gap(flink, collected):
    job = flink.jobs[0]
    steps = Steps([lambda: setattr(job, "state", "RESTARTING")], [lambda: job_runs(job)])
    done, _ = collected(steps)
    assert [gap.reason for gap in done.gaps] == ["the job is RESTARTING"]
    assert done.polls == 2


def test_a_suspended_job_is_waited_for(flink, collected):
    """Another JobManager may take it over: it has not ended for good."""
    job = flink.jobs[0]
    steps = Steps([lambda: setattr(job, "state", "SUSPENDED")], [lambda: job_runs(job)])
    done, _ = collected(steps, ref="a" * 32)
    assert [gap.reason for gap in done.gaps] == ["the job is SUSPENDED"]
    assert done.polls == 2


def job_runs(job):
    job.state = "RUNNING"


def test_a_name_is_followed_over_resubmissions(flink, collected):
    def cancel():
        flink.jobs[0].state = "CANCELED"

    def submit():
        flink.submit(wordcount(job_id="b" * 32))

    done, lines = collected(Steps([cancel], [submit]), name="wordcount")
    assert done.jobs == {"a" * 32: "wordcount", "b" * 32: "wordcount"}
    assert "CANCELED" in done.gaps[0].reason
    assert f"/jobs/{'b' * 32}/plan" in paths(lines)


def test_a_name_is_followed_when_the_jobmanager_has_forgotten_the_run(flink, collected):
    steps = Steps([flink.jobs.clear], [lambda: flink.submit(wordcount(job_id="b" * 32))])
    done, _ = collected(steps, name="wordcount")
    assert list(done.jobs) == ["a" * 32, "b" * 32]


def test_a_name_is_waited_for(flink, collected):
    flink.jobs = []
    steps = Steps(in_gaps=[lambda: flink.submit(wordcount())])
    done, _ = collected(steps, name="wordcount")
    assert done.gaps[0].reason == "waiting for a job called 'wordcount'; Flink runs no job"
    assert done.polls == 1
    assert any("following job" in text for text in steps.said)


def test_an_id_ends_with_its_run(flink, collected):
    flink.submit(wordcount(job_id="b" * 32))

    def finish():
        flink.jobs[0].state = "FINISHED"

    done, _ = collected(Steps([finish]), ref="a" * 32)
    assert done.end is CollectEnd.JOB_ENDED
    assert done.end_reason == "the job is FINISHED"


def test_a_run_that_flink_has_forgotten_for_long_is_gone(flink, collected, monkeypatch):
    module = import_module("edgeplace.adapters.flink.collect.collect")
    monkeypatch.setattr(module, "_GONE_AFTER_S", 0.01)
    done, _ = collected(Steps([flink.jobs.clear]))
    assert done.end is CollectEnd.JOB_GONE
    assert "not known" in done.end_reason


def test_it_ends_after_a_time(collected):
    done, _ = collected(Steps([nothing] * 1000), duration_s=0.1)
    assert done.end is CollectEnd.DURATION
    assert done.polls >= 1


def test_every_file_says_what_the_job_is(flink, tmp_path, monkeypatch):
    monkeypatch.setattr("edgeplace.adapters.flink.collect.log_file._ROTATE_BYTES", 1)
    log = LogFolder(tmp_path, MB)
    with FlinkClient(flink.url) as client:
        job = followed_job(LiveFlink(client), None)
        collect(client, log, Steps([nothing] * 2), job=job, name=None, interval_s=0.02)
    log.close()
    files = list(tmp_path.iterdir())
    assert len(files) == 3
    assert all(b"/plan" in gzip.decompress(p.read_bytes()) for p in files)


def test_a_poll_that_takes_longer_than_the_interval_is_said_once(collected):
    steps = Steps([nothing] * 2)
    done, _ = collected(steps, interval_s=1e-6)
    assert done.polls == 3 and not done.gaps
    [said] = steps.said
    assert "longer than the interval" in said


@pytest.mark.parametrize("ref", [None, "wordcount"])
def test_which_of_several_jobs_has_to_be_said(flink, ref):
    flink.submit(wordcount(job_id="b" * 32))
    with FlinkClient(flink.url) as client, pytest.raises(InvalidInputError, match="2 jobs") as e:
        followed_job(LiveFlink(client), ref)
    assert "a" * 32 in e.value.what and e.value.cure == "--job ID"


@pytest.mark.parametrize(("ref", "said"), [(None, "runs no job"), ("c" * 32, "no running job")])
def test_no_job(flink, ref, said):
    flink.jobs = []
    with FlinkClient(flink.url) as client, pytest.raises(InvalidInputError, match=said):
        followed_job(LiveFlink(client), ref)


@pytest.mark.parametrize(
    ("text", "interval_s"),
    [("2500 ms", 2.5), ("2s", 2), ("1 min", 60), ("700", 0.7), ("PT1S", 10), ("", 10)],
)
def test_flinks_interval(text, interval_s):
    assert fetch_interval_s({OPTION: text}) == pytest.approx(interval_s)


def test_no_metrics_at_all():
    with pytest.raises(InvalidInputError, match="no metrics over REST"):
        fetch_interval_s({OPTION: "0"})


def test_polls_are_not_closer_than_flinks_fetches(flink):
    with FlinkClient(flink.url) as client:
        live = LiveFlink(client)
        assert polling_interval_s(live, 2.0) == 10.5
        flink.configuration[OPTION] = "1 s"
        assert polling_interval_s(live, 2.0) == 2.0
