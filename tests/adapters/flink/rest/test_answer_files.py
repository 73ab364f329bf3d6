import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink import SavedAnswers, answers_from_files, answers_from_log, load_job
from edgeplace.model import Cluster, InvalidInputError, write

DEMO_LOG = Path(__file__).parents[4] / "instances" / "demo" / "metrics.jsonl.gz"
JID = "9339ac76019ab1be7e6d8e4d2f32a4c1"
AGG = "96eed58e350a66c179f06330f5425345"
AGG_PLACES = ("127.0.0.4:41063-393f59", "127.0.0.4:41063-393f59", "127.0.0.3:39035-de67c7")


def entries(a: dict[str, Any], jid: str = JID) -> list[dict[str, Any]]:
    """Return the answers as a log has them, some kinds of no use to us between."""
    job = f"/jobs/{jid}"
    rows = [
        ("/config", {"flink-version": "2.3.0"}),
        (job, a["job_detail"]),
        (f"{job}/plan", a["job_plan"]),
        (f"{job}/checkpoints/config", a["checkpoints_config"]),
        ("/taskmanagers", a["taskmanagers"]),
    ]
    for name in ("source", "map", "filter", "agg", "sink", "end"):
        vertex = a[f"vertex_{name}"]
        rows.append((f"{job}/vertices/{vertex['id']}", vertex))
        rows.append((f"{job}/vertices/{vertex['id']}/metrics", [{"id": "0.x", "value": "1"}]))
    return [
        {"edgeplace_log": 1, "ts_ms": i, "path": p, "answer": x} for i, (p, x) in enumerate(rows)
    ]


def log(path: Path, rows: Iterable[Any]) -> Path:
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def test_a_folder_is_recognised_by_content(saved: Path, tmp_path: Path) -> None:
    for i, file in enumerate(sorted(saved.glob("*.json"), reverse=True)):
        shutil.copy(file, tmp_path / f"{i}.json")
    (tmp_path / "notes.txt").write_text("not json")
    job, places = load_job(tmp_path)
    assert job == load_job(saved)[0]
    assert job.name == "metrics"
    assert len(job.operators) == 6
    assert places is not None
    assert places[AGG] == AGG_PLACES
    assert sum(len(row) for row in places.values()) == 12


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "no-suffix"])
def test_a_log_says_the_same_as_the_folder(
    saved: Path, answers: dict[str, Any], tmp_path: Path, name: str
) -> None:
    assert load_job(log(tmp_path / name, entries(answers))) == load_job(saved)


def test_the_last_answer_counts(answers: dict[str, Any], tmp_path: Path) -> None:
    rows = entries(answers)
    moved = json.loads(json.dumps(answers["vertex_agg"]))
    moved["subtasks"][0]["taskmanager-id"] = "elsewhere"
    rows.append({**rows[0], "path": f"/jobs/{JID}/vertices/{AGG}", "answer": moved})
    rows.append({**rows[0], "path": f"/jobs/{JID}", "answer": {"errors": ["not found"]}})
    _, places = load_job(log(tmp_path / "log", rows))
    assert places is not None
    assert places[AGG] == ("elsewhere", *AGG_PLACES[1:])


def test_half_a_line_at_the_end_is_left_out(answers: dict[str, Any], tmp_path: Path) -> None:
    path = log(tmp_path / "log", [*entries(answers), json.dumps(entries(answers)[1])[:300]])
    job, places = load_job(path)
    assert job.notes == (f"{path}: the last line is cut off",)
    assert places is not None


def test_a_log_may_begin_with_half_a_line(answers: dict[str, Any], tmp_path: Path) -> None:
    path = log(tmp_path / "log", ['value":"1"}]}', *entries(answers)])
    assert load_job(path)[0].notes == (f"{path}: 1 lines are no log lines, the first is line 1",)


def test_bad_lines_are_counted(answers: dict[str, Any], tmp_path: Path) -> None:
    rows = [*entries(answers), "", "nonsense", "[1]", {"edgeplace_log": 1, "path": 3, "answer": 1}]
    path = log(tmp_path / "log", rows)
    at = len(entries(answers)) + 2
    assert load_job(path)[0].notes == (f"{path}: 2 lines are no log lines, the first is line {at}",)


