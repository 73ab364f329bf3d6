"""The jobs of the headline experiment on a real Flink, against plain loops over their records."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support import plain_loops
from tests.support.flink_releases import NEWEST

REASON = "the testbed is not in the wheel, and not beside these tests"
errors = pytest.importorskip("testbed.errors", reason=REASON)
flink_config = pytest.importorskip("testbed.flink.config", reason=REASON)
flink_home = pytest.importorskip("testbed.flink.home", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)
workloads = pytest.importorskip("testbed.experiments.workloads", reason=REASON)
pytestmark = pytest.mark.live

TASK_MANAGERS = (("edge", "127.0.0.31"), ("server", "127.0.0.32"))
LONGEST_SECONDS = 240
ENDED = ("FINISHED", "FAILED", "CANCELED")
SITES = 2
RECORDS = 20_000
FEW_RECORDS = {"shrinking": 60, "psm": 6000, "dsop": 5000} | dict.fromkeys(
    ("riot-etl", "riot-stats", "riot-predict", "riot-train", "riot-all"), 1500
)
IN_PYTHON: dict[str, Callable[[int], dict[str, Any]]] = {
    "psm": lambda records: plain_loops.psm(records, lambda number: number),
    "dsop": lambda records: plain_loops.dsop(records, lambda number: number),
    "riot-etl": plain_loops.riot_etl,
    "riot-stats": plain_loops.riot_stats,
    "riot-predict": plain_loops.riot_predict,
    "riot-train": plain_loops.riot_train,
    "riot-all": lambda records: plain_loops.all_of(
        plain_loops.riot_etl(records),
        plain_loops.riot_stats(records),
        plain_loops.riot_predict(records),
        plain_loops.riot_train(records),
    ),
}
BY_NAME = {each.name: each for each in workloads.WORKLOADS}


@dataclass
class Jobs:
    """A cluster that has the jar of all jobs."""

    cluster: local_cluster.LocalCluster
    home: Path
    jar: Path
    jar_id: str

    def start(
        self, workload: workloads.Workload, *arguments: str, savepoint: str | None = None
    ) -> str:
        return self.cluster.rest.run(
            self.jar_id,
            [*(f"{key}={value}" for key, value in workload.arguments.items()), *arguments],
            savepoint,
            options={"restart-strategy.type": "none"},
            main_class=workload.main_class,
        )

    def wait_for_end(self, job_id: str) -> None:
        self.wait_until(lambda: self.cluster.rest.state(job_id) in ENDED)
        if self.cluster.rest.state(job_id) != "FINISHED":
            why = self.cluster.rest.get(f"/jobs/{job_id}/exceptions")
            pytest.fail(str(why)[:3000])

    def wait_until(self, met: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not met():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {LONGEST_SECONDS} s")
            time.sleep(0.1)

    def vertices(self, job_id: str) -> list[dict[str, Any]]:
        return self.cluster.rest.get(f"/jobs/{job_id}")["vertices"]

    def expected(self, workload: workloads.Workload, *arguments: str) -> dict[str, Any]:
        """What the plain loops say."""
        if workload.name in IN_PYTHON:
            return IN_PYTHON[workload.name](FEW_RECORDS[workload.name])
        job = workload.main_class.rpartition(".")[2]
        own = (f"{key}={value}" for key, value in workload.arguments.items())
        command = ["java", "-cp", f"{self.jar}:{self.home}/lib/*", "testbed.jobs.Reference"]
        ran = subprocess.run(
            [*command, f"job={job}", *own, *arguments], capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture(scope="session", params=[NEWEST])
def flink_version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def jobs(flink_version: str) -> Iterator[Jobs]:
    for tool in ("javac", "java", "setpriv"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: the jobs' tests need a JDK (11 or later) and util-linux")
    try:
        home = flink_home.flink_home(flink_version)
    except errors.TestbedError as error:
        pytest.skip(f"no Flink {flink_version} in the cache, and {error}")
    specs = [
        local_cluster.TaskManagerSpec(name, host, slots=2, process_memory="840m")
        for name, host in TASK_MANAGERS
    ]
    with local_cluster.LocalCluster(home, specs, flink_config.QUICK) as cluster:
        jar = workloads.compile_workloads(home, cluster.scratch)
        yield Jobs(cluster, home, jar, cluster.rest.upload(jar))


def bounded(workload: workloads.Workload) -> list[str]:
    """Arguments of a job that ends, and whose results depend on nothing but these."""
    records = FEW_RECORDS.get(workload.name, RECORDS)
    return ["clock=synthetic", f"records={records}", f"sources={SITES}"]


def result(out: Path) -> dict[str, Any]:
    return json.loads((out / "result-0.json").read_text())


@pytest.mark.parametrize("name", BY_NAME)
def test_a_job_finds_what_plain_loops_find(jobs: Jobs, name: str, tmp_path: Path) -> None:
    workload = BY_NAME[name]
    arguments = bounded(workload)

    job_id = jobs.start(workload, *arguments, "per-second=max", f"out={tmp_path}")
    jobs.wait_for_end(job_id)

    found, expected = result(tmp_path), jobs.expected(workload, *arguments)
    assert expected["count"] > 0
    if name == "t-digest":
        assert_medians_within_the_published_error(found["latest"], expected["latest"])
    else:
        assert found == expected
    vertices = jobs.vertices(job_id)
    sources = [each for each in vertices if each["name"].startswith(workload.source_vertices)]
    assert [each["parallelism"] for each in sources] == [SITES] * len(workload.source_vertices)
    assert all(each["metrics"]["read-records"] == 0 for each in sources)
    assert vertices[-1]["name"] == "sink"
    assert vertices[-1]["parallelism"] == 1
    # Two operators of ours in one vertex could not be placed apart.
    assert len(vertices) >= 3


def assert_medians_within_the_published_error(
    found: dict[str, str], expected: dict[str, str]
) -> None:
    assert found.keys() == expected.keys()
    for quantity, text in expected.items():
        count, median = found[quantity].split()
        expected_count, low, high = text.split()
        assert count == expected_count
        assert float(low) <= float(median) <= float(high)


def test_a_restored_job_loses_and_doubles_nothing(jobs: Jobs, tmp_path: Path) -> None:
    workload = BY_NAME["word-count"]
    rate_file = tmp_path / "rate"
    # Slow: the job must outlast the time until its figures are told.
    rate_file.write_text("200\n")
    arguments = [*bounded(workload), "flush-ms=100"]
    run = [*arguments, f"rate-file={rate_file}", f"out={tmp_path}"]

    first = jobs.start(workload, *run)
    jobs.wait_until(lambda: jobs.vertices(first)[-1]["metrics"]["read-records"] > 0)
    savepoint = jobs.cluster.rest.stop_with_savepoint(first, tmp_path)
    assert not (tmp_path / "result-0.json").exists()
    rate_file.write_text("max\n")
    second = jobs.start(workload, *run, savepoint=savepoint)
    jobs.wait_for_end(second)

    sentences = jobs.vertices(second)[0]["metrics"]["write-records"]
    assert 0 < sentences < SITES * RECORDS
    assert result(tmp_path) == jobs.expected(workload, *arguments)


def test_every_result_has_a_latency(jobs: Jobs, tmp_path: Path) -> None:
    records = 500

    job_id = jobs.start(
        BY_NAME["q1-map"], f"records={records}", f"sources={SITES}", f"out={tmp_path}"
    )
    jobs.wait_for_end(job_id)

    lines = [json.loads(line) for line in (tmp_path / "latency-0.jsonl").read_text().splitlines()]
    assert sum(line["count"] for line in lines) == SITES * records
    for line in lines:
        assert sum(line["buckets"].values()) == line["count"]
        largest = sum(float(upper) * count for upper, count in line["buckets"].items())
        # A bucket is 5 % wide, and ends at 1 ms at the least.
        assert line["sum_ms"] <= largest + 1e-3 * line["count"]
        assert largest / 1.05 - line["count"] <= line["sum_ms"]


def test_records_and_selectivity_are_as_asked_for(jobs: Jobs, tmp_path: Path) -> None:
    workload = BY_NAME["selective-filter"]

    job_id = jobs.start(
        workload,
        *bounded(workload),
        "per-second=max",
        "selectivity=0.3",
        "record-bytes=500",
        f"out={tmp_path}",
    )
    jobs.wait_for_end(job_id)

    readings, kept, _ = (each["metrics"] for each in jobs.vertices(job_id))
    assert readings["write-records"] == SITES * RECORDS
    # Beside the records a stream carries some watermarks and events.
    assert readings["write-bytes"] / readings["write-records"] == pytest.approx(500, rel=0.01)
    assert kept["write-records"] / readings["write-records"] == pytest.approx(0.3, rel=0.05)


def test_the_messages_of_stations_have_the_length_asked_for(jobs: Jobs, tmp_path: Path) -> None:
    workload = BY_NAME["riot-train"]

    job_id = jobs.start(
        workload, *bounded(workload), "per-second=max", "message-bytes=500", f"out={tmp_path}"
    )
    jobs.wait_for_end(job_id)

    messages = jobs.vertices(job_id)[0]["metrics"]
    assert messages["write-records"] == SITES * FEW_RECORDS[workload.name]
    # Beside the messages a stream carries some watermarks and events.
    assert messages["write-bytes"] / messages["write-records"] == pytest.approx(500, rel=0.01)


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("selectivty=0.3", r"unknown arguments: \[selectivty\]"),
        ("selectivity=1.5", "selectivity is from 0 to 1"),
        ("record-bytes=40", "record-bytes at least 46"),
        ("clock=sundial", "clock is wall or synthetic"),
    ],
)
def test_a_wrong_argument_is_refused(
    jobs: Jobs, argument: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(requests.RequestException, match=problem):
        jobs.start(BY_NAME["selective-filter"], f"out={tmp_path}", argument)


CURVE = """seconds,rate
0,500
2,1500
2,0
3,0
3,250.5
8,1000
"""


def test_event_times_may_follow_a_curve_of_load(jobs: Jobs, tmp_path: Path) -> None:
    curve = tmp_path / "curve.csv"
    curve.write_text(CURVE)
    records = 2500

    job_id = jobs.start(
        BY_NAME["dsop"],
        "clock=synthetic",
        f"synthetic-curve={curve}",
        f"records={records}",
        f"sources={SITES}",
        "per-second=max",
        # None of these changes what is said, but selectivity and what is frequent.
        *("hot-keys=20", "true-hot-keys=5", "workload-ratio=2", "state-bytes=100"),
        *("selectivity=0.5", "shift-records=700"),
        f"out={tmp_path}",
    )
    jobs.wait_for_end(job_id)

    assert result(tmp_path) == plain_loops.dsop(
        records,
        plain_loops.times_of(CURVE, records).__getitem__,
        shift_records=700,
        selectivity=0.5,
    )


DRIVE = """
package testbed.jobs;

