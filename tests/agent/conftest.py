import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The testbed is no part of the wheel and of an editable install: it is found beside the tests only.
if (ROOT / "testbed" / "__init__.py").is_file():
    sys.path.append(str(ROOT))


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
    flink_home = pytest.importorskip("testbed.flink_home", reason="the testbed is not beside tests")
    errors = pytest.importorskip("testbed.errors")
    try:
        return Path(flink_home.flink_home())
    except errors.TestbedError as error:
        pytest.skip(f"no Flink in the cache, and {error}")
