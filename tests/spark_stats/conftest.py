"""One Spark session for all tests here, and a writer of small logs in the canonical format."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from edgeplace.model import Cluster, Node, Site, TaskManager
from edgeplace.spark_stats import add_to_ledger
from tests.support.segments import segments

JOB = "a" * 32
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def spark(needs_spark: None) -> Iterator[object]:
    from edgeplace.spark_stats.session import local_session

    session = local_session("2")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    # It plans each query anew after each of its shuffles, and it makes Java of each query and
    # compiles that: together about half of the processor time for small logs. The tests of the
    # command line and of Spark Connect have both on, as users do.
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield session
    session.stop()


@pytest.fixture(scope="session", params=["without", pytest.param("with", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> object:
    """The session for `measure`: None, and one of Spark."""
    return request.getfixturevalue("spark") if request.param == "with" else None


class Recording:
    """Writes a canonical log answer by answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def answer(self, ts_ms: int, path: str, answer: object) -> None:
        line = {"edgeplace_log": 1, "ts_ms": ts_ms, "path": path, "answer": answer}
        self.lines.append(json.dumps(line))

    def job(
        self,
        operators: Mapping[str, int],
        streams: Sequence[tuple[str, str, str]] = (),
        job: str = JOB,
        name: str = "telemetry",
        ts_ms: int = 0,
    ) -> None:
        """Write the answers about a job, its own one last, as later polls have it, too."""
        vertices = [{"id": f"id-{n}", "name": n, "parallelism": p} for n, p in operators.items()]
        nodes = [
            {
                "id": f"id-{n}",
                "inputs": [
                    {"id": f"id-{a}", "ship_strategy": ship} for a, b, ship in streams if b == n
                ],
            }
            for n in operators
        ]
        plan = {"name": name, "nodes": nodes}
        self.answer(ts_ms, f"/jobs/{job}/plan", {"plan": plan})
        told = {"name": name, "vertices": vertices, "now": 1, "plan": plan}
        self.answer(ts_ms, f"/jobs/{job}", told)

    def placed(
        self,
        ts_ms: int,
        operator: str,
        task_managers: Sequence[str],
        attempt: int = 0,
    ) -> None:
        tasks = [
            {"subtask": i, "attempt": attempt, "taskmanager-id": tm, "endpoint": f"{tm}:1"}
            for i, tm in enumerate(task_managers)
        ]
        self.answer(ts_ms, f"/jobs/{JOB}/vertices/id-{operator}", {"subtasks": tasks})

    def metrics(
        self, ts_ms: int, operator: str, job: str = JOB, **values: float | str | Sequence[float]
    ) -> None:
        """Write metrics; a single value is that of subtask 0."""
        items = [
            {"id": f"{i}.{metric.replace('__', '.')}", "value": str(value)}
            for metric, given in values.items()
            for i, value in enumerate(given if isinstance(given, list | tuple) else [given])
        ]
        self.answer(ts_ms, f"/jobs/{job}/vertices/id-{operator}/metrics", items)

    def grow(self, polls: int = 5) -> None:
        """Write polls of an operator that could take 2,000 records/s and is busy a tenth of it."""
        for poll in range(polls):
            counters = {"numRecordsIn": 1000 * poll, "accumulateBusyTimeMs": 500 * poll}
            self.metrics(1_795_225_900_000 + 5000 * poll, "map", **counters)

    def write(self, name: str = "log.jsonl", newline: str = "\n") -> Path:
        path = self.folder / name
        path.write_bytes((newline.join(self.lines) + newline).encode())
        return path


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


@pytest.fixture(scope="session")
def recording_in() -> Callable[[Path], Recording]:
    return Recording


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    return Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pi-1", site="edge", node_class="pi", cores=4),
            Node(id="pi-2", site="edge", node_class="pi", cores=4),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            TaskManager(id="pi-1", node="pi-1", slots=4, host="10.0.0.1"),
            TaskManager(id="pi-2", node="pi-2", slots=4, host="10.0.0.2"),
            TaskManager(id="server", node="server", slots=16, host="10.0.0.9"),
        ),
    )


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture(scope="module")
def two(recording_in, tmp_path_factory) -> Path:
    """Return a folder with `log/` of three segments and `ledger/`, which has the first two."""
    folder = tmp_path_factory.mktemp("ledger")
    files = segments(recording_in(folder), folder / "log", [8, 16])
    add_to_ledger(folder / "ledger", files[:1])
    add_to_ledger(folder / "ledger", files[1:2])
    return folder


@pytest.fixture
def ledger(two, tmp_path) -> Path:
    return Path(shutil.copytree(two / "ledger", tmp_path / "ledger"))
