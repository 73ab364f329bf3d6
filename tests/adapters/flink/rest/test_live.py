"""What a running Flink says, from recorded answers of Flink 2.3 and a Flink of memory."""

import re

import pytest

from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink, cluster_of
from edgeplace.model import InvalidInputError
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import now_ms, wordcount


class Recorded:
    """Answers as a client would give them, by path."""

    url = "recorded"

    def __init__(self, answers):
        self._answers = answers

    def get(self, path, params=None):
        vertex = re.fullmatch(r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})", path)
        if vertex:
            return next(a for a in self._answers.values() if a.get("id") == vertex[1])
        names = {"/taskmanagers": "taskmanagers", "/plan": "job_plan"}
        for end, name in {**names, "checkpoints/config": "checkpoints_config"}.items():
            if path.endswith(end):
                return self._answers[name]
        return self._answers["job_detail"]


def test_recorded_answers(answers):
    answers = {k: v for k, v in answers.items() if k not in ("vertex_agg_backpressure",)}
    answers = {k: v for k, v in answers.items() if not k.endswith("_taskmanagers")}
    live = LiveFlink(Recorded(answers))
    job_id = answers["job_detail"]["jid"]
    subtasks = live.subtasks(job_id)
    assert sum(map(len, subtasks.values())) == 12
    assert {s.state for of in subtasks.values() for s in of} == {"RUNNING"}
    tms = live.task_managers()
    assert {tm.host for tm in tms} == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    assert {s.task_manager for of in subtasks.values() for s in of} == {tm.id for tm in tms}
    assert live.job_graph(job_id).checkpoint_interval_ms == 3000
    assert [tm.host for tm in cluster_of(tms).task_managers] == [tm.host for tm in tms]


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


@pytest.fixture
def live(flink):
    with FlinkClient(flink.url) as client:
        yield LiveFlink(client)


def test_jobs_that_have_not_ended(flink, live):
    flink.jobs += [wordcount("again", "b" * 32), wordcount("gone", "c" * 32)]
    flink.jobs[1].state, flink.jobs[2].state = "RESTARTING", "CANCELED"
    assert [(j.name, j.state) for j in live.jobs()] == [
        ("wordcount", "RUNNING"),
        ("again", "RESTARTING"),
    ]


def test_a_subtask_that_is_nowhere(flink, live):
    flink.jobs[0].vertices[0].places[1] = None
    assert live.placement("a" * 32)[f"{1:032x}"] == ("pi-1", None)


def test_who_holds_the_slots(flink, live):
    assert live.slots_held("pi-1") == {"a" * 32: 1}
    assert {tm.id: tm.free_slots for tm in live.task_managers()} == {
        "pi-1": 1,
        "pi-2": 1,
        "pi-3": 2,
        "server": 3,
    }


def test_checkpoints(flink, live):
    job = flink.jobs[0]
    seen = live.checkpoints(job.id)
    assert seen.interval_ms == 200
    assert seen.last.state_bytes == 5000
    assert live.state_bytes(job.id, seen.last.id, f"{2:032x}") == {0: 1000, 1: 1000}
    assert live.state_bytes(job.id, seen.last.id, "f" * 32) == {}
    job.checkpoints_fail = True
    seen = live.checkpoints(job.id)
    assert (seen.last, seen.last_failure) == (None, "storage is full")
    job.interval_ms = None
    assert live.checkpoints(job.id).interval_ms is None
    with pytest.raises(FlinkNotFoundError):
        live.checkpoints("d" * 32)


def test_exceptions_from_a_time_on(flink, live):
    at = now_ms()
    flink.jobs[0].exceptions = [(at - 5, "old"), (at, "new: one")]
    assert [e.text for e in live.exceptions("a" * 32, at)] == ["new: one"]


def test_what_it_is(live):
    assert live.version() == "2.3.0"
    assert live.configuration() == {"rest.port": "8081"}


@pytest.mark.parametrize("answer", [[], [None], 5, "x", {}, {"jid": 1}])
def test_what_is_no_answer_about_a_job(answer):
    with FakeFlink(None) as flink, FlinkClient(flink.url) as client:
        flink.answer = lambda path, authorization: (200, answer)
        live = LiveFlink(client)
        for ask in (live.job_graph, live.subtasks, live.state):
            with pytest.raises(InvalidInputError, match="the answer to /jobs/"):
                ask("a" * 32)
