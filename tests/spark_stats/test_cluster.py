"""The same costs from a cluster, from Spark Connect and under spark-submit as from this machine."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeplace.model import Costs, dump, read
from edgeplace.spark_stats import measure
from tests.support.measured import START

MAIN = Path(__file__).parents[2] / "src" / "edgeplace" / "__main__.py"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(needs_spark, tmp_path_factory) -> Iterator[object]:
    from tests.support.spark_cluster import SparkCluster

    started = None
    try:
        started = SparkCluster(tmp_path_factory.mktemp("cluster"))
        yield started
    finally:
        if started is not None:
            started.end()


@pytest.fixture(scope="module")
def logs(tmp_path_factory, recording_in) -> Path:
    """Return a folder of logs by date: plain, packed, misnamed, cut short, empty, bad lines."""
    folder = tmp_path_factory.mktemp("logs")
    recording = recording_in(folder)
    recording.job({"source": 1, "map": 2}, [("source", "map", "HASH")])
    for poll in range(240):
        recording.placed(START + 5000 * poll, "map", ["10.0.0.1", "10.0.0.9"])
        recording.metrics(
            START + 5000 * poll,
            "map",
            numRecordsIn=[1000 * poll + poll % 7, 300 * poll + poll % 3],
            accumulateBusyTimeMs=[501.5 * poll + poll % 11, 33.3 * poll],
            currentInputWatermark=[hash((poll, "noise"))] * 2,
        )
    whole = ["\n".join(recording.lines[i * 80 : (i + 1) * 80]) + "\n" for i in range(7)]
    packed = [gzip.compress(text.encode()) for text in whole]
    for name, content in {
        "2026-11-01/a.jsonl": whole[0].encode() + b"garbage \xff\xfe\n",
        "2026-11-01/b.jsonl.gz": packed[1],
        "2026-11-01/cut.jsonl.gz": packed[2][: len(packed[2]) // 2],
        "2026-11-02/mis named [1].jsonl": packed[3],
        "2026-11-02/plain.gz": whole[4].encode(),
        "2026-11-02/empty.jsonl": b"",
        "2026-11-02/c.jsonl": (whole[5] + whole[6]).encode(),
    }.items():
        path = folder / "by date" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "by date"


@pytest.fixture(scope="module")
def expected(spark, logs) -> str:
    days = sorted(logs.iterdir())
    return comparable(dump(measure(days, None, spark=spark).costs))


def comparable(costs: str) -> str:
    return costs.replace("file://", "")


def test_uris_and_patterns_on_this_machine(spark, logs, expected):
    there = measure([f"file://{logs}/2026-*"], None, spark=spark)
    assert comparable(dump(there.costs)) == expected
    bad = sorted((b.file, b.line) for b in there.quarantine.lines())
    here = measure(sorted(logs.iterdir()), None, spark=spark)
    assert bad == sorted((f"file://{b.file}", b.line) for b in here.quarantine.lines())
    assert len(bad) == 3
    days = [f"file://{logs}/2026-11-01", str(logs / "2026-11-02" / "*")]
    assert comparable(dump(measure(days, None, spark=spark).costs)) == expected


def command(*words: object) -> list[str]:
    return [sys.executable, str(MAIN), "costs", *map(str, words)]


def ran(words: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=500, env={**os.environ, **environ}
    )


def conf() -> list[str]:
    from tests.support.spark_cluster import settings

    return [word for key, value in settings().items() for word in ("--conf", f"{key}={value}")]


def test_under_spark_submit_fleets_are_priced_too(cluster, logs, expected, tmp_path):
    from tests.support.spark_cluster import HOME, environment

    out, prices = tmp_path / "costs.json", tmp_path / "prices.json"
    script = tmp_path / "submitted.py"
    script.write_text(f"""
import json, sys
sys.path.insert(0, {str(MAIN.parents[2])!r})
from edgeplace.cli.main import main
status = main(["costs", "file://{logs}/*", "-o", {str(out)!r}])
from pyspark.sql import SparkSession
from edgeplace.solver.fleet import solve_fleet
from edgeplace.spark_executor import SparkExecutor
from tests.support.fleets import fleet
many = fleet(7, counts=(900, 70), tightness=0.45, latency=False)
here = solve_fleet(many)
there = solve_fleet(many, executor=SparkExecutor(SparkSession.builder.getOrCreate()))
json.dump([here.wan == there.wan, here.bound == there.bound], open({str(prices)!r}, "w"))
sys.exit(status)
""")
    submit = [str(HOME / "bin" / "spark-submit"), "--master", cluster.master, *conf(), str(script)]
    done = ran(submit, **environment())
    assert done.returncode == 0, re.sub(r".* INFO .*\n", "", done.stderr)
    assert comparable(dump(read(out, Costs))) == expected
    assert json.loads(prices.read_text()) == [True, True]


def test_a_cluster_whose_worker_dies_measures_the_same(cluster, logs, expected, tmp_path):
    out = tmp_path / "costs.json"
    words = command(f"file://{logs}/*", "--master", cluster.master, *conf(), "-o", out)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # The first executor runs as soon as the worker says so; its worker dies under it.
    cluster._word(cluster._folder / "master.log", r"(Launching executor \S+ on worker)")
    cluster.processes["worker-0"].kill()
    said = process.communicate(timeout=500)[0]
    assert process.returncode == 0, said
    assert comparable(dump(read(out, Costs))) == expected
    assert "mis named" not in said


def test_spark_connect_measures_the_same(cluster, logs, expected, tmp_path):
    pytest.importorskip("grpc_status", reason="the client of Spark Connect is not installed")
    out = tmp_path / "costs.json"
    done = ran(command(f"file://{logs}/*", "--remote", cluster.connect_server(), "-o", out))
    assert done.returncode == 0, done.stderr
    assert comparable(dump(read(out, Costs))) == expected


def test_a_cluster_without_a_free_machine_is_given_up(cluster, logs):
    short = ["--conf", "spark.network.timeout=20s", "--conf", "spark.network.timeoutInterval=9s"]
    short += ["--conf", "spark.executor.memory=64g"]
    done = ran(command(f"file://{logs}/*", "--master", cluster.master, *short))
    assert done.returncode == 8
    assert "gave no machine to work on within 20 s" in done.stderr
    assert "Traceback" not in done.stderr