@pytest.mark.parametrize("missing_bytes", [1, 9, 200])
def test_a_gzip_file_may_be_cut_off(
    answers: dict[str, Any], tmp_path: Path, missing_bytes: int
) -> None:
    path = log(tmp_path / "log.gz", [*entries(answers), *entries(answers)[::-1]])
    path.write_bytes(path.read_bytes()[:-missing_bytes])
    job, places = load_job(path)
    assert len(job.operators) == 6
    assert places is not None
    assert any("is cut off after line" in n for n in job.notes)


def test_lines_of_other_kinds_are_not_parsed(answers: dict[str, Any], tmp_path: Path) -> None:
    broken = '{"edgeplace_log":1,"path":"/taskmanagers/tm-1/metrics","answer":oops'
    path = log(tmp_path / "log", [*entries(answers), broken])
    assert load_job(path)[0].notes == ()


def test_another_version_of_the_log(answers: dict[str, Any], tmp_path: Path) -> None:
    path = log(tmp_path / "log", [{**entries(answers)[1], "edgeplace_log": 2}])
    with pytest.raises(InvalidInputError, match=r"log:1: version 2 of the log"):
        load_job(path)


def second_run(answers: dict[str, Any], name: str = "metrics") -> list[dict[str, Any]]:
    jid = "0" * 31 + "1"
    again = json.loads(json.dumps(answers))
    again["job_detail"].update({"jid": jid, "name": name, "start-time": 1})
    again["job_plan"]["plan"]["jid"] = jid
    return entries(again, jid)


def test_of_several_runs_the_last_started_is_used(answers: dict[str, Any], tmp_path: Path) -> None:
    path = log(tmp_path / "log", [*entries(answers), *second_run(answers)])
    job, _ = load_job(path)
    assert job.job_id == JID
    assert any("ran several times" in n for n in job.notes)
    assert load_job(path, job="0" * 31 + "1")[0].job_id == "0" * 31 + "1"


def test_of_several_jobs_one_is_named(answers: dict[str, Any], tmp_path: Path) -> None:
    path = log(tmp_path / "log", [*entries(answers), *second_run(answers, "other")])
    with pytest.raises(InvalidInputError, match=r"is about 2 jobs: 'metrics' \(9339"):
        load_job(path)
    assert load_job(path, job="other")[0].name == "other"
    with pytest.raises(InvalidInputError, match=r"no answer to /jobs/:jobid of job 'third'"):
        load_job(path, job="third")


def test_a_log_without_the_job(answers: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no answer to /jobs/:jobid") as e:
        load_job(log(tmp_path / "log", entries(answers)[-1:]))
    assert e.value.cure.startswith("save that answer of the running job there, or give a job file")


def test_one_saved_answer_needs_the_plan(answers: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(answers["job_detail"]))
    with pytest.raises(InvalidInputError, match="holds no plan") as e:
        load_job(path)
    assert f"/jobs/{JID}/plan" in e.value.cure
    path.write_text(json.dumps({**answers["job_detail"], **answers["job_plan"]}))
    job, places = load_job(path)
    assert len(job.streams) == 5
    assert places is None


@pytest.mark.parametrize("name", ["job.yaml", "job.json"])
def test_a_job_graph_of_ours(saved: Path, tmp_path: Path, name: str) -> None:
    job, _ = load_job(saved)
    write(job, tmp_path / name)
    assert load_job(tmp_path / name) == (job, None)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.json", None, "no such file"),
        ("x.json", "", "the file is empty"),
        ("x.json", "{", "not valid JSON"),
        ("x.json", "[]", "neither a job graph nor an answer"),
        ("x.json", '{"errors": ["Job not found"]}', "error of Flink's: Job not found"),
        ("x.json", '{"plan": {"nodes": []}}', "answer about the plan alone"),
        ("x.json", '{"format": "edgeplace/cluster"}', "a job file is expected here"),
        ("x.yaml", "operators: []", "operators"),
        ("x.gz", gzip.compress(b"x" * 999, mtime=0)[:-9], "cannot be read"),
    ],
)
def test_what_is_no_job(tmp_path: Path, name: str, content: str | bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInputError) as e:
        load_job(path)
    assert says in e.value.what
    assert str(path) in e.value.what
    assert e.value.cure