import java.nio.file.*;
import java.nio.file.attribute.FileTime;

class Drive {
    static long nowMs;
    static Pace pace;

    static int takenUntil(long endMs) throws Exception {
        int taken = 0;
        for (; nowMs < endMs; nowMs += 5) {
            while (taken < 1_000_000 && pace.take(nowMs * 1_000_000)) {
                taken++;
            }
        }
        return taken;
    }

    static void write(Path file, String text, long agoS) throws Exception {
        Files.writeString(file, text);
        long writtenMs = System.currentTimeMillis() - agoS * 1000;
        Files.setLastModifiedTime(file, FileTime.fromMillis(writtenMs));
    }

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        if (args[1].equals("curve")) {
            Curve curve = Curve.read(file);
            for (int i = 2; i < args.length; i++) {
                double at = Double.parseDouble(args[i]);
                System.out.println(curve.rate(at) + " " + curve.until(at) + " "
                        + curve.secondsUntil(curve.until(at)));
            }
            return;
        }
        pace = new Pace("200", args[0], 0);
        System.out.println(takenUntil(1000));
        nowMs += 500;
        System.out.println(takenUntil(2000));
        nowMs += 5000;
        System.out.println(takenUntil(8000));
        Files.writeString(file, "30.5");
        System.out.println(takenUntil(12000));
        Files.writeString(file, "");
        System.out.println(takenUntil(14000));
        Files.writeString(file, "0");
        takenUntil(14200);
        System.out.println(takenUntil(16000));
        // An hour ago the rate was 7000; for half an hour it has been 50.
        write(file, "seconds,rate\\n0,7000\\n1800,7000\\n1800,50", 3600);
        System.out.println(takenUntil(18000));
        nowMs += 500;
        System.out.println(takenUntil(20000));
        nowMs += 5000;
        System.out.println(takenUntil(26000));
        Files.writeString(file, "max");
        System.out.println(takenUntil(26100) >= 1_000_000);
        Files.writeString(file, "fast");
        takenUntil(27000);
    }
}
"""


@pytest.fixture(scope="module")
def drive(
    jobs: Jobs, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the class above."""
    folder = tmp_path_factory.mktemp("drive")
    source = folder / "Drive.java"
    source.write_text(DRIVE)
    classes = f"{jobs.jar}:{jobs.home}/lib/*"
    compiling = ["javac", "-cp", classes, "-d", str(folder), str(source)]
    subprocess.run(compiling, check=True)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        driving = ["java", "-cp", f"{folder}:{classes}", "testbed.jobs.Drive"]
        return subprocess.run(
            [*driving, *map(str, arguments)], capture_output=True, text=True, check=False
        )

    return run


