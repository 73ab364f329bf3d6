"""Each command of the README and of docs/ is carried out: here, or by what `ELSEWHERE` names.

Here, page by page and section by section, as they stand in the page: `edgeplace` in this process,
the others in a shell. What stands in for other machines is in `Scene`; the files that a section
takes for granted are in `files`. What cannot be carried out in a test is in `BY_HAND`, with the
reason: the list is short, and a test prints it. What is not carried out here is at least read by
the program that it is for, so that a wrong option is found.
"""

import ast
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink import load_job
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.cli.registry import parser
from edgeplace.instances import path
from edgeplace.model import Cluster, Costs, read, write
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeTaskManager, now_ms, wordcount
from tests.support.fake_prometheus import TASK, FakePrometheus
from tests.support.flink_case import write_plan
from tests.support.markdown import Command, blocks, commands
from tests.support.seeds import filter_cluster, filter_job

testbed = pytest.importorskip("testbed.__main__", reason="the testbed is not beside these tests")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip(f"{DOCS} is not there", allow_module_level=True)
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
DATA = Path(__file__).parent / "spark_stats" / "data"

OF_CONTROL = "tests/edgeplace/commands/control/test_run.py::"
APPROVED = f"{OF_CONTROL}test_recommend_explain_approve_and_back"
REJECTED = f"{OF_CONTROL}test_a_plan_that_is_rejected_is_not_made_and_a_freeze_holds"
WATCHED = f"{OF_CONTROL}test_without_costs_it_watches_and_says_what_is_missing"
ELSEWHERE = {
    # Page, beginning of the command -> the test (or the file of CI) that carries it out, and what
    # stands in it, or in what it uses of its file.
    ("README.md", "edgeplace (?!flink)"): (
        "tests/test_readme.py::test_a_command_runs",
        "OURS",
    ),
    ("explain.md", "edgeplace "): ("tests/test_readme.py::test_a_command_runs", "OURS"),
    ("tutorial.md", "edgeplace costs metrics.jsonl.gz"): (
        "tests/test_tutorial.py::test_measured_instead_of_guessed",
        "section(3)",
    ),
    ("tutorial.md", "edgeplace solve metrics.jsonl.gz"): (
        "tests/test_tutorial.py::test_measured_instead_of_guessed",
        "section(3)",
    ),
    ("tutorial.md", "edgeplace "): ("tests/test_tutorial.py::test_a_first_plan", "section(2)"),
    ("spreadsheet.md", "edgeplace "): (
        "tests/test_spreadsheet.py::test_three_commands_lead_from_a_table_to_what_flink_reads",
        "commands(PAGE)",
    ),
    ("fleet.md", "edgeplace "): (
        "tests/test_docs.py::test_the_table_of_the_page_is_placed",
        'commands(DOCS / "fleet.md")',
    ),
    ("policies.md", "edgeplace control simulate"): (
        "tests/test_docs.py::test_the_load_of_control_is_simulated",
        '"simulate"',
    ),
    ("control.md", "edgeplace control simulate"): (
        "tests/test_docs.py::test_the_load_of_control_is_simulated",
        '"simulate"',
    ),
    ("control.md", "edgeplace control (run|replay)"): (WATCHED, '"control", "{}"'),
    ("control.md", "edgeplace control (status|explain|approve|back)"): (
        APPROVED,
        '"control", "{}"',
    ),
    ("control.md", "edgeplace control (reject|freeze)"): (REJECTED, '"control", "{}"'),
    ("keys.md", "edgeplace flink shares"): (
        "tests/edgeplace/commands/flink/test_shares.py::test_weights_are_written_and_seen_in_force",
        "run(",
    ),
    ("flink.md", "edgeplace solve job.json"): (
        "tests/live/test_collect.py::test_from_a_running_job_to_a_plan",
        '"solve"',
    ),
    ("several-jobs.md", "edgeplace flink apply"): (
        "tests/edgeplace/commands/flink/test_apply_several.py::test_all_jobs_of_the_plan_are_moved",
        "apply(",
    ),
    ("mqtt.md", "python -m testbed mqtt"): (
        "tests/live/test_mqtt.py::test_what_sensors_say_while_a_site_is_away_is_counted_once",
        "MqttBrokers(",
    ),
    ("kafka.md", "python -m testbed kafka"): (
        "tests/live/test_kafka.py"
        "::test_a_killed_source_goes_on_at_its_offset_and_another_job_reads_all_again",
        "KafkaBrokers(",
    ),
    ("testbed.md", ".venv/bin/python -m testbed curve"): (
        "tests/testbed/experiments/test_load_curve.py::test_the_command_writes_what_sources_read",
        'run(monkeypatch, "--trace"',
    ),
    ("", "make demo"): (
        "tests/edgeplace/commands/test_costs_and_demo.py::test_the_demo_goes_the_whole_way",
        'edgeplace("demo"',
    ),
    ("", "git clone "): (
        "tests/test_docs_commands.py::test_the_repository_is_cloned_as_the_pages_say",
        "subprocess.run(words",
    ),
    ("", "make test"): (".ci/run", "make test"),
    ("install.md", "pip install"): (".ci/install_by_name.py", "pip install edgeplace"),
    ("install.md", "pipx install"): (".ci/install_by_name.py", "`pipx install`"),
    ("install.md", "(?:uvx|uv tool) "): (".ci/install_by_name.py", "`uvx` and `uv tool install`"),
    ("install.md", "docker "): (".ci/image.py", "Carry out the Dockerfile without Docker"),
}
BY_HAND = {
    "bin/jobmanager.sh ": "a Flink that is installed (the live tests end and start JobManagers)",
    "kubectl ": "a Kubernetes cluster (kubectl reads it here; tests/deploy renders the folder)",
    "kinit ": "a Kerberos server",
    "make headline": "root and 2.5 hours (tests/live/test_headline.py has two of its cells)",
    "sudo .venv/bin/python -m testbed ": "root and minutes (tests/testbed has their parts)",
    "(sudo )?edgeplace control rehearse ": "root and minutes (test_rehearse.py has its --check)",
}

