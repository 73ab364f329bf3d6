"""What a Spark session of ours leaves on this machine."""

import os
import subprocess
import sys
from pathlib import Path

WORK = """
from edgeplace.spark_stats.session import local_session

# Options of the user's own for Java come beside ours.
session = local_session("1", settings={"spark.driver.extraJavaOptions": "-Dmine=kept"})
# What is shuffled is packed, by a native library that Java unpacks for it.
assert session.range(1000).repartition(3).count() == 1000
assert session._jvm.java.lang.System.getProperty("mine") == "kept"
print(session._jvm.java.lang.System.getProperty("java.io.tmpdir"))
"""


def test_a_session_leaves_no_temporary_files(needs_spark: None, tmp_path: Path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", WORK],
        # Where Spark runs is not taken from the environment, as PySpark would.
        env={
            **os.environ,
            "TMPDIR": str(folder),
            "SPARK_REMOTE": "sc://127.0.0.1:1",
            "SPARK_CONNECT_MODE_ENABLED": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).is_relative_to(folder)
    assert list(folder.iterdir()) == []
