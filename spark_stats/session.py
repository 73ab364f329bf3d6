"""The Spark session that is used where the caller brings none."""

import os
import sys
import tempfile

from pyspark.sql import SparkSession

from edgeplace.spark_stats.jvm import find_java_home


def local_session(cores: str = "*", driver_memory: str = "1g") -> SparkSession:
    """Return a session on this machine, or the one that is active already.

    It listens on the loopback interface only and keeps its files in a private folder. It lives as
    long as the process, since the lines of a quarantine are read when they are asked for.

    Parameters
    ----------
    cores
        Number of threads, or `*` for all cores.
    driver_memory
        Heap of the JVM, as Spark writes it.

    Raises
    ------
    MissingExtraError
        If there is no Java of version 17 or later.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = tempfile.mkdtemp(prefix="edgeplace-spark-")
    settings = {
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("edgeplace")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
