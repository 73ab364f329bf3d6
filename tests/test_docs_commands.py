"""Each command of the README and of docs/ is carried out: here, or elsewhere.

`test_docs_elsewhere.py` has the others. Here, page by page and section by section, as they stand in
the page: `edgeplace` in this process, the others in a shell. What stands in for other machines is
in `Scene`; the files that a section takes for granted are in `files`.
"""

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink import load_job
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.instances import path
from edgeplace.model import Cluster, Costs, read, write
from tests.support.docs_commands import DOCS, OURS, PAGES, place_elsewhere
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeTaskManager, now_ms, wordcount
from tests.support.fake_prometheus import TASK, FakePrometheus
from tests.support.flink_case import write_plan
from tests.support.markdown import Command, blocks, commands, values_of
from tests.support.seeds import filter_cluster, filter_job

DATA = Path(__file__).parent / "spark_stats" / "data"

HARMLESS = ("cd", "cp", "export", "mkdir")
"""What runs in a shell here. A new line of the docs that begins with another word does not run
unasked: it needs a place above."""

TASK_MANAGERS = (
    *(FakeTaskManager(f"pi-{i}", f"10.0.1.{i}", 2) for i in (1, 2, 3)),
    FakeTaskManager("server", "10.0.0.5", 4),
)


def refused(command: Command) -> bool:
    """Return whether a command is neither edgeplace nor a single harmless one of a shell."""
    parts = shlex.shlex(command.text, posix=True, punctuation_chars=True)
    return command.words[0] not in ("edgeplace", *HARMLESS) or not {";", "|", "||", "&"}.isdisjoint(
        parts
    )


def test_only_harmless_commands_run_here():
    assert [str(each) for _, found in sections() for each in found if refused(each)] == []


@pytest.mark.parametrize(
    ("page", "bad"),
    [
        ("```sh\npip install edgeplace\n```\n", True),
        ("```sh\ncd /tmp && rm -r plans\n```\n", True),
        ("```sh\ncd /tmp; rm -r plans\n```\n", True),
        ("Then:\n\n    rm -r plans\n\nmore\n", True),
        ("```sh\ncd a && mkdir 'b;c'\n```\n\n    key: value\n", False),
    ],
)
def test_a_new_line_of_the_docs_does_not_run_unasked(page, bad, tmp_path):
    file = tmp_path / "page.md"
    file.write_text(page)
    assert any(map(refused, commands(file))) == bad


def sections() -> Iterator[tuple[str, list[Command]]]:
    """Yield the commands of each section that run here; those of a section need each other."""
    for page in PAGES:
        heads = [0]
        in_block = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            in_block ^= line.lstrip().startswith("```")
            if line.startswith("## ") and not in_block and page.name != "tutorial.md":
                heads.append(number)
        here = [each for each in OURS if each.page == page and not place_elsewhere(each)]
        for first, after in zip(heads, [*heads[1:], 10**9], strict=True):
            found = [each for each in here if first < each.line < after]
            if found:
                yield f"{page.name}-{found[0].line}", found


