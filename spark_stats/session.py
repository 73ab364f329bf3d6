"""Spark sessions: on this machine, on a cluster, and by Spark Connect."""

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.gateway import jvm
from edgeplace.spark_stats.jvm import find_java_home
from edgeplace.spark_stats.reach import (
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
    return _started({**own, **(settings or {})})


def open_session(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
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

    Raises
    ------
    InvalidInputError
        If the URL is wrong, or if there are two.
    MissingExtraError
        If Java or the client of Spark Connect is not installed.
    SparkUnavailableError
        If nobody answers at the URL, or no machine takes work in time.
    """
    settings = settings or {}
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    given = [name for name in (master, remote, "spark-submit" if submitted else None) if name]
    if len(given) > 1:
        raise InvalidInputError(
            f"Spark is to run in two places: {' and '.join(given)}", "give one of them"
        )
    if remote:
        return _connected(remote, settings)
    if master is None and not submitted:
        return local_session(settings=settings)
    if master is not None and re.fullmatch(r"local(-cluster)?(\[.*\])?", master):
        return local_session(settings={**settings, "spark.master": master})
    if master:
        check_master(master)
    seconds = patience_s(settings)
    own: dict[str, str] = {}
    if master:
        scratch = _scratch()
        own = {"spark.master": master, **_quiet(scratch), **_reachable(master)}
    if "spark.pyspark.python" in settings:
        os.environ["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    where = master or "the master of spark-submit"
    with in_clear_words():
        session = within(
            seconds, f"Spark did not start on {where}", lambda: _started({**own, **settings})
        )
        return _at_work(session, seconds, where)


def on_this_machine(session: SparkSession | None) -> bool:
    """Return whether a session works on this machine alone; None: the default session."""
    session = session or SparkSession.getActiveSession()
    if session is None:
        return True
    by_connect = "connect" in type(session).__module__
    return not by_connect and (session.sparkContext.master or "").startswith("local")


def _started(settings: Mapping[str, str]) -> SparkSession:
    """Start a session, and a JVM if this process has none."""
    # py4j also raises what it would print.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    builder = SparkSession.builder.appName("edgeplace")
    for key, value in {**_OF_CODE, "spark.sql.session.timeZone": "UTC", **settings}.items():
        builder = builder.config(key, value)
    # The JVM of a stopped session is used again, and spark-submit has started one.
    if SparkContext._gateway or "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder.getOrCreate()
    os.environ["JAVA_HOME"] = str(find_java_home())
    # What Java raises can be read as long as the JVM runs.
    with jvm(settings), in_clear_words():
        return builder.getOrCreate()


def _connected(remote: str, settings: Mapping[str, str]) -> SparkSession:
    check_connect(remote)
    seconds = patience_s(settings)

    def connect() -> SparkSession:
        session = SparkSession.builder.remote(remote).getOrCreate()
        for key, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
            session.conf.set(key, value)
        return session

    with in_clear_words():
        return _at_work(within(seconds, f"no answer from {remote}", connect), seconds, remote)


def _at_work(session: SparkSession, seconds: float, where: str) -> SparkSession:
    """Return the session after its machines have done a first piece of work."""
    within(seconds, f"{where} gave no machine to work on", lambda: session.range(1).count())
    return session


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
        "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={path}" '
        f'"-Djava.io.tmpdir={folder}" -XX:-DontCompileHugeMethods',
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
