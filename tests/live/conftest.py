"""Fixtures of the tests that run on a real Flink with the agent.

`flink` is all a test needs: a cluster that runs no job, has every TaskManager and no plan.
"""

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from tests.support.flink_releases import NEWEST

ROOT = Path(__file__).parents[2]


if TYPE_CHECKING:
    from testbed.flink.agent_cluster import AgentCluster


@pytest.fixture(scope="session", params=[NEWEST])
def flink_version(request: pytest.FixtureRequest) -> str:
    """Release of Flink: the newest, unless a test is `on_both`."""
    return str(request.param)


@pytest.fixture(scope="session")
def home(flink_version: str) -> Path:
    """The Flink home of the release."""
    flink_home = pytest.importorskip("testbed.flink.home", reason="the testbed is not beside tests")
    errors = pytest.importorskip("testbed.errors")
    for tool in ("javac", "java", "setpriv"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: live tests need a JDK (11 or later) and util-linux")
    try:
        home = Path(flink_home.flink_home(flink_version))
    except errors.TestbedError as error:
        pytest.skip(f"no Flink {flink_version} in the cache, and {error}")
    class_archive = pytest.importorskip("testbed.flink.class_archive")
    try:
        class_archive.archive_classes(home)
    except (errors.TestbedError, requests.RequestException) as error:
        # JDK 11 cannot write them.
        warnings.warn(f"tests take longer without archives of classes: {error}", stacklevel=1)
    return home


@pytest.fixture(scope="session")
def agent_jar() -> Path:
    """The built agent, as it is in the wheel."""
    jar = ROOT / "adapters" / "flink" / "agent" / "edgeplace-flink-agent.jar"
    if not jar.is_file():
        pytest.skip(f"no {jar.name}: make agent")
    return jar


@pytest.fixture(scope="package")
def shared_flink(home: Path, agent_jar: Path) -> "Iterator[AgentCluster]":
    """One cluster for all tests of a release; tests use `flink`.

    Of this folder: it ends with them, for an idle Flink takes processor time from other tests.
    """
    from testbed.flink.agent_cluster import AgentCluster

    with AgentCluster(home, agent_jar) as live:
        yield live


@pytest.fixture
def flink(shared_flink: "AgentCluster") -> "Iterator[AgentCluster]":
    """The cluster, whatever the test before has done to it."""
    shared_flink.reset()
    yield shared_flink
    # No job runs on beside the tests that need no Flink.
    shared_flink.let_go()
