"""What fills the heap of a JobManager, in a JVM of its own with a small one."""

import shutil
import subprocess
from pathlib import Path

import pytest

job_jar = pytest.importorskip(
    "testbed.flink.job_jar", reason="the testbed is not in the wheel, and not beside these tests"
)


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK: javac is not on the path")
def test_it_fills_the_heap_and_says_so(tmp_path: Path) -> None:
    jar = job_jar.compile_own_job("FillHeap", tmp_path, tmp_path)
    command = ["java", "-Xmx32m", "-jar", str(jar), "seconds=0"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        0,
        "OutOfMemoryError: for all threads of this JVM\n",
        "",
    )
