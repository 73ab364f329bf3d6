"""Which tests belong together: by marker to choose from, by group to run beside one another.

Groups are of pytest-xdist (`make test`): the tests of a group run in one process, in their order.
"""

import os
import signal
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARKS = {"browser": "browser", "site": "browser", "needs_spark": "spark", "spark": "spark"}
"""Fixture -> what its tests are marked with."""
ONE_TESTBED = {"cells", "network"}
"""Fixtures that make network namespaces, of which a machine has one set at a time."""
LONGEST = ("testbed", "flink-", "spark")
"""Groups that take minutes."""


@pytest.fixture(scope="session")
def needs_spark() -> None:
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    from edgeplace.model import MissingExtraError
    from edgeplace.spark_stats.jvm import find_java_home

    try:
        find_java_home()
    except MissingExtraError as e:
        pytest.skip(f"no Java for Spark: {e}")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C arrive in the tests that send it, and processes start with little work."""
    # A shell's background jobs ignore it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The first compiler and the plain garbage collector: half the processor time for small logs.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # Else every process of the tests compiles all libraries anew: most of the time of a command.
    cache = getattr(config, "cache", None)
    if sys.dont_write_bytecode and cache:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
        sys.pycache_prefix = str(cache.mkdir("bytecode"))
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of a kind, and put what shares a cluster, a session or a file in a group."""
    grouped = config.pluginmanager.hasplugin("xdist")
    for item in items:
        if item.path.is_relative_to(HERE / "live"):
            item.add_marker(pytest.mark.live)
        for fixture in MARKS.keys() & _fixtures(item):
            item.add_marker(MARKS[fixture])
        if grouped:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The longest groups first: the others run beside them.
        items.sort(key=_rank)


def _group(item: pytest.Item) -> str:
    if _fixtures(item) & ONE_TESTBED:
        return "testbed"
    if "flink_version" in _fixtures(item):
        # Clusters of different releases share nothing: not a port, not a folder.
        return f"flink-{item.callspec.params['flink_version']}"
    if item.get_closest_marker("spark"):
        # Spark takes long to start, and a process has one session.
        return "spark"
    return str(item.path.relative_to(HERE))


def _rank(item: pytest.Item) -> tuple[int, bool]:
    """Order groups by length, and in a group those that share a cluster behind the others.

    Else the cluster would go on beside theirs, and take from them what they have.
    """
    group = _group(item)
    first = next((i for i, name in enumerate(LONGEST) if group.startswith(name)), len(LONGEST))
    return first, "shared_flink" in _fixtures(item)


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))
