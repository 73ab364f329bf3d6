"""Spark sessions: on this machine, on a cluster, and by Spark Connect."""

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats import worker_packages
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.gateway import jvm
from edgeplace.spark_stats.jvm import find_java_home
from edgeplace.spark_stats.reach import (
    PATIENCE,
    addresses,
    check_connect,
    check_master,
    patience_s,
    within,
)

_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

_OF_CODE = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Lines of our code in Spark's messages are of no use to users, and to note them takes the half of
the time in which a query is built."""

_PYTHON, _PYTHON_OF_SESSION = "spark.pyspark.python", "spark.sql.execution.pyspark.python"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def local_session(
    cores: str = "*", driver_memory: str = "1g", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session on this machine, or the one that is active already.

    It listens on the loopback interface only and stores its files in a private folder. It lives as
    long as the process, because the lines of a quarantine are read on request.

    Parameters
    ----------
    cores
        Number of threads, or `*` for all cores.
    driver_memory
        Heap of the JVM, as Spark writes it.
    settings
        Further settings of Spark, which come before these.

    Raises
    ------
    MissingExtraError
        If there is no Java of version 17 or later, or it does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = _scratch()
    own = {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": driver_memory,
        **_LOOPBACK,
        **_quiet(scratch),
        "spark.local.dir": str(scratch),
        "spark.sql.shuffle.partitions": "16",
        # The table that a task fills with samples must not outgrow its part of the heap.
        "spark.sql.files.maxPartitionBytes": "32m",
    }
    return _started(_over(own, settings or {}))


def open_session(
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    package_python: bool = False,
) -> SparkSession:
    """Return a session where the user wants it.

    Parameters
    ----------
    master
        URL of a cluster's master as Spark writes it; None: this machine, or, under `spark-submit`,
        the cluster that it was given.
    remote
        URL of a Spark Connect server, `sc://HOST`.
    settings
        Spark's settings. `spark.network.timeout` bounds the wait for the cluster, too.
    package_python
        Whether to bring the workers pyarrow. They start it with their own Python.

    Raises
    ------
    InvalidInputError
        If the URL is wrong, stands among the settings, or if there are two; if workers on this
        machine or with a Python of their own are to get packages.
    MissingExtraError
        If Java or the client of Spark Connect is not installed.
    SparkUnavailableError
        If nobody answers at the URL, or no machine takes work in time.
    """
    settings = settings or {}
    for name in settings.keys() & {"spark.master", "spark.remote", "spark.api.mode"}:
        raise InvalidInputError(
            f"--conf {name} does not say where Spark runs",
            "give --master URL or --remote sc://HOST",
        )
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    given = [name for name in (master, remote, "spark-submit" if submitted else None) if name]
    if len(given) > 1:
        raise InvalidInputError(
            f"Spark is to run in two places: {' and '.join(given)}", "give one of them"
        )
    here = not (master or remote or submitted) or _is_local(master)
    if package_python:
        _refuse_packages(here, settings)
    if remote:
        return _connected(remote, settings, package_python)
    if here:
        return local_session(settings={**settings, **({"spark.master": master} if master else {})})
    if master:
        check_master(master)
    seconds = patience_s(settings)
    own: dict[str, str] = {}
    if master:
        scratch = _scratch()
        own = {"spark.master": master, **_quiet(scratch), **_reachable(master)}
    python = worker_packages.PYTHON if package_python else settings.get(_PYTHON)
    where = master or "the master of spark-submit"
    with in_clear_words(), _python_of_workers(python):
        session = within(
            seconds, f"Spark did not start on {where}", lambda: _started(_over(own, settings))
        )
        if package_python and _is_local(session.sparkContext.master):
            _refuse_packages(True, settings)
        _at_work(session, seconds, where)
        if package_python:
            session.sparkContext.addArchive(worker_packages.packed(_scratch()))
        return session


def on_this_machine(session: SparkSession | None) -> bool:
    """Return whether a session works on this machine alone; None: the default session."""
    session = session or SparkSession.getActiveSession()
    if session is None:
        return True
    by_connect = "connect" in type(session).__module__
    return not by_connect and (session.sparkContext.master or "").startswith("local")


def _over(own: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return our settings under the user's; Java gets the options of both."""
    options = " ".join(s[_JAVA_OPTIONS] for s in (own, settings) if _JAVA_OPTIONS in s)
    both = {**own, **settings}
    return {**both, _JAVA_OPTIONS: options} if options else both


