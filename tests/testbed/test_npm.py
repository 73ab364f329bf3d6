"""A package of npm is taken as it is expected, or not at all."""

import base64
import hashlib
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
npm = pytest.importorskip("testbed.npm", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)

CONTENT = b"what is in the package"
SHA512 = base64.b64encode(hashlib.sha512(CONTENT).digest()).decode()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an npm that packs what it is asked for, and notes its arguments."""
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\necho \"$@\" >> {tmp_path}/asked\nprintf '{CONTENT.decode()}' > a-1.0.tgz\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_a_package_is_downloaded_once_and_none_of_it_runs(registry: Path, tmp_path: Path) -> None:
    for _ in range(2):
        file = npm.download("a", "1.0", SHA512, tmp_path / "downloads")
        assert file.read_bytes() == CONTENT

    assert (tmp_path / "asked").read_text() == "pack --ignore-scripts a@1.0\n"
    assert list(file.parent.iterdir()) == [file]


def test_another_file_is_refused_and_not_kept(registry: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.TestbedError, match=r"a 1\.0 of npm has SHA-512 .*, not other"):
        npm.download("a", "1.0", "other", tmp_path / "downloads")

    assert list((tmp_path / "downloads").iterdir()) == []


def test_what_npm_says_is_said(registry: Path, tmp_path: Path) -> None:
    registry.write_text("#!/bin/sh\necho 'npm error 404 Not Found' >&2\nexit 1\n")
    with pytest.raises(errors.TestbedError, match=r"download a 1\.0 with npm: npm error 404 Not"):
        npm.download("a", "1.0", SHA512, tmp_path / "downloads")

    registry.unlink()
    (tmp_path / "empty").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "empty"))
        with pytest.raises(
            errors.TestbedError, match=r"no npm to get a 1\.0 with: apt-get install"
        ):
            npm.download("a", "1.0", SHA512, tmp_path / "downloads")
