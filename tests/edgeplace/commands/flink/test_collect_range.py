"""`edgeplace flink collect --prometheus`, as a user sees it."""

import gzip
import json
import logging
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from edgeplace.adapters.flink.collect import PrometheusClient
from edgeplace.adapters.flink.errors import PrometheusUnreachableError
from edgeplace.cli.exit_status import ExitStatus
from tests.support.fake_flink import FakeFlink
from tests.support.fake_prometheus import TASK, FakePrometheus

JOB, OTHER = "a" * 32, "b" * 32
T0 = 1_795_225_905.0
SCRAPE_S = 15.0
SECRET = "s3cr3t"


def times(count: int, since_s: float = T0) -> list[float]:
    return [since_s + SCRAPE_S * i for i in range(count)]


def run_job(prometheus: FakePrometheus, when: list[float], job_id: str = JOB, **labels: str):
    """Have the job's one subtask scraped: 100 records in a second, half of it busy."""
    since = [at - when[0] for at in when]
    for name, per_s in (
        ("numRecordsIn", 100),
        ("numRecordsOut", 70),
        ("accumulateBusyTimeMs", 500),
    ):
        prometheus.scrape(
            f"{TASK}_{name}",
            when,
            [per_s * s for s in since],
            **{
                "job_id": job_id,
                "job_name": "word_count",
                "task_id": "v1",
                "task_name": "map",
                "subtask_index": "0",
                "task_attempt_num": "0",
                **labels,
            },
        )


@pytest.fixture
def prometheus():
    with FakePrometheus() as running:
        yield running


@pytest.fixture
def collect(edgeplace, prometheus, tmp_path):
    def run(*more: object, output: Path | None = None, from_s: float = T0, until_s: float = T0):
        where = ("-o", output or tmp_path / "metrics")
        span = ("--from", clock(from_s), "--until", clock(until_s or T0))
        return edgeplace("flink", "collect", "--prometheus", prometheus.url, *where, *span, *more)

    return run


def clock(when_s: float) -> str:
    return datetime.fromtimestamp(when_s, UTC).isoformat()


def series(place: Path) -> list[dict]:
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    documents = [json.loads(gzip.decompress(p.read_bytes())) for p in files]
    assert {d["data"]["resultType"] for d in documents} == {"matrix"}
    return [one for d in documents for one in d["data"]["result"]]


def values(place: Path, name: str = "numRecordsIn", **labels: str) -> list[tuple[float, float]]:
    return sorted(
        (at, float(value))
        for one in series(place)
        if one["metric"]["__name__"] == f"{TASK}_{name}" and labels.items() <= one["metric"].items()
        for at, value in one["values"]
    )


def test_costs_come_from_the_log(needs_spark, collect, prometheus, edgeplace, tmp_path):
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    run_job(prometheus, times(41))
    ran = collect("--job", JOB, until_s=T0 + 600)
    assert ran.status is ExitStatus.OK, ran.err
    assert ran.out.startswith(f"collected 123 metric values of 'word_count' ({JOB}) in 600 s by ")
    costs = tmp_path / "costs.json"
    measured = edgeplace("costs", tmp_path / "metrics", "-o", costs)
    assert measured.status is ExitStatus.OK, measured.err
    [operator] = json.loads(costs.read_text())["operators"]
    assert operator["classes"][0]["true_rate_per_s"] == pytest.approx(200)
    assert operator["selectivity"] == pytest.approx(0.7)


def test_one_file_is_one_document_with_the_same_series(collect, prometheus, tmp_path):
    run_job(prometheus, times(41))
    assert collect(until_s=T0 + 600, output=tmp_path / "m.json.gz").status is ExitStatus.OK
    assert collect(until_s=T0 + 600).status is ExitStatus.OK
    assert series(tmp_path / "m.json.gz") == series(tmp_path / "metrics")


def test_a_long_range_is_asked_for_in_parts_without_doubled_points(collect, prometheus, tmp_path):
    hours = [T0 + 3600 * i for i in range(9)]
    run_job(prometheus, hours)
    ran = collect("--interval", "1", until_s=T0 + 25_000)
    assert ran.status is ExitStatus.OK, ran.err
    of_one = [
        q for q in prometheus.queries() if '"flink_taskmanager_job_task_numRecordsIn"' in q["query"]
    ]
    ends = [(float(q["start"]) - T0, float(q["end"]) - T0) for q in of_one]
    assert ends == [(0, 10_999), (11_000, 21_999), (22_000, 25_000)]
    points = [at for at, _ in values(tmp_path / "metrics")]
    assert len(points) == len(set(points)) == 7 * 300


def test_many_series_make_the_parts_shorter(collect, prometheus, monkeypatch, tmp_path):
    monkeypatch.setattr("edgeplace.adapters.flink.collect.prometheus_log._ANSWER_POINTS", 40)
    for subtask in range(4):
        run_job(prometheus, times(41), subtask_index=str(subtask))
    assert collect(until_s=T0 + 600).status is ExitStatus.OK
    spans = {
        (float(q["end"]) - float(q["start"])) / SCRAPE_S + 1
        for q in prometheus.queries()
        if "numRecordsIn" in q["query"]
    }
    assert max(spans) == 10
    assert len(values(tmp_path / "metrics")) == 4 * 41


