import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def split_jar() -> Path:
    """The jar that is in the wheel."""
    return Path(str(files("edgeplace.adapters.flink.split") / "edgeplace-flink-split.jar"))


@pytest.fixture(scope="session")
def home() -> Path:
    """A Flink home, to compile against."""
    flink_home = pytest.importorskip("testbed.flink.home", reason="the testbed is not beside tests")
    errors = pytest.importorskip("testbed.errors")
    for tool in ("java", "javac"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} on the PATH: a JDK is needed")
    try:
        return Path(flink_home.flink_home())
    except errors.TestbedError as error:
        pytest.skip(f"no Flink in the cache, and {error}")


@pytest.fixture(scope="session")
def probe(
    split_jar: Path, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """Ask the jar what it makes of a word and texts; see SplitProbe.java."""
    classes = tmp_path_factory.mktemp("probe")
    source = Path(__file__).parent / "SplitProbe.java"
    class_path = f"{split_jar}:{home}/lib/*"
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-nowarn"]
    java, javac = shutil.which("java"), shutil.which("javac")
    assert java and javac
    command = [javac, *quick, "-cp", class_path, "-d", str(classes), str(source)]
    subprocess.run(command, check=True)
    with subprocess.Popen(
        [java, "-cp", f"{classes}:{class_path}", "dev.edgeplace.flink.split.SplitProbe"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin and process.stdout

        def ask(what: str, *given: str | bytes) -> Any:
            assert process.stdin and process.stdout
            raw = (each if isinstance(each, bytes) else each.encode() for each in given)
            words = [what, *(base64.b64encode(each).decode() for each in raw)]
            process.stdin.write(" ".join(words) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()
