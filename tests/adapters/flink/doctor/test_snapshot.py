"""What the doctor reads from Flink's answers and the folder of plans."""

import json
from typing import Any

import pytest

from edgeplace.adapters.flink.doctor.examine import look
from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.model import InvalidInputError
from tests.support.doctor_case import agent

NOW_S = 1_000.0
JOB = "9339ac76019ab1be7e6d8e4d2f32a4c1"


class Answers:
    """Stands in for the client: the answers of Flink 2.3 that were saved, and more made up."""

    url = "http://flink:8081"

    def __init__(self, saved: dict[str, Any]) -> None:
        job = saved["job_detail"]
        self.by_path: dict[str, Any] = {
            "/overview": {"flink-version": "2.3.0"},
            "/jobs/overview": {
                "jobs": [
                    {"jid": JOB, "name": job["name"], "state": "RUNNING"}
                    | {"schedulerType": "Adaptive"},
                    {"jid": "0" * 32, "name": "old", "state": "CANCELED"},
                ]
            },
            "/taskmanagers": saved["taskmanagers"],
            "/jobmanager/config": [{"key": "rest.port", "value": "8081"}],
            "/jobmanager/environment": {"jvm": {"options": ["-Xmx1g"]}},
            f"/jobs/{JOB}": job,
            f"/jobs/{JOB}/plan": saved["job_plan"],
            f"/jobs/{JOB}/checkpoints/config": saved["checkpoints_config"],
            f"/jobs/{JOB}/checkpoints": {
                "counts": {"completed": 0, "failed": 0},
                "latest": {"completed": None, "failed": None},
            },
        }
        for tm in saved["taskmanagers"]["taskmanagers"]:
            more = {
                "allocatedSlots": [{"jobId": JOB}, {"jobId": JOB}],
                "metrics": {"nettyShuffleMemoryTotal": 8192 * 5}
                | {"nettyShuffleMemorySegmentsTotal": 5},
            }
            self.by_path[f"/taskmanagers/{tm['id']}"] = {**tm, **more}
        for name, answer in saved.items():
            if name.startswith("vertex_") and "subtasks" in answer and "parallelism" in answer:
                self.by_path[f"/jobs/{JOB}/vertices/{answer['id']}"] = answer

    def get(self, path: str, params: object = None) -> Any:
        if path not in self.by_path:
            raise FlinkNotFoundError(f"{path}: not found")
        return self.by_path[path]


@pytest.fixture
def flink(answers) -> Answers:
    return Answers(answers)


def test_jobs_and_task_managers_are_read(flink):
    seen = look(flink, NOW_S)
    assert (seen.release, seen.configuration) == ("2.3.0", {"rest.port": "8081"})
    (job,) = seen.jobs
    assert (job.id, job.state, job.scheduler, job.not_running) == (JOB, "RUNNING", "Adaptive", 0)
    assert {len(places) for places in job.places.values()} == {1, 2, 3}
    assert all(place for places in job.places.values() for place in places)
    assert job.checkpoints.interval_ms == 3000
    by_id = {tm.id: tm for tm in seen.task_managers}
    server = by_id["127.0.0.4:41063-393f59"]
    assert (server.host, server.slots, server.cores) == ("127.0.0.4", 8, 2)
    assert (server.segment_bytes, server.held) == (8192, {JOB: 2})
    assert server.off_heap_bytes == 48 * 2**20
    assert job.hosts[server.id] == "127.0.0.4"


def test_a_jobmanager_without_the_agent_has_no_folder(flink):
    seen = look(flink, NOW_S)
    assert (seen.has_environment, seen.agent_loaded, seen.plans) == (True, False, None)
    assert "runs without edgeplace's agent" in str(seen.no_plans)


def test_the_folder_is_found_by_the_options_of_the_jvm(flink, tmp_path):
    option = f"-javaagent:/opt/edgeplace-flink-agent.jar=plans={tmp_path}"
    flink.by_path["/jobmanager/environment"] = {"jvm": {"options": [option]}}
    seen = look(flink, NOW_S)
    assert (seen.agent_loaded, seen.plans.path, seen.plans.agent) == (True, tmp_path, None)


