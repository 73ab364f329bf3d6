"""The sums of a log are the same with and without Spark, to the last digit."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeplace.instances import path
from edgeplace.model import Cluster, dump, read
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats import measure
from edgeplace.spark_stats.files import log_files
from edgeplace.spark_stats.log_sums import LogSums
from edgeplace.spark_stats.sums_table import OF_PART
from edgeplace.spark_stats.unpacking import GZIP_MAGIC
from edgeplace.spark_stats.without_spark import reading
from tests.support.hostile_logs import hostile_log

DEMO = path("demo/metrics.jsonl.gz")
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def compiled(spark) -> Iterator[None]:
    """Let Spark compile its queries, as it does for users."""
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    before = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.unset(name)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def rows(sums: LogSums) -> list[dict[str, object]]:
    """Return the rows in one order, without what is spelled in two ways."""
    found = []
    for row in sums.rows:
        fields = dict(row.asDict())
        minutes = [dict(minute.asDict()) for minute in fields["minutes"]]
        for minute in minutes:
            if minute["missing"] is not None:
                minute["missing"] = {c: minute["missing"][c] for c in OF_PART}
        fields["minutes"] = sorted(minutes, key=lambda minute: minute["bin_ms"])
        if fields["kind"] == r.BAD:
            # A file in one case, its URI in the other; the bad lines below have both.
            fields["vertex"] = None
        if fields["document"] is not None:
            fields["document"] = _plain(fields["document"])
        found.append(fields)
    return sorted(found, key=str)


def _plain(document: str) -> str:
    try:
        return json.dumps(json.loads(document), sort_keys=True)
    except ValueError:
        return document


def check_same(here: LogSums, there: LogSums) -> None:
    assert rows(here) == rows(there)
    assert here.quarantine.counts == there.quarantine.counts
    assert sorted(map(str, here.quarantine.lines())) == sorted(map(str, there.quarantine.lines()))
    assert here.damage == there.damage


def test_sums_and_bad_lines_of_whatever_is_in_a_log(spark, tmp_path):
    """Of four logs at once: each format costs Spark seconds, however little there is to read."""
    from edgeplace.spark_stats import by_spark

    def nobody(step: str, share: float) -> None:
        pass

    files = []
    for hour, seed in enumerate((0, 1, 2, 3)):
        folder = tmp_path / str(hour)
        folder.mkdir()
        files += hostile_log(folder, seed, hour)
    check_same(reading.log_sums(log_files(files), nobody), by_spark.log_sums(files, spark, nobody))
    # Under names that say nothing, where only Spark finds them.
    packed = [misnamed(file) for file in files]
    here = reading.log_sums(log_files(packed), nobody)
    there = by_spark.log_sums([file.as_uri() for file in packed], spark, nobody)
    assert rows(here) == rows(there)
    assert here.quarantine.counts == there.quarantine.counts
    assert lines(here) == lines(there)
    assert list(here.damage) == [note.replace("file://", "") for note in there.damage]


def misnamed(file: Path) -> Path:
    """Return a file beside another, with its content packed."""
    data, path = file.read_bytes(), file.with_name(f"{file.name}.packed")
    path.write_bytes(data if data.startswith(GZIP_MAGIC) else gzip.compress(data))
    # A scrape is dated by its file.
    shutil.copystat(file, path)
    return path


def lines(sums: LogSums) -> list[str]:
    """Return the bad lines, with plain paths."""
    return sorted(str(bad).replace("file://", "") for bad in sums.quarantine.lines())


@pytest.mark.parametrize(
    "recorded",
    ["the demo", "slf4j_reporter.log.gz", "influx_reporter.lp.gz", "otlp_reporter.jsonl.gz"],
)
def test_costs_of_recorded_logs(spark, data, recorded, monkeypatch):
    from edgeplace.spark_stats import by_spark, measurement

    log = DEMO if recorded == "the demo" else data / recorded
    cluster = read(path("demo/cluster.yaml"), Cluster) if recorded == "the demo" else None
    sums: list[LogSums] = []
    for module in (by_spark, measurement):
        # What the measurements read, without reading it once more.
        monkeypatch.setattr(module, "log_sums", remembered(module.log_sums, sums))
    there, here = (measure([log], cluster, spark=session) for session in (spark, None))
    check_same(*reversed(sums))
    assert dump(here.costs) == dump(there.costs)
    assert here.samples == there.samples


def remembered(read_log: Callable[..., LogSums], sums: list[LogSums]) -> Callable[..., LogSums]:
    def reads(*args: object) -> LogSums:
        sums.append(read_log(*args))
        return sums[-1]

    return reads
