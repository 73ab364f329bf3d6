"""The agent's jar: built again, refused where it cannot work, and of one mind with the adapter."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edgeplace
from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.plans.folder import key
from edgeplace.model import Cluster, InvalidInputError, JobGraph

pytestmark = pytest.mark.slow

REFUSED = 78
SOURCES = Path(__file__).parents[4] / "adapters" / "flink" / "agent" / "src"

Probe = Callable[..., Any]


def run_java(java: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([java, *arguments], capture_output=True, text=True, timeout=300)


def run_check(
    java: str, agent_jar: Path, class_path: str, plans: Path
) -> "subprocess.CompletedProcess[str]":
    """Load the agent into a JVM that checks it against the Flink on the class path."""
    agent = f"-javaagent:{agent_jar}=plans={plans}"
    return run_java(
        java, agent, "-Xverify:all", "-cp", class_path, "dev.edgeplace.flink.FlinkCheck"
    )


def test_the_same_sources_give_the_same_jar(
    agent_jar: Path, javac: str, home: Path, tmp_path: Path
) -> None:
    from testbed.flink.agent_jar import build

    version = subprocess.run([javac, "-version"], capture_output=True, text=True).stdout
    if not version.startswith("javac 17."):
        pytest.skip(f"the jar is built by JDK 17, here is {version}")
    built = build(home, tmp_path / "agent.jar")
    assert built.read_bytes() == agent_jar.read_bytes(), "run make agent and commit the jar"


def test_agent_and_package_are_of_one_version() -> None:
    if not SOURCES.is_dir():
        pytest.skip("the agent's sources are not beside the tests")
    agent = (SOURCES / "dev" / "edgeplace" / "flink" / "Agent.java").read_text()
    assert f'VERSION = "{edgeplace.__version__}"' in agent


def test_the_agent_fits_this_flink(agent_jar: Path, java: str, home: Path, tmp_path: Path) -> None:
    ran = run_check(java, agent_jar, f"{home}/lib/*", tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("=plan=/x", "option 'plan=/x' is not understood"),
        ("=plans=", "option 'plans=' is not understood"),
        ("=plans=/x,lost=maybe", "option 'lost=maybe' is not understood"),
        ("=plans=/x,fallback-after-s=soon", "option 'fallback-after-s=soon' is not understood"),
        ("=plans=/x,", "option '' is not understood"),
        ("=plans=/x", "Flink is not on the class path"),
        ("", "FLINK_CONF_DIR is not set"),
    ],
)
def test_the_jobmanager_does_not_start_where_the_agent_cannot_work(
    agent_jar: Path, java: str, options: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLINK_CONF_DIR", raising=False)
    ran = run_java(java, f"-javaagent:{agent_jar}{options}", "-version")
    assert ran.returncode == REFUSED
    assert said in ran.stderr


CheckWithEmptied = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def check_with_emptied(
    agent_jar: Path, java: str, javac: str, home: Path, tmp_path: Path
) -> CheckWithEmptied:
    """Return what checks a Flink in which one class has no members."""

    def check(emptied: str) -> "subprocess.CompletedProcess[str]":
        package, _, name = emptied.rpartition(".")
        source = tmp_path / f"{name}.java"
        source.write_text(f"package {package}; public class {name} {{ }}")
        subprocess.run([javac, "-d", str(tmp_path), str(source)], check=True)
        return run_check(java, agent_jar, f"{tmp_path}:{home}/lib/*", tmp_path)

    return check


@pytest.mark.parametrize(
    ("emptied", "said"),
    [
        (
            "org.apache.flink.runtime.resourcemanager.slotmanager.FineGrainedSlotManager",
            "expected 2 hook points in {}, found 0(.|\n)*Flink 1.18 to 2.3",
        ),
        (
            "org.apache.flink.runtime.util.ResourceCounter",
            "{}.getResourcesWithCount .* is missing",
        ),
    ],
    ids=["hook-point", "member"],
)
def test_a_flink_that_lacks_what_the_agent_needs_is_refused(
    check_with_emptied: CheckWithEmptied, emptied: str, said: str
) -> None:
    ran = check_with_emptied(emptied)
    assert ran.returncode == REFUSED
    assert re.search(said.format(re.escape(emptied)), ran.stderr)


@pytest.mark.parametrize(
    ("emptied", "said"),
    [
        (
            "org.apache.flink.runtime.scheduler.SchedulerUtils",
            "no rescaling: expected 2 hook points in {}, found 0",
        ),
        (
            "org.apache.flink.runtime.checkpoint.DeactivatedCheckpointIDCounter",
            "no rescaling: {}.INSTANCE .* is missing",
        ),
    ],
    ids=["hook-point", "member"],
)
def test_a_flink_that_lacks_only_what_rescaling_needs_is_taken_without_it(
    check_with_emptied: CheckWithEmptied, emptied: str, said: str
) -> None:
    ran = check_with_emptied(emptied)
    assert ran.returncode == 0
    assert re.search(said.format(re.escape(emptied)), ran.stdout)


JOB = JobGraph.model_validate(
    {
        "name": "j",
        "operators": [
            {"id": "a" * 32, "name": "map", "parallelism": 2},
            {"id": "b" * 32, "name": "Sink: x (y)", "parallelism": 1},
        ],
    }
)
CLUSTER = Cluster.model_validate(
    {
        "sites": [{"id": "s"}],
        "nodes": [{"id": "n", "site": "s", "cores": 4}],
        "task_managers": [
            {"id": "t-1", "node": "n", "slots": 4, "host": "10.0.0.1"},
            {"id": "t-2", "node": "n", "slots": 4, "host": "10.0.0.2"},
        ],
    }
)
GOOD = ["map (1/2); t-1", "map (2/2); 10.0.0.2", "Sink: x (y) (1/1); t-2"]
PIECES = st.sampled_from(
    [
        *GOOD,
        "map",
        "; ",
        " (",
        "t-1",
        "01",
        "(0/2)",
        "",
        *" ;(12/)#é\n\r\t\u00a0\u2003\u0085\x1c\ufeff\U0001f600",
    ]
)
TEXTS = st.one_of(
    st.permutations(GOOD).map("\n".join),
    st.lists(PIECES, max_size=12).map("".join),
    st.tuples(
        st.permutations(GOOD).map("\n".join), st.integers(0, 60), PIECES, st.integers(0, 3)
    ).map(lambda t: t[0][: t[1]] + t[2] + t[0][t[1] + t[3] :]),
)


@settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXTS)
def test_agent_and_adapter_read_a_plan_alike(probe: Probe, text: str) -> None:
    """Whatever the adapter takes for a plan, the agent reads as the same plan."""
    read = probe("parse", text.encode())
    try:
        placement = schedulercfg.parse(text, job=JOB, cluster=CLUSTER, dialect="modern")
    except InvalidInputError as e:
        # The agent knows no job here, so it may find nothing wrong; but what it takes for lines
        # must be wrong for the job and not for the grammar.
        if "lines" in read:
            assert not re.search(r"blank|'; '|byte order|carriage|zeros|lacks its subtask", e.what)
        return
    places = {("map", 1), ("map", 2), ("Sink: x (y)", 1)}
    assert {(task, i) for task, i, _, _ in read["lines"]} == places
    for task, i, n, location in read["lines"]:
        operator = JOB.operator(task)
        assert n == operator.parallelism
        assert CLUSTER.resolve_task_manager(location) == placement[operator.id][i - 1]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.one_of(st.text(), st.text("aé. %/~", max_size=12), st.text("é", min_size=20)))
def test_agent_and_adapter_call_files_alike(probe: Probe, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return  # No job has such a name.
    assert probe("key", name.encode()) == key(name)


def test_plans_that_are_not_text_are_refused(probe: Probe) -> None:
    assert "not UTF-8" in probe("parse", b"map (1/2); \xff\xfe")["problems"][0]
    assert "empty" in probe("parse", b"\n\n")["problems"][0]