def test_a_folder_that_is_not_there_is_an_error_only_if_it_was_given(flink, tmp_path):
    missing = tmp_path / "none"
    option = f"-javaagent:/opt/edgeplace-flink-agent.jar=plans={missing}"
    flink.by_path["/jobmanager/environment"] = {"jvm": {"options": [option]}}
    assert str(missing) in look(flink, NOW_S).no_plans.what
    with pytest.raises(InvalidInputError, match="no such folder of plans"):
        look(flink, NOW_S, missing)


def test_the_folder_of_plans_is_read(flink, tmp_path):
    (tmp_path / "agent.json").write_text(agent().model_dump_json())
    (tmp_path / f"{JOB}.status.json").write_text(
        json.dumps({"edgeplace_status": 1, "job_id": JOB, "job_name": "m", "state": "placed"})
    )
    (tmp_path / "m.schedulercfg").write_text("a (1/2); pi-1\na; b (2/2); pi-2\nnonsense\n")
    (tmp_path / "m.until-999.schedulercfg").write_text("a (1/2); expired\n")
    (tmp_path / "m.until-1001.schedulercfg").write_text("a (1/2); pi-3\n")
    (tmp_path / ".draft.schedulercfg").write_text("a (1/2); hidden\n")
    plans = look(flink, NOW_S, tmp_path).plans
    assert plans.agent.pid == 4711
    assert plans.unreadable == ()
    assert plans.locations == {
        "m.schedulercfg": {"pi-1", "pi-2"},
        "m.until-1001.schedulercfg": {"pi-3"},
    }
    assert [(u.key, u.expires_s) for u in plans.until] == [("m", 1001)]
    assert look(flink, NOW_S, tmp_path).jobs[0].status.state == "placed"


def test_garbage_in_the_folder_is_told(flink, tmp_path):
    (tmp_path / "agent.json").write_text("{")
    (tmp_path / f"{JOB}.status.json").write_text('{"edgeplace_status": 2}')
    (tmp_path / "m.schedulercfg").write_bytes(b"\xff; \xfe\n")
    plans = look(flink, NOW_S, tmp_path).plans
    told = [e.what.partition(": ")[0] for e in (plans.agent, *plans.unreadable)]
    assert told == [str(tmp_path / "agent.json"), str(tmp_path / f"{JOB}.status.json")]
    assert len(plans.locations["m.schedulercfg"]) == 1


def test_a_job_or_task_manager_that_ends_meanwhile_is_left_out(flink):
    del flink.by_path[f"/jobs/{JOB}"]
    del flink.by_path["/taskmanagers/127.0.0.4:41063-393f59"]
    seen = look(flink, NOW_S)
    assert seen.jobs == ()
    assert {tm.cores for tm in seen.task_managers} == {2, None}


def test_a_job_that_cannot_be_read_is_told(flink):
    flink.by_path[f"/jobs/{JOB}"] = {**flink.by_path[f"/jobs/{JOB}"], "job-type": "BATCH"}
    (job,) = look(flink, NOW_S).jobs
    assert (job.graph, job.unread) == (None, f"job {JOB} is a batch job")


def test_a_flink_without_the_page_of_its_options(flink):
    del flink.by_path["/jobmanager/environment"]
    assert not look(flink, NOW_S).has_environment


def test_metrics_that_are_not_there_yet(flink):
    detail = flink.by_path["/taskmanagers/127.0.0.4:41063-393f59"]
    detail["metrics"] = {"nettyShuffleMemoryTotal": 0, "nettyShuffleMemorySegmentsTotal": 0}
    by_id = {tm.id: tm for tm in look(flink, NOW_S).task_managers}
    assert by_id["127.0.0.4:41063-393f59"].segment_bytes is None
