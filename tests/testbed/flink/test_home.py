import io
import shutil
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
flink_home = pytest.importorskip("testbed.flink.home", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
job_jar = pytest.importorskip("testbed.flink.job_jar", reason=REASON)
pypi = pytest.importorskip("testbed.pypi", reason=REASON)
pytestmark = pytest.mark.live

JOB = job_jar.JOBS / "SensorTelemetry.java"


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that is gone after the test, unlike pytest's: a Flink home has 400 MB."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of downloads of a cache from which nothing is fetched."""
    monkeypatch.setattr(pypi, "_pip_download", lambda *_: pytest.fail("downloads"))
    monkeypatch.setenv("EDGEPLACE_CACHE", str(tmp_path))
    folder = tmp_path / "downloads"
    folder.mkdir()
    return folder


def test_a_home_assembled_from_the_cached_wheels_compiles_the_job(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = flink_home.cache_dir() / "downloads"
    if len(list(cached.glob(f"apache_flink*-{flink_home.FLINK_VERSION}-*.whl"))) < 2:
        pytest.skip(f"Flink {flink_home.FLINK_VERSION} is not in the cache {cached}")
    if not shutil.which("javac"):
        pytest.skip("no javac")
    monkeypatch.setattr(pypi, "_pip_download", lambda *_: pytest.fail("downloads"))
    monkeypatch.setenv("EDGEPLACE_CACHE", str(scratch))
    (scratch / "downloads").symlink_to(cached)

    home = flink_home.flink_home()
    jar = job_jar.compile_job(JOB, "testbed.jobs.SensorTelemetry", home, scratch)

    assert (home / "bin" / "taskmanager.sh").stat().st_mode & 0o111
    assert jar.stat().st_size > 0


@pytest.mark.parametrize(
    "name", ["apache-flink-libraries-1.18.1.tar.gz", "apache_flink_libraries-1.18.1.tar.gz"]
)
def test_jars_from_a_source_distribution_and_scripts_from_a_wheel(
    downloads: Path, name: str
) -> None:
    root = name.removesuffix(".tar.gz")
    _tar(
        downloads / name,
        {
            f"{root}/setup.py": "code",
            f"{root}/deps/lib/flink-dist-1.18.1.jar": "dist",
            f"{root}/deps/plugins/metrics-jmx/jmx.jar": "jmx",
            f"{root}/deps/bin/bash-java-utils.jar": "utils",
            f"{root}/deps/licenses/LICENSE": "text",
        },
    )
    _wheel(
        downloads / "apache_flink-1.18.1-cp310-cp310-manylinux1_x86_64.whl",
        {
            "pyflink/bin/jobmanager.sh": "script",
            "pyflink/conf/flink-conf.yaml": "conf",
            "pyflink/version.py": "code",
        },
    )

    home = flink_home.flink_home("1.18.1")

    files = {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}
    assert files == {
        "lib/flink-dist-1.18.1.jar",
        "plugins/metrics-jmx/jmx.jar",
        "bin/bash-java-utils.jar",
        "bin/jobmanager.sh",
        "conf/flink-conf.yaml",
    }
    assert (home / "bin" / "jobmanager.sh").stat().st_mode & 0o111
    assert flink_home.flink_home("1.18.1") == home


def test_processes_that_need_one_release_assemble_it_once(
    downloads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembled = []

    def assemble(version: str, home: Path) -> None:
        time.sleep(0.2)
        home.mkdir()
        assembled.append(version)

    monkeypatch.setattr(flink_home, "_assemble", assemble)
    # Each call opens the lock anew, as a process of its own does.
    with ThreadPoolExecutor(3) as pool:
        homes = [pool.submit(flink_home.flink_home, "1.2.3") for _ in range(3)]
    assert {home.result() for home in homes} == {tmp_path / "flink-1.2.3"}
    assert assembled == ["1.2.3"]


def test_a_package_whose_files_lead_elsewhere_is_refused(downloads: Path, tmp_path: Path) -> None:
    root = "apache-flink-libraries-1.18.1"
    _tar(downloads / f"{root}.tar.gz", {f"{root}/deps/lib/../../../../evil.jar": "x"})
    _wheel(downloads / "apache_flink-1.18.1-cp310-cp310-any.whl", {"pyflink/bin/x.sh": "x"})

    with pytest.raises(errors.TestbedError, match="leads out of the home"):
        flink_home.flink_home("1.18.1")

    assert not list(tmp_path.rglob("evil.jar"))
    assert not (tmp_path / "flink-1.18.1").exists()


def _tar(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo(f"{next(iter(files)).split('/')[0]}/deps/lib/link.jar")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def _wheel(path: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