HARMLESS = ("cd", "cp", "export", "mkdir")
"""What runs in a shell here. A new line of the docs that begins with another word does not run
unasked: it needs a place above."""

TASK_MANAGERS = (
    *(FakeTaskManager(f"pi-{i}", f"10.0.1.{i}", 2) for i in (1, 2, 3)),
    FakeTaskManager("server", "10.0.0.5", 4),
)
OURS = [
    each
    for page in PAGES
    for each in commands(page)
    if not any(re.match(start, " ".join(each.words)) for start in BY_HAND)
]


def place_elsewhere(command: Command) -> tuple[str, str] | None:
    """Return the file that carries a command out, and what stands there."""
    text = " ".join(command.words)
    for (page, start), (file, words) in ELSEWHERE.items():
        found = re.match(start, text) if page in ("", command.page.name) else None
        if found:
            return file, words.format(*(found.groups() or ("",)))
    return None


ALL = [each for page in PAGES for each in commands(page)]


@cache
def source_of(place: str) -> str:
    """Return the text of a file, or of the one test of it that is named."""
    file, _, name = place.partition("::")
    text = (ROOT / file).read_text()
    if not name:
        return text
    tests = {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    assert name in tests, f"{file} has no test {name}"
    # What a test is called with stands above it.
    above = text[: text.index(f"def {name}(")].rstrip().rpartition("\n\n")[2]
    return above + tests[name]


def test_what_is_carried_out_elsewhere_is():
    used = set()
    for command in OURS:
        if place := place_elsewhere(command):
            file, words = place
            used.add(file)
            assert words in source_of(file), f"{command}: {file} has no {words!r}"
    assert used == {file for file, _ in ELSEWHERE.values()}


def test_a_test_that_is_gone_is_noticed():
    with pytest.raises(AssertionError, match=r"has no test test_gone"):
        source_of("tests/test_readme.py::test_gone")


def of_testbed(words: Sequence[str]) -> Sequence[str]:
    """Return the words after `python -m testbed`, none if it is another command."""
    return words[words.index("testbed") + 1 :] if "testbed" in words else ()


@pytest.mark.parametrize("command", [c for c in ALL if of_testbed(c.words)], ids=str)
def test_a_command_of_the_testbed_is_understood(command):
    testbed.parse(of_testbed(command.words))


@pytest.mark.parametrize("wrong", ["mqtt --awya 30", "kafka --away 0", "run --rate 5", "mqtts"])
def test_a_wrong_command_of_the_testbed_is_found(wrong, capsys):
    with pytest.raises(SystemExit):
        testbed.parse(wrong.split())
    assert "usage: python -m testbed" in capsys.readouterr().err


def of_edgeplace(words: Sequence[str]) -> Sequence[str]:
    """Return the words after `sudo edgeplace`, `kubectl exec ... -- edgeplace` and the like."""
    behind = {"sudo": 0, "kubectl": words.index("--") if "--" in words else -1}.get(words[0], -1)
    if words[0] == "docker" and words[1] == "run":
        behind = len(words) - 1 - words[::-1].index("edgeplace") - 1
    return words[behind + 2 :] if behind >= 0 and words[behind + 1] == "edgeplace" else ()


@pytest.mark.parametrize("command", [c for c in ALL if of_edgeplace(c.words)], ids=str)
def test_edgeplace_behind_another_program_is_understood(command):
    parser().parse_args(of_edgeplace(command.words))


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "make"], ids=str)
def test_what_is_made_is_a_target(command):
    asked = [word for word in command.words[1:] if "=" not in word]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert asked and set(asked) <= set(targets)


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "docker"], ids=str)
def test_what_docker_builds_with_is_in_the_dockerfile(command):
    for setting in _values(list(command.words), "--build-arg"):
        assert f"\nARG {setting.partition('=')[0]}=" in (ROOT / "Dockerfile").read_text()


