import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="session")
def agent_jar() -> Path:
    """The jar that is in the wheel."""
    jar = files("edgeplace.adapters.flink") / "agent" / "edgeplace-flink-agent.jar"
    return Path(str(jar))


@pytest.fixture(scope="session")
def java() -> str:
    found = shutil.which("java")
    if not found:
        pytest.skip("no java on the PATH")
    return found


@pytest.fixture(scope="session")
def javac() -> str:
    found = shutil.which("javac")
    if not found:
        pytest.skip("no javac on the PATH: a JDK is needed")
    return found


@pytest.fixture(scope="session")
def home() -> Path:
    """A Flink home, to compile against."""
    flink_home = pytest.importorskip("testbed.flink.home", reason="the testbed is not beside tests")
    errors = pytest.importorskip("testbed.errors")
    try:
        return Path(flink_home.flink_home())
    except errors.TestbedError as error:
        pytest.skip(f"no Flink in the cache, and {error}")


@pytest.fixture(scope="session")
def probe(
    agent_jar: Path, java: str, javac: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """Ask the agent what it makes of a word and bytes; see PlanProbe.java."""
    classes = tmp_path_factory.mktemp("probe")
    source = Path(__file__).parent / "PlanProbe.java"
    subprocess.run([javac, "-cp", str(agent_jar), "-d", str(classes), str(source)], check=True)
    with subprocess.Popen(
        [java, "-cp", f"{agent_jar}:{classes}", "dev.edgeplace.flink.PlanProbe"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout

        def ask(what: str, *given: bytes) -> Any:
            assert process.stdin and process.stdout
            words = [what, *(base64.b64encode(each).decode() for each in given)]
            process.stdin.write(" ".join(words) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()