class Scene:
    """A folder, a Flink and a Prometheus of memory, and Spark that says what it was asked for."""

    def __init__(
        self, commands: list[Command], folder: Path, flink: str, prometheus: str, log: Costs
    ) -> None:
        self.commands = commands
        self.folder = folder
        self.asked: list[tuple[object, ...]] = []
        self._here = {
            "http://localhost:8081": flink,
            "http://localhost:9090": prometheus,
            "/opt/flink": str(folder / "flink"),
            "/var/lib/graphite/whisper": str(folder / "whisper"),
            # Names of the pages' machines and operators, where the fakes have others.
            "pi-lyon-1": "pi-1",
            "combine=1s,records=20000,keys=10": "window=1s,records=20000,keys=10",
            # A duration of the pages.
            "10m": "3s",
            # Times of the log.
            "2026-11-01T08:00": _clock(log.from_ms),
            "2026-11-01T20:00": _clock(log.to_ms),
        }

    def run(self, command: Command) -> None:
        """Carry out a command."""
        words = [self._here.get(word, word) for word in command.words]
        if words[0] == "edgeplace":
            self._edgeplace(words[1:])
        else:
            assert not refused(command), f"{command}: see HARMLESS"
            self._shell(command.text.strip())

    def _edgeplace(self, words: list[str]) -> None:
        if words[:2] in (["flink", "apply"], ["flink", "drain"]):
            # What was solved is for another job.
            write_plan(self.folder / "plan.json")
        if words[:2] == ["flink", "collect"] and "--jobmanager" in words:
            words += ["--interval", "1"]
        if words[0] == "bench":
            words += ["--backends", "milp", "--time-limit", "5"]
        out, err = StringIO(), StringIO()
        status = main(words, Console(out, err))
        # A valid plan that is not proved the best is an answer, too.
        ended = (ExitStatus.OK, ExitStatus.NOT_PROVED)
        assert status in ended, f"{shlex.join(words)}: {err.getvalue() or out.getvalue()}"
        if "--master" in words:
            (master, _, settings, packaged), logs = self.asked[-2:]
            assert master == words[words.index("--master") + 1]
            assert [f"{key}={value}" for key, value in settings.items()] == values_of(
                "--conf", words
            )
            assert packaged == ("--package-python" in words)
            assert logs == tuple(word for word in words[1:] if "://" in word and word != master)

    def _shell(self, line: str) -> None:
        for theirs, ours in self._here.items():
            line = line.replace(theirs, ours)
        ran = subprocess.run(
            ["/bin/bash", "-ec", f"{line}\npwd"],
            capture_output=True,
            text=True,
            timeout=60,
            env={
                **os.environ,
                "HOME": str(self.folder),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
        )
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
        os.chdir(ran.stdout.splitlines()[-1])


def _clock(ms: int | None) -> str:
    assert ms is not None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def example(page: Path, language: str, first: str) -> str:
    """Return the one block of a page that begins like that."""
    (found,) = (b.text for b in blocks(page) if b.language == language and b.text.startswith(first))
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """Return a folder with the costs of the demo, and its job."""
    folder = tmp_path_factory.mktemp("measured")
    demo = (str(path(f"demo/{name}")) for name in ("metrics.jsonl.gz", "cluster.yaml"))
    log, cluster = demo
    out = StringIO()
    words = ["costs", log, "--cluster", cluster, "-o", str(folder / "costs.json")]
    assert main(words, Console(out, out)) is ExitStatus.OK, out.getvalue()
    write(load_job(log)[0], folder / "job.json")
    return folder


@pytest.fixture
def scene(request, tmp_path, monkeypatch, measured) -> Iterator[Scene]:
    monkeypatch.chdir(tmp_path)
    for name in ("ENV", "FLINK_PASSWORD", "FLINK_TOKEN", "FLINK_USER"):
        monkeypatch.delenv(f"EDGEPLACE_{name}", raising=False)
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._ASK_S", 0.02)
    monkeypatch.setattr("edgeplace.adapters.flink.apply.apply._LOOK_S", 0.02)
    (tmp_path / "plans").mkdir()
    job = wordcount("telemetry" if request.param[0].page.name == "collect.md" else "wordcount")
    with FakeFlink(tmp_path / "plans", [job]) as flink, FakePrometheus() as prometheus:
        flink.task_managers[:] = TASK_MANAGERS
        flink.configuration["metrics.fetcher.update-interval"] = "100 ms"
        monkeypatch.setenv("EDGEPLACE_JOBMANAGER", flink.url)
        scrape(prometheus)
        log = read(measured / "costs.json", Costs)
        made = Scene(request.param, tmp_path, flink.url, prometheus.url, log)
        files(request.param[0].page.name, tmp_path, measured)
        for command in made.commands:
            if "discover" in command.words:
                for name in ("cluster.yaml", "job.json"):
                    (tmp_path / name).unlink(missing_ok=True)
        without_spark(made, monkeypatch)
        yield made


def files(name: str, folder: Path, measured: Path) -> None:
    """Write what a section takes for granted."""
    for part in ("flink/bin", "flink/conf", "flink/lib", "flink/opt", "edgeplace/instances/demo"):
        (folder / part).mkdir(parents=True)
    (folder / "flink" / "conf" / "config.yaml").write_text("rest.port: 8081\n")
    (folder / "flink" / "lib" / "flink-dist-2.3.0.jar").touch()
    (folder / "sites.yaml").write_text(example(DOCS / "collect.md", "yaml", "sites:"))
    kubernetes(folder / "kubernetes.json")
    write_plan(folder / "plan.json")
    if name == "several-jobs.md":
        write(filter_cluster(), folder / "cluster.yaml")
        for job in ("parcels", "forklifts"):
            known = filter_job(5e4, 100.0).model_copy(update={"name": job})
            write(known, folder / f"{job}.yaml")
    elif name == "job.md":
        (folder / "job.yaml").write_text(example(DOCS / "job.md", "yaml", "name: cameras"))
        (folder / "cluster.yaml").write_text(example(DOCS / "job.md", "yaml", "sites: [{id: paris"))
    elif name == "splitting.md":
        (folder / "job.yaml").write_text(example(DOCS / "splitting.md", "yaml", "name: hot"))
        (folder / "cluster.yaml").write_text(
            example(DOCS / "splitting.md", "yaml", "sites: [{id: a")
        )
    elif name == "cluster.md":
        write(Cluster.model_validate(registered()), folder / "hosts.yaml")
    elif name == "kubernetes.md":
        (folder / "deploy" / "kubernetes").mkdir(parents=True)
    elif name == "collect.md":
        with_reporters(folder)
    elif name != "project.md":
        for file in ("job.json", "costs.json"):
            shutil.copy(measured / file, folder)
        shutil.copy(path("demo/cluster.yaml"), folder)
        for log in (
            "metrics.jsonl.gz",
            "metrics.0317.jsonl.gz",
            "control/metrics/metrics.jsonl.gz",
        ):
            (folder / log).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path("demo/metrics.jsonl.gz"), folder / log)


