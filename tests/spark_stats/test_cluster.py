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

from edgeplace.model import Costs, InvalidInputError, dump, read
from edgeplace.spark_stats import Measurement, add_to_ledger, costs_from_ledger, measure
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
def here(spark, logs) -> Measurement:
    return measure(sorted(logs.iterdir()), None, spark=spark)


@pytest.fixture(scope="module")
def expected(here) -> str:
    return comparable(dump(here.costs))


def comparable(costs: str) -> str:
    return costs.replace("file://", "")


def test_uris_and_patterns_on_this_machine(spark, logs, here, expected):
    # A store that only Spark knows, whatever is behind it.
    spark.conf.set("fs.viewfs.mounttable.store.link./days", logs.as_uri())
    days = ["viewfs://store/days/2026-11-01", str(logs / "*-02")]
    there = measure(days, None, spark=spark)
    assert comparable(dump(there.costs)).replace("viewfs://store/days", str(logs)) == expected
    found = [
        (b.file.replace("viewfs://store/days", str(logs)), b.line) for b in there.quarantine.lines()
    ]
    bad = sorted((comparable(file), line) for file, line in found)
    assert bad == sorted((b.file, b.line) for b in here.quarantine.lines())
    assert len(bad) == 3


@pytest.mark.parametrize(
    ("uri", "said", "cure"),
    [
        ("s3a://logs/2026-11-01", "no file system", "hadoop-aws"),
        ("file:///no/such/2026-*", "there is no file file:///no/such/2026-\\*", "pattern"),
    ],
)
def test_what_spark_cannot_read_is_said(spark, uri, said, cure):
    with pytest.raises(InvalidInputError, match=said) as e:
        measure([uri], None, spark=spark)
    assert cure in e.value.cure


def command(*words: object) -> list[str]:
    return [sys.executable, str(MAIN), "costs", *map(str, words)]


def ran(words: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=500, env={**os.environ, **environ}
    )


def conf() -> list[str]:
    from tests.support.spark_cluster import settings

    return [word for key, value in settings().items() for word in ("--conf", f"{key}={value}")]


@pytest.fixture(scope="module")
def expected_of_ledger(logs, tmp_path_factory) -> str:
    ledger = tmp_path_factory.mktemp("ledger")
    add_to_ledger(ledger, sorted(logs.iterdir()))
    return comparable(dump(costs_from_ledger(ledger, None)))


def test_a_cluster_that_loses_a_worker_measures_the_same_and_prices_fleets(
    cluster, logs, expected, expected_of_ledger, tmp_path
):
    out, prices, of_ledger = (tmp_path / f"{name}.json" for name in ("costs", "prices", "ledger"))
    words = [f"file://{logs}/*", "--master", cluster.master, *conf(), "-o", str(out)]
    again = [*words[:-1], str(of_ledger), "--ledger", str(tmp_path / "ledger")]
    script = f"""
import json, sys
sys.path.insert(0, {str(MAIN.parents[2])!r})
from edgeplace.cli.main import main
status = main(["costs", *{words!r}]) or main(["costs", *{again!r}])
from pyspark.sql import SparkSession
from edgeplace.solver.fleet import solve_fleet
from edgeplace.spark_executor import SparkExecutor
from tests.support.fleets import fleet
many = fleet(7, counts=(900, 70), tightness=0.45, latency=False)
here = solve_fleet(many)
there = solve_fleet(many, executor=SparkExecutor(SparkSession.builder.getOrCreate()))
json.dump([here.wan == there.wan, here.bound == there.bound], open({str(prices)!r}, "w"))
sys.exit(status)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    # Behind the first ones, which find the files and their formats.
    cluster.wait_for_task("worker-0", stage=5)
    cluster.processes["worker-0"].kill()
    said = process.communicate(timeout=500)[0]
    assert process.returncode == 0, said
    assert comparable(dump(read(out, Costs))) == expected
    assert comparable(dump(read(of_ledger, Costs))) == expected_of_ledger
    assert json.loads(prices.read_text()) == [True, True]


def test_under_spark_submit(cluster, logs, expected, tmp_path):
    from tests.support.spark_cluster import HOME, environment

    out = tmp_path / "costs.json"
    submit = [HOME / "bin" / "spark-submit", "--master", cluster.master, *conf(), MAIN, "costs"]
    done = ran([*map(str, submit), f"file://{logs}/*", "-o", str(out)], **environment())
    assert done.returncode == 0, re.sub(r".* INFO .*\n", "", done.stderr)
    assert comparable(dump(read(out, Costs))) == expected


def test_spark_connect_measures_the_same(cluster, logs, expected, expected_of_ledger, tmp_path):
    pytest.importorskip("grpc_status", reason="the client of Spark Connect is not installed")
    out = tmp_path / "costs.json"
    words = command(f"file://{logs}/*", "--remote", cluster.connect_server(), "-o", out)
    done = ran([*words, "--conf", "spark.network.timeout=100s"])
    assert done.returncode == 0, done.stderr
    assert comparable(dump(read(out, Costs))) == expected
    again = ran([*words[:-1], tmp_path / "ledger.json", "--ledger", tmp_path / "ledger"])
    assert again.returncode == 0, again.stderr
    assert comparable(dump(read(tmp_path / "ledger.json", Costs))) == expected_of_ledger
    of_server = ran([*words, "--conf", "spark.executor.memory=1g"])
    assert of_server.returncode == 2, of_server.stderr
    assert "belongs to the Spark Connect server" in of_server.stderr


@pytest.mark.parametrize("by", ["--master", "--remote"])
def test_workers_without_pyarrow_get_it(cluster, logs, expected, tmp_path, by):
    if by == "--remote":
        pytest.importorskip("grpc_status", reason="the client of Spark Connect is not installed")
        name, url = "spark.sql.execution.pyspark.python", cluster.connect_server()
        others = []
    else:
        name, url = "spark.pyspark.python", cluster.master
        others = conf()
        at = others.index(f"{name}={sys.executable}")
        others = others[: at - 1] + others[at + 1 :]
    out = tmp_path / "costs.json"
    words = command(f"file://{logs}/*", by, url, "-o", out, *others)
    without = ran([*words, "--conf", f"{name}={cluster.plain_python}"])
    assert without.returncode == 2, without.stderr
    assert "--package-python" in without.stderr
    done = ran([*words, "--package-python"])
    assert done.returncode == 0, done.stderr
    assert comparable(dump(read(out, Costs))) == expected


def test_a_cluster_without_a_free_machine_is_given_up(cluster, logs):
    short = ["--conf", "spark.network.timeout=20s", "--conf", "spark.network.timeoutInterval=9s"]
    short += ["--conf", "spark.executor.memory=64g"]
    done = ran(command(f"file://{logs}/*", "--master", cluster.master, *short))
    assert done.returncode == 8
    # Starting may take as long.
    assert "within 20 s" in done.stderr
    assert "Traceback" not in done.stderr