def _started(settings: Mapping[str, str]) -> SparkSession:
    """Start a session, and a JVM if this process has none."""
    # py4j also raises what it would print.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    # PySpark sets it for itself, and processes that it starts inherit it.
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
    with _by_options_only():
        builder = SparkSession.builder.appName("edgeplace")
        for key, value in {**_OF_CODE, "spark.sql.session.timeZone": "UTC", **settings}.items():
            builder = builder.config(key, value)
        builder = builder.config("spark.api.mode", "classic")
        # The JVM of a stopped session is used again, and spark-submit has started one.
        if SparkContext._gateway or "PYSPARK_GATEWAY_PORT" in os.environ:
            return builder.getOrCreate()
        os.environ["JAVA_HOME"] = str(find_java_home())
        # What Java raises can be read as long as the JVM runs.
        with jvm(settings), in_clear_words():
            return builder.getOrCreate()


def _connected(remote: str, settings: Mapping[str, str], package_python: bool) -> SparkSession:
    check_connect(remote)
    seconds = patience_s(settings)

    def connect() -> SparkSession:
        with _by_options_only():
            session = SparkSession.builder.remote(remote).getOrCreate()
        for key, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
            # This one is for the wait here, and the server has its own.
            if key != PATIENCE:
                session.conf.set(key, value)
        return session

    with in_clear_words():
        session = within(seconds, f"no answer from {remote}", connect)
        _at_work(session, seconds, remote)
        if package_python:
            session.addArtifacts(worker_packages.packed(_scratch()), archive=True)
            session.conf.set(_PYTHON_OF_SESSION, worker_packages.PYTHON)
        return session


def _at_work(session: SparkSession, seconds: float, where: str) -> None:
    """Let the machines of the session do a first piece of work."""
    within(seconds, f"{where} gave no machine to work on", lambda: session.range(1).count())


@contextmanager
def _by_options_only() -> Iterator[None]:
    """Hide what PySpark takes from the environment while a session starts: where Spark runs."""
    names = ("SPARK_REMOTE", "MASTER")
    hidden = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _is_local(master: str | None) -> bool:
    return bool(re.fullmatch(r"local(-cluster)?(\[.*\])?", master or ""))


def _refuse_packages(here: bool, settings: Mapping[str, str]) -> None:
    """Raise an error if workers on this machine, or with a Python of their own, get packages."""
    if here:
        raise InvalidInputError(
            "--package-python is for Spark's workers on other machines, and Spark runs on this one",
            "leave it out, or give --master or --remote",
        )
    for name in (_PYTHON, _PYTHON_OF_SESSION):
        if name in settings:
            raise InvalidInputError(
                f"--package-python and --conf {name} both name the Python of the workers",
                "leave one of them out",
            )


@contextmanager
def _python_of_workers(python: str | None) -> Iterator[None]:
    """Name the Python of the workers for a session that starts in the block; None: as it is."""
    name = "PYSPARK_PYTHON"
    before = os.environ.get(name)
    if python:
        os.environ[name] = python
    try:
        yield
    finally:
        if python and before is None:
            del os.environ[name]
        elif before is not None:
            os.environ[name] = before


def _scratch() -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="edgeplace-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return scratch


def _reachable(master: str) -> dict[str, str]:
    """Return the driver's address: the executors of a master on this machine find it here."""
    hosts = [host for host, _ in addresses(master)]
    return _LOOPBACK if hosts and all(host in ("127.0.0.1", "localhost") for host in hosts) else {}


def _quiet(folder: Path) -> dict[str, str]:
    """Return settings that keep Spark's log and pages off this machine, and write what they name.

    Failures are raised as exceptions. A damaged file, which is repaired, need not be reported
    twice.
    """
    path = folder / "log4j2.properties"
    path.write_text(
        "rootLogger.level = fatal\n"
        "rootLogger.appenderRef.stderr.ref = stderr\n"
        # Spark tells of its log level unless that of its shell is set, too.
        "logger.shell.name = org.apache.spark.api.python.PythonGatewayServer\n"
        "logger.shell.level = fatal\n"
        "appender.stderr.type = Console\n"
        "appender.stderr.name = stderr\n"
        "appender.stderr.target = SYSTEM_ERR\n"
        "appender.stderr.layout.type = PatternLayout\n"
        "appender.stderr.layout.pattern = %p %m%n\n"
    )
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Java compiles no method of more than 8,000 bytes unless it is told to; Spark makes such.
        # The JVM is killed with this process and cannot remove its temporary files: the folder is.
        _JAVA_OPTIONS: f'"-Dlog4j2.configurationFile={path}" '
        f'"-Djava.io.tmpdir={folder}" -XX:-DontCompileHugeMethods',
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
