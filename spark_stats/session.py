"""The Spark session that is used if the caller gives none."""

import atexit
import logging
import os
import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from edgeplace.spark_stats.gateway import jvm
from edgeplace.spark_stats.jvm import find_java_home


def local_session(cores: str = "*", driver_memory: str = "1g") -> SparkSession:
    """Return a session on this machine, or the one that is active already.

    It listens on the loopback interface only and stores its files in a private folder. It lives as
    long as the process, because the lines of a quarantine are read on request.

    Parameters
    ----------
    cores
        Number of threads, or `*` for all cores.
    driver_memory
        Heap of the JVM, as Spark writes it.

    Raises
    ------
    MissingExtraError
        If there is no Java of version 17 or later, or it does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = Path(tempfile.mkdtemp(prefix="edgeplace-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    # py4j also raises what it would print.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    settings = {
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_quiet(scratch)}",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("edgeplace")
    for key, value in settings.items():
        builder = builder.config(key, value)
    # The JVM of a stopped session is used again.
    with nullcontext() if SparkContext._gateway else jvm(settings):
        return builder.getOrCreate()


def _quiet(folder: Path) -> Path:
    """Write a log4j configuration that keeps Spark's log off the console.

    Failures are raised as exceptions. A damaged file, which is repaired, need not be reported
    twice.
    """
    path = folder / "log4j2.properties"
    path.write_text(
        "rootLogger.level = fatal\n"
        "rootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\n"
        "appender.stderr.name = stderr\n"
        "appender.stderr.target = SYSTEM_ERR\n"
        "appender.stderr.layout.type = PatternLayout\n"
        "appender.stderr.layout.pattern = %p %m%n\n"
    )
    return path