def test_a_gap_is_told_and_the_points_around_it_are_there(collect, prometheus, tmp_path):
    when = times(41)
    run_job(prometheus, when)
    for i, (labels, at, read) in enumerate(prometheus.series):
        # The target was down from 150 s to 450 s.
        kept = [(t, v) for t, v in zip(at, read, strict=True) if not T0 + 150 < t < T0 + 450]
        kept.insert(11, (T0 + 165, math.nan))
        prometheus.series[i] = (labels, [t for t, _ in kept], [v for _, v in kept])
    ran = collect("--json", until_s=T0 + 600)
    said = json.loads(ran.out)
    assert said["gaps"] == [{"from_ms": (T0 + 150) * 1000, "to_ms": (T0 + 450) * 1000}]
    assert len(values(tmp_path / "metrics")) == 22


def test_counters_that_begin_again_are_those_of_another_attempt(
    needs_spark, collect, prometheus, edgeplace, tmp_path
):
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    run_job(prometheus, times(21))
    run_job(prometheus, times(20, T0 + 315), task_attempt_num="1")
    for labels, at, read in prometheus.series:
        if labels["task_attempt_num"] == "0":
            at.append(T0 + 315)
            read.append(math.nan)
    ran = collect(until_s=T0 + 600)
    assert ran.status is ExitStatus.OK, ran.err
    assert len(values(tmp_path / "metrics", task_attempt_num="0")) == 21
    assert len(values(tmp_path / "metrics", task_attempt_num="1")) == 20
    costs = tmp_path / "costs.json"
    measured = edgeplace("costs", tmp_path / "metrics", "-o", costs)
    assert measured.status is ExitStatus.OK, measured.err
    [operator] = json.loads(costs.read_text())["operators"]
    assert operator["classes"][0]["true_rate_per_s"] == pytest.approx(200)


def test_other_jobs_and_other_clusters_are_left_out(collect, prometheus, tmp_path):
    run_job(prometheus, times(41))
    run_job(prometheus, times(41), OTHER, job_name="other", tm_id="pi_2")
    cpu = "flink_taskmanager_Status_JVM_CPU_Time"
    prometheus.scrape(cpu, times(41), [1.0] * 41)
    prometheus.scrape(cpu, times(41), [2.0] * 41, tm_id="pi_2")
    prometheus.scrape(cpu, times(41), [3.0] * 41, instance="10.9.9.9:9249")
    source = f"{TASK}_operator_numRecordsOut"
    of_job = {"job_id": JOB, "job_name": "word_count"}
    for operator in ("Source:_in", "map"):
        prometheus.scrape(source, times(41), [1.0] * 41, operator_name=operator, **of_job)
    # A name is found as it is, and as the reporter writes it.
    assert collect("--job", "word count", until_s=T0 + 600).status is ExitStatus.OK
    found = series(tmp_path / "metrics")
    assert {one["metric"].get("job_id", JOB) for one in found} == {JOB}
    assert [o["values"][0][1] for o in found if o["metric"]["__name__"] == cpu] == ["1"]
    emitters = [o["metric"]["operator_name"] for o in found if o["metric"]["__name__"] == source]
    assert emitters == ["Source:_in"]


@pytest.mark.parametrize(
    ("job", "said", "cure"),
    [
        ((), f"has metrics of 2 jobs: 'word_count' ({JOB}), 'other' ({OTHER})", "--job ID"),
        (("--job", "telemetry"), "has no metrics of job 'telemetry' in this time; jobs", "--job"),
        (("--job", "c" * 32), f"jobs with metrics there: 'word_count' ({JOB}), ", "another time"),
    ],
)
def test_a_job_that_is_not_clear(collect, prometheus, tmp_path, job, said, cure):
    run_job(prometheus, times(41))
    run_job(prometheus, times(41), OTHER, job_name="other")
    ran = collect(*job, until_s=T0 + 600)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err and cure in ran.err
    assert not (tmp_path / "metrics").exists()


def test_metrics_that_the_reporter_leaves_out_are_named(collect, prometheus):
    run_job(prometheus, times(41))
    prometheus.series.pop()
    ran = collect(until_s=T0 + 600)
    assert "Prometheus has no flink_taskmanager_job_task_accumulateBusyTimeMs" in ran.err
    assert "filter.includes" in ran.err


def test_a_job_without_a_point_in_this_time_is_nothing(collect, prometheus, tmp_path):
    run_job(prometheus, times(41))
    ran = collect(from_s=T0 + 9000, until_s=T0 + 9600)
    assert ran.status is ExitStatus.UNREACHABLE
    assert "nothing was collected" in ran.err and not (tmp_path / "metrics").exists()


