import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
flink_home = pytest.importorskip("testbed.flink_home", reason=REASON)
job_jar = pytest.importorskip("testbed.job_jar", reason=REASON)

JOB = Path(job_jar.__file__).parent / "jobs" / "SensorTelemetry.java"


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that is gone after the test, unlike pytest's: a Flink home has 400 MB."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_home_assembled_from_the_cached_wheels_compiles_the_job(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = flink_home.cache_dir() / "downloads"
    if len(list(cached.glob(f"apache_flink*-{flink_home.FLINK_VERSION}-*.whl"))) < 2:
        pytest.skip(f"Flink {flink_home.FLINK_VERSION} is not in the cache {cached}")
    if not shutil.which("javac"):
        pytest.skip("no javac")
    monkeypatch.setattr(flink_home, "_pip_download", lambda *_: pytest.fail("downloads"))
    monkeypatch.setenv("EDGEPLACE_CACHE", str(scratch))
    (scratch / "downloads").symlink_to(cached)

    home = flink_home.flink_home()
    jar = job_jar.compile_job(JOB, "testbed.jobs.SensorTelemetry", home, scratch)

    assert (home / "bin" / "taskmanager.sh").stat().st_mode & 0o111
    assert jar.stat().st_size > 0