def by_kubectl(words: Sequence[str], folder: Path) -> str:
    """Return what kubectl says of a command if no API server answers."""
    if not shutil.which("kubectl"):
        pytest.skip("no kubectl: apt-get install kubernetes-client")
    jar = "edgeplace-flink-agent.jar"
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    shutil.copy(ROOT / "adapters" / "flink" / "agent" / jar, folder / "deploy" / "kubernetes")
    closed = ("--kubeconfig=/dev/null", "--server=http://127.0.0.1:9")
    ran = subprocess.run(
        [words[0], *closed, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode
    return ran.stderr


NO_SERVER = "refused"


@pytest.mark.parametrize("command", [c for c in ALL if c.words[0] == "kubectl"], ids=str)
def test_kubectl_understands_it_and_asks_a_server(command, tmp_path):
    said = by_kubectl(command.words, tmp_path)
    assert NO_SERVER in said, f"{command}: {said}"


@pytest.mark.parametrize(
    "wrong", ["label node a --lable", "taint node a b=true:Never", "gett pods"]
)
def test_what_kubectl_does_not_understand_is_found(wrong, tmp_path):
    assert NO_SERVER not in by_kubectl(["kubectl", *wrong.split()], tmp_path)


@pytest.mark.slow
def test_the_repository_is_cloned_as_the_pages_say(tmp_path):
    """By the one line that they have; in place of GitHub answers the repository of this file."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no repository of git")
    (words,) = {c.words for c in ALL if c.words[0] == "git"}
    url = words[2]
    here = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{ROOT}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }
    subprocess.run(words, cwd=tmp_path, env=os.environ | here, check=True)
    assert (tmp_path / Path(url).name / "README.md").exists()


def test_the_rest_is_short_and_has_its_reason(capsys):
    left = {
        " ".join(each.words): reason
        for page in PAGES
        for each in commands(page)
        for start, reason in BY_HAND.items()
        if re.match(start, " ".join(each.words))
    }
    with capsys.disabled():
        print(f"\n{len(left)} commands of the docs are carried out by hand, as they need")
        for words, reason in left.items():
            print(f"  {reason}: {words}")
    assert len(left) <= 20
    assert all(any(re.match(start, words) for words in left) for start in BY_HAND)


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
            (master, _, settings), logs = self.asked[-2:]
            assert master == words[words.index("--master") + 1]
            assert [f"{key}={value}" for key, value in settings.items()] == _values(words, "--conf")
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


def _values(words: list[str], option: str) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


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
