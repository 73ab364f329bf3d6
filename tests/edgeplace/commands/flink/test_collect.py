"""`edgeplace flink collect`, as a user sees it."""

import gzip
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import wordcount


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        running.configuration["metrics.fetcher.update-interval"] = "1 ms"
        yield running


@pytest.fixture
def collect(edgeplace, flink, tmp_path):
    def run(*more: object, output: Path | None = None):
        where = ("-o", output or tmp_path / "metrics")
        return edgeplace("flink", "collect", "--jobmanager", flink.url, *where, *more)

    return run


def lines(folder: Path) -> list[dict]:
    text = b"".join(gzip.decompress(p.read_bytes()) for p in sorted(folder.iterdir()))
    return [json.loads(line) for line in text.splitlines()]


COLLECTED = re.compile(
    r"collected ([0-9]+) metric values in ([0-9]+) polls? and [0-9]+ s: .+ B in "
)


def test_it_says_what_it_does_and_what_it_has_done(collect, tmp_path):
    ran = collect("--duration", "1s", "--interval", "0.6")
    assert ran.status is ExitStatus.OK
    folder = tmp_path / "metrics"
    first, last, cure = ran.out.splitlines()
    assert first.startswith(f"collecting job 'wordcount' ({'a' * 32}) into {folder}: 3 operators, ")
    assert "5 subtasks" in first and first.endswith("requests every 0.6 s")
    values, polls = map(int, COLLECTED.match(last.replace("kB", "B")).groups())
    assert values == 20 * polls > 0
    assert cure == f"measure: edgeplace costs {folder} --cluster cluster.yaml -o costs.json"
    assert {line["edgeplace_log"] for line in lines(folder)} == {1}


def test_json_is_a_summary(collect, tmp_path):
    ran = collect("--duration", "1s", "--interval", "0.6", "--json")
    said = json.loads(ran.out)
    assert said["end"] == "duration"
    assert said["jobs"] == [{"id": "a" * 32, "name": "wordcount"}]
    assert said["values"] == 20 * said["polls"] > 0
    assert (said["files"], said["gaps"]) == (1, [])
    [path] = (tmp_path / "metrics").iterdir()
    assert said["written_bytes"] == path.stat().st_size


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_clean_end(collect, flink, tmp_path, number):
    answer = flink.answer

    def end_in_second_poll(path, *more):
        if flink.asked.count(f"/jobs/{'a' * 32}/metrics") == 2:
            flink.answer = answer
            os.kill(os.getpid(), number)
        return answer(path, *more)

    flink.answer = end_in_second_poll
    former = signal.getsignal(signal.SIGTERM)
    ran = collect("--interval", "0.6")
    assert ran.status is ExitStatus.OK
    assert "collected 20 metric values in 1 poll and " in ran.out
    assert len(lines(tmp_path / "metrics")) > 10
    assert signal.getsignal(signal.SIGTERM) is former


def test_a_faster_interval_than_flinks_is_said(collect, flink):
    flink.configuration["metrics.fetcher.update-interval"] = "700 ms"
    ran = collect("--duration", "1s", "--interval", "0.1")
    assert ran.err.startswith("polling every 1.2 s, not every 0.1 s: ")
    assert "metrics.fetcher.update-interval" in ran.err


def test_gaps_are_on_standard_error(collect, flink):
    flink.jobs[0].state = "RESTARTING"
    ran = collect("--duration", "1s", "--interval", "0.6", "--json")
    assert "a gap in the log: the job is RESTARTING" in ran.err
    assert [gap["reason"] for gap in json.loads(ran.out)["gaps"]] == ["the job is RESTARTING"]
    assert json.loads(ran.out)["polls"] == 0
    assert ran.status is ExitStatus.UNREACHABLE


def test_a_name_that_no_job_has_is_waited_for_with_those_there_are(collect, tmp_path):
    ran = collect("--job", "wordcuont", "--duration", "1s")
    assert ran.status is ExitStatus.UNREACHABLE
    assert "waiting for a job called 'wordcuont'; Flink runs 'wordcount'" in ran.err
    assert ran.err.endswith("nothing was collected\n")
    assert not list((tmp_path / "metrics").iterdir())


def test_one_file_is_new(collect, tmp_path):
    path = tmp_path / "log.jsonl.gz"
    assert collect("--duration", "1s", output=path).status is ExitStatus.OK
    before = path.read_bytes()
    again = collect("--duration", "1s", output=path)
    assert again.status is ExitStatus.INVALID_INPUT
    assert "there already" in again.err and "cure: " in again.err
    assert path.read_bytes() == before


def test_several_jobs_exit_2(collect, flink, tmp_path):
    flink.submit(wordcount("other", "b" * 32))
    ran = collect()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "'wordcount'" in ran.err and "'other'" in ran.err
    assert not (tmp_path / "metrics").exists()


def test_no_jobmanager_exits_8(edgeplace, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    ran = edgeplace("flink", "collect", "--jobmanager", url, "-o", tmp_path / "metrics")
    assert ran.status is ExitStatus.UNREACHABLE
    assert not (tmp_path / "metrics").exists()


@pytest.mark.parametrize("size", ["0", "10kB", "1 PB", "-1GB", "x"])
def test_a_size_that_is_none(collect, size):
    ran = collect(f"--max-bytes={size}")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "1MB or more" in ran.err


def test_progress_is_on_terminals_only(on_terminal, flink, tmp_path):
    where = ("--jobmanager", flink.url, "-o", tmp_path / "metrics")
    ran = on_terminal("flink", "collect", *where, "--duration", "1s", "--interval", "0.6")
    assert "polls 1, values 20, " in ran.err
    assert "polls 1" not in ran.out