def test_folders_that_contradict_themselves(
    saved: Path, answers: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(saved, folder)
    answers["job_detail"]["jid"] = "0" * 32
    (folder / "z.json").write_text(json.dumps(answers["job_detail"]))
    with pytest.raises(InvalidInputError, match="answers of 2 jobs"):
        load_job(folder)
    (folder / "z.json").write_text(json.dumps({"taskmanagers": [{"id": "other"}]}))
    with pytest.raises(InvalidInputError, match=r"two different answers of the same kind"):
        load_job(folder)
    (folder / "z.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"z\.json:1:2: not valid JSON"):
        load_job(folder)


@pytest.mark.parametrize(("later", "expected"), [(1, "moved"), (-1, AGG_PLACES[0])])
def test_the_later_of_two_answers_in_a_folder_counts(
    saved: Path, answers: dict[str, Any], tmp_path: Path, later: int, expected: str
) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(saved, folder)
    answers["vertex_agg"]["now"] += later
    answers["vertex_agg"]["subtasks"][0]["taskmanager-id"] = "moved"
    (folder / "z.json").write_text(json.dumps(answers["vertex_agg"]))
    _, places = load_job(folder)
    assert places is not None
    assert places[AGG][0] == expected


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no answer to /jobs/:jobid"):
        load_job(tmp_path)
    with pytest.raises(InvalidInputError, match="no such folder"):
        answers_from_files(tmp_path / "gone")


def test_files_one_by_one_have_to_be_of_use(saved: Path) -> None:
    files = [saved / "job_detail.json", saved / "job_plan.json"]
    assert answers_from_files(files).placement() is None
    with pytest.raises(InvalidInputError, match=r"overview\.json: this is neither"):
        answers_from_files([*files, saved / "overview.json"])


def test_vertices_without_an_answer_are_nowhere(answers: dict[str, Any], tmp_path: Path) -> None:
    rows = [r for r in entries(answers) if not r["path"].endswith(AGG)]
    places = answers_from_log(log(tmp_path / "log", rows)).placement()
    assert places is not None
    assert places[AGG] == (None, None, None)


def test_an_answer_from_before_a_rescaling_is_not_used(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    answers["vertex_agg"]["parallelism"] = 4
    places = answers_from_log(log(tmp_path / "log", entries(answers))).placement()
    assert places is not None
    assert places[AGG] == (None, None, None)


def test_the_cluster_and_the_users_names(saved: Path, user_cluster: Cluster) -> None:
    answers = answers_from_files(saved)
    assert {t.id: t.slots for t in answers.cluster(user_cluster).task_managers} == {
        "127.0.0.4:41063-393f59": 8,
        "pi-1": 2,
        "pi-2": 4,
    }
    places = answers.placement(user=user_cluster)
    assert places is not None
    assert places[AGG] == (AGG_PLACES[0], AGG_PLACES[1], "pi-2")
    with pytest.raises(InvalidInputError, match="no answer to /taskmanagers"):
        SavedAnswers(jobs={}).cluster(user_cluster)


def test_the_users_names_stand_for_configured_resource_ids(
    answers: dict[str, Any], tmp_path: Path, user_cluster: Cluster
) -> None:
    text = json.dumps(entries(answers)).replace("127.0.0.3:39035-de67c7", "rpi-at-the-gate")
    read = answers_from_log(log(tmp_path / "log", json.loads(text)))
    places = read.placement(user=user_cluster)
    assert places is not None
    assert places[AGG][2] == "pi-2"


def test_the_shipped_demo() -> None:
    job, places = load_job(DEMO_LOG)
    assert len(job.operators) == 6
    assert job.notes == ()
    assert [s.ship_strategy.value for s in job.streams] == [
        "FORWARD",
        "FORWARD",
        "FORWARD",
        "HASH",
        "REBALANCE",
    ]
    assert places is not None
    assert {op.id: len(places[op.id]) for op in job.operators} == {
        op.id: op.parallelism for op in job.operators
    }
    assert None not in [place for row in places.values() for place in row]