def registered() -> dict[str, object]:
    """Return a cluster of what has registered at the Flink of memory."""
    nodes = [
        {"id": tm.id, "site": "cloud" if tm.id == "server" else "lyon", "cores": 4}
        for tm in TASK_MANAGERS
    ]
    held = [{"id": tm.id, "node": tm.id, "slots": tm.slots} for tm in TASK_MANAGERS]
    sites = [{"id": "lyon"}, {"id": "cloud", "tier": "cloud"}]
    return {"sites": sites, "nodes": nodes, "task_managers": held}


def kubernetes(file: Path) -> None:
    """Write what kubectl says of a cluster in which these TaskManagers run."""
    items: list[object] = []
    for tm in TASK_MANAGERS:
        zone = "cloud" if tm.id == "server" else "lyon"
        labels = {"topology.kubernetes.io/zone": zone, "edgeplace/tier": "edge"}
        if tm.id == "server":
            labels["edgeplace/tier"] = "cloud"
        room = {"cpu": "4", "memory": "4Gi"}
        container = {
            "name": "taskmanager",
            "args": ["taskmanager", f"-Dtaskmanager.resource-id={tm.id}"],
            "resources": {"limits": room},
        }
        items += [
            {
                "kind": "Node",
                "metadata": {"name": tm.id, "labels": labels},
                "status": {"allocatable": room},
            },
            {
                "kind": "Pod",
                "metadata": {"name": f"pod-{tm.id}", "labels": {}},
                "spec": {"nodeName": tm.id, "containers": [container]},
            },
        ]
    file.write_text(json.dumps({"kind": "List", "items": items}))


def with_reporters(folder: Path) -> None:
    """Write logs of Flink's reporters, and the job and the cluster that they are of."""
    shutil.copy(DATA / "influx_reporter.lp.gz", folder / "flink.lp.gz")
    otlp = gzip.decompress((DATA / "otlp_reporter.jsonl.gz").read_bytes())
    (folder / "flink-metrics.json").write_bytes(otlp)
    with tarfile.open(DATA / "whisper.tar.gz") as packed:
        packed.extractall(folder / "whisper", filter="data")
    for of_job in list((folder / "whisper").rglob("counting")):
        of_job.rename(of_job.with_name("telemetry"))
    write(Cluster.model_validate(registered()), folder / "cluster.yaml")
    write(load_job(DATA / "reporters_rest.jsonl.gz")[0], folder / "job.json")


def scrape(prometheus: FakePrometheus) -> None:
    """Let the job be scraped for the last minutes."""
    now = now_ms() / 1000
    times = [now - 15 * i for i in reversed(range(20))]
    for vertex in wordcount().vertices:
        for subtask, place in enumerate(vertex.places):
            labels = {"job_id": "a" * 32, "job_name": "telemetry", "task_id": vertex.id}
            labels |= {"task_name": vertex.name, "subtask_index": str(subtask), "tm_id": str(place)}
            for name, per_s in (
                ("numRecordsIn", 100),
                ("numRecordsOut", 70),
                ("accumulateBusyTimeMs", 500),
            ):
                values = [per_s * (at - times[0]) for at in times]
                prometheus.scrape(f"{TASK}_{name}", times, values, task_attempt_num="0", **labels)


def without_spark(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Spark note what it is asked for; what it would read is the log of the demo."""
    from edgeplace import spark_stats
    from edgeplace.commands import bench

    measure, named = spark_stats.measure, bench.named

    def open_session(*asked: object) -> object:
        scene.asked.append(asked)
        return scene

    def measure_here(logs: Sequence[str], spark: object = None, **case: Any) -> Any:
        if spark is scene:
            scene.asked.append(tuple(logs))
            logs, spark = [str(path("demo/metrics.jsonl.gz"))], None
        return measure(logs, spark=spark, **case)

    monkeypatch.setattr("edgeplace.commands.bench.named", lambda given: named(given)[:1])
    monkeypatch.setattr(spark_stats, "open_session", open_session)
    monkeypatch.setattr(spark_stats, "measure", measure_here)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scene", [pytest.param(s, id=name) for name, s in sections()], indirect=True
)
def test_the_commands_of_a_section(scene: Scene) -> None:
    for command in scene.commands:
        scene.run(command)