def test_a_source_keeps_the_rate_without_bursts_after_long_stalls(
    drive: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ran = drive(tmp_path / "rate", "pace")

    second, after_short, after_long, slower, empty_file, stopped, *curve, unlimited = (
        ran.stdout.split()
    )
    assert abs(int(second) - 200) <= 1
    assert abs(int(after_short) - 200) <= 1, "half a second's records were held up"
    assert abs(int(after_long) - 200) <= 1, "and five seconds' given up"
    assert abs(int(slower) - 4 * 30.5) <= 0.1 * 200 + 1, "read from the file in time"
    assert abs(int(empty_file) - 2 * 30.5) <= 1
    assert (stopped, unlimited) == ("0", "true")
    along, after_short, after_long = map(int, curve)
    assert abs(along - 100) <= 0.1 * 50 + 1, "the rate that the curve has now"
    assert abs(after_short - 100) <= 1, "half a second's records were held up"
    assert abs(after_long - 50) <= 1, "and five seconds' given up"
    assert 'a rate is a number of records per second or max, not "fast"' in ran.stderr


def test_a_curve_offers_what_lies_under_it(
    drive: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "curve.csv"
    file.write_text(CURVE)

    ran = drive(file, "curve", 0, 1, 1.999, 2, 3, 5.5, 8, 10)

    # Trapezoids: 500 to 1000 in the first second, 2000 until the jump, none for a second.
    ramp = (1000 - 250.5) / 5
    expected = [
        (500, 0, 0),
        (1000, 750, 1),
        (1499.5, 2000 - 0.001 * 1499.75, 1.999),
        (0, 2000, 2),
        # The first time by which 2000 are offered is before the pause.
        (250.5, 2000, 2),
        (250.5 + 2.5 * ramp, 2000 + 2.5 * (250.5 + 1.25 * ramp), 5.5),
        (1000, 2000 + 5 * (250.5 + 2.5 * ramp), 8),
        (1000, 2000 + 5 * (250.5 + 2.5 * ramp) + 2000, 10),
    ]
    lines = [tuple(map(float, line.split())) for line in ran.stdout.splitlines()]
    assert len(lines) == len(expected), ran.stderr
    for line, wanted in zip(lines, expected, strict=True):
        assert line == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seconds,rate", "a curve has the header seconds,rate and at least one point"),
        ("seconds,rate\n0,5\n3;7", "line 3: a point is a time and a rate, not .*3;7"),
        ("seconds,rate\n0,5\n3,-7", "line 3: a point is a time and a rate, not .*3,-7"),
        ("seconds,rate\n5,5\n3,7", "line 3: the times go back"),
    ],
)
def test_a_wrong_curve_is_refused(jobs: Jobs, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text(text)
    with pytest.raises(requests.RequestException, match=problem):
        jobs.start(
            BY_NAME["dsop"],
            "clock=synthetic",
            f"synthetic-curve={tmp_path}/curve.csv",
            f"out={tmp_path}",
        )