def test_credentials_and_tenants_are_sent_and_secrets_not_shown(
    collect, prometheus, monkeypatch, caplog, tmp_path
):
    caplog.set_level(logging.DEBUG)
    run_job(prometheus, times(41))
    prometheus.token = SECRET
    refused = collect(until_s=T0 + 600)
    assert refused.status is ExitStatus.UNREACHABLE
    assert "access refused (401)" in refused.err and "EDGEPLACE_PROMETHEUS_TOKEN" in refused.err
    monkeypatch.setenv("EDGEPLACE_FLINK_TOKEN", SECRET)
    assert collect(until_s=T0 + 600).status is ExitStatus.UNREACHABLE
    monkeypatch.setenv("EDGEPLACE_PROMETHEUS_TOKEN", SECRET)
    ran = collect("--header", "X-Scope-OrgID: plant 3", until_s=T0 + 600)
    assert ran.status is ExitStatus.OK, ran.err
    assert {h["X-Scope-OrgID"] for h in prometheus.headers[-3:]} == {"plant 3"}
    monkeypatch.setenv("EDGEPLACE_PROMETHEUS_TOKEN", SECRET + "x")
    wrong = collect(until_s=T0 + 600, output=tmp_path / "never")
    assert "are not accepted" in wrong.err
    assert SECRET not in refused.err + ran.out + ran.err + wrong.out + wrong.err + caplog.text


@pytest.mark.parametrize(
    ("answer", "said", "cure"),
    [
        ((404, b"404 page not found\n"), "not found", "without /api/v1"),
        ((200, b"<html>hello</html>"), "none of Prometheus", "a proxy or a web page"),
        ((200, {"flink-version": "2.3.0"}), "none of Prometheus", "Prometheus' HTTP API"),
        ((200, {"status": "success", "data": {}}), "none of Prometheus", "HTTP API"),
        (
            (422, {"status": "error", "error": "query processing would load too many samples"}),
            "refuses (422): query processing would load too many samples",
            "a larger --interval",
        ),
        ((302, b""), "redirects to nowhere", "itself"),
    ],
)
def test_refusals_say_what_they_are(collect, prometheus, tmp_path, answer, said, cure):
    prometheus.answer = answer
    ran = collect(until_s=T0 + 600)
    assert ran.status is ExitStatus.UNREACHABLE
    assert said in ran.err and cure in ran.err
    assert not (tmp_path / "metrics").exists()


def test_a_server_that_refuses_in_the_middle_leaves_no_half_log(
    collect, prometheus, tmp_path, monkeypatch
):
    run_job(prometheus, times(41))
    page = prometheus._page
    monkeypatch.setattr(
        prometheus,
        "_page",
        lambda *asked: page(*asked) if len(prometheus.asked) < 4 else (500, b"down"),
    )
    for output in (tmp_path / "metrics", tmp_path / "metrics.json.gz"):
        prometheus.asked.clear()
        ran = collect(until_s=T0 + 600, output=output)
        assert ran.status is ExitStatus.UNREACHABLE and "refuses (500)" in ran.err
        assert len(prometheus.asked) == 4 and not output.exists()


def test_a_slow_server_is_left_alone(prometheus):
    prometheus.delay_s = 1.0
    with (
        PrometheusClient(prometheus.url, timeout_s=0.1) as client,
        pytest.raises(PrometheusUnreachableError, match=r"no answer within 0\.1 s"),
    ):
        client.series("up", T0, T0 + 60)


def test_nobody_listens(edgeplace, tmp_path):
    ran = edgeplace("flink", "collect", "--prometheus", "http://127.0.0.1:1", "-o", tmp_path / "m")
    assert ran.status is ExitStatus.UNREACHABLE
    assert "is the Prometheus server up" in ran.err


def test_an_old_log_is_not_mixed_with(collect, prometheus, tmp_path):
    run_job(prometheus, times(41))
    assert collect(until_s=T0 + 600).status is ExitStatus.OK
    before = values(tmp_path / "metrics")
    ran = collect(until_s=T0 + 600)
    assert ran.status is ExitStatus.INVALID_INPUT and "something already" in ran.err
    assert values(tmp_path / "metrics") == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--interval", "0.5"), "less than a second"),
        (("--duration", "1h"), "leave one out"),
        (("--header", "nothing"), "a header has the form"),
        (("--header", "Authorization: Bearer x"), "is a secret"),
        (("--jobmanager", "http://localhost:8081"), "not allowed with"),
        (("--until", "2026-11-23T06:00"), "no time with a zone"),
        (("--until", "2020-01-01T00:00Z"), "is not before"),
    ],
)
def test_options_that_do_not_fit(collect, capsys, more, said):
    ran = collect(*more, until_s=T0 + 600)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err + capsys.readouterr().err


def test_options_of_prometheus_do_not_fit_flink(edgeplace, tmp_path):
    with FakeFlink(None) as flink:
        ran = edgeplace(
            "flink", "collect", "--jobmanager", flink.url, "--header", "X-Scope-OrgID: a"
        )
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "--header belongs to --prometheus" in ran.err
