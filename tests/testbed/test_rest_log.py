import io
import json
from typing import Any

import pytest

rest_log = pytest.importorskip(
    "testbed.rest_log", reason="the testbed is not in the wheel, and not beside these tests"
)

JOB = "/jobs/j1"
ANSWERS: dict[str, Any] = {
    JOB: {"timestamps": {"RUNNING": 7}, "vertices": [{"id": "v1"}]},
    f"{JOB}/plan": {"plan": {"nodes": [{"id": "v1"}]}},
    f"{JOB}/metrics": [],
    f"{JOB}/checkpoints": {"latest": {"completed": {"id": 3}}},
    f"{JOB}/checkpoints/config": {"mode": "exactly_once"},
    f"{JOB}/checkpoints/details/3/subtasks/v1": {"subtasks": []},
    f"{JOB}/vertices/v1": {"name": "Source: capteurs à Nice"},
    "/config": {"flink-version": "2.3.0"},
    "/taskmanagers": {"taskmanagers": [{"id": "pi-nice-1"}]},
    "/taskmanagers/pi-nice-1/metrics": [{"id": "Status.JVM.CPU.Load", "value": "0.1"}],
    "/jobmanager/config": [
        {"key": "rest.port", "value": "8081"},
        {"key": "s3.secret-key", "value": "hunter2"},
        {"key": "security.ssl.rest.key-Password", "value": "hunter2"},
        {"key": "security.delegation.tokens.enabled", "value": "hunter2"},
    ],
}
METRICS = ["0.numRecordsIn", "0.Source__sensors.numRecordsOut", "0.a.b.numRecordsOut", "0.noise"]


class FakeRest:
    def get(self, path: str, get: list[str] | None = None) -> Any:
        if path != f"{JOB}/vertices/v1/metrics":
            return ANSWERS[path]
        return [{"id": name, "value": "1"} if get else {"id": name} for name in get or METRICS]


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of two polls."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    text = io.StringIO()
    log = rest_log.RestLog(FakeRest(), "j1", text)
    log.poll()
    log.poll()
    assert text.getvalue().endswith("\n")
    return text.getvalue().splitlines()


def test_a_line_is_one_answer_as_flink_gave_it(polls: list[str]) -> None:
    entries = [json.loads(line) for line in polls]

    assert {tuple(entry) for entry in entries} == {("edgeplace_log", "ts_ms", "path", "answer")}
    assert {entry["edgeplace_log"] for entry in entries} == {1}
    stamps = [entry["ts_ms"] for entry in entries]
    assert stamps == sorted(stamps) and all(isinstance(stamp, int) for stamp in stamps)
    assert {"path": f"{JOB}/vertices/v1", "answer": ANSWERS[f"{JOB}/vertices/v1"]}.items() <= (
        next(entry for entry in entries if entry["path"] == f"{JOB}/vertices/v1").items()
    )
    assert any("capteurs à Nice" in line for line in polls)


def test_what_does_not_change_is_written_once(polls: list[str]) -> None:
    paths = [json.loads(line)["path"] for line in polls]

    assert paths.count(f"{JOB}/vertices/v1/metrics") == 2
    assert paths.count(f"{JOB}/plan") == 1
    assert paths.count(f"{JOB}/checkpoints/details/3/subtasks/v1") == 1


def test_only_metrics_that_are_used_are_asked_for(polls: list[str]) -> None:
    entries = [json.loads(line) for line in polls]
    asked = next(e["answer"] for e in entries if e["path"] == f"{JOB}/vertices/v1/metrics")

    assert [metric["id"] for metric in asked] == METRICS[:2]


def test_secrets_stay_out_of_the_log(polls: list[str]) -> None:
    assert not any("hunter2" in line for line in polls)
    assert any("rest.port" in line for line in polls)
