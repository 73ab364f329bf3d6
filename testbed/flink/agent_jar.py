"""Build the JobManager agent: the same sources give the same bytes, wherever and whenever.

Run as ``python -m testbed.flink.agent_jar`` (``make agent``).
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink.home import flink_home

AGENT = Path(__file__).parents[2] / "adapters" / "flink" / "agent"
JAR = AGENT / "edgeplace-flink-agent.jar"
_COMPILE_SECONDS = 120
_MANIFEST = "Manifest-Version: 1.0\r\nPremain-Class: dev.edgeplace.flink.PlacementAgent\r\n\r\n"
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def build(home: Path, jar: Path = JAR) -> Path:
    """Compile the agent and write its jar; see `build_jar`."""
    return build_jar([AGENT / "src"], _MANIFEST, home, jar)


def build_jar(roots: Sequence[Path], manifest: str, home: Path, jar: Path) -> Path:
    """Compile sources and write their jar.

    Parameters
    ----------
    roots
        Folders that hold the outermost packages.
    manifest
        Text of the jar's manifest.
    home
        Flink home to compile against; what differs between releases is used by reflection.

    Raises
    ------
    TestbedError
        If there is no ``javac`` or it finds errors.
    """
    with tempfile.TemporaryDirectory(prefix="edgeplace-jar-") as scratch:
        classes = Path(scratch)
        _compile(roots, home, classes)
        draft = jar.with_name(jar.name + ".part")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _NO_TIME), manifest)
            for file in sorted(classes.rglob("*.class")):
                name = file.relative_to(classes).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _NO_TIME), file.read_bytes())
    # The new file is renamed into place, because a JobManager may run from the old one.
    draft.replace(jar)
    return jar


def _compile(roots: Sequence[Path], home: Path, classes: Path) -> None:
    sources = [str(path) for root in roots for path in sorted(root.rglob("*.java"))]
    # Annotations of libraries that Flink shades away are not found, and not needed.
    command = ["javac", "--release", "11", "-g:source,lines", "-proc:none"]
    command += ["-Xlint:all,-classfile,-processing,-deprecation"]
    command += ["-cp", f"{home}/lib/*", "-d", str(classes), *sources]
    try:
        subprocess.run(
            command, check=True, timeout=_COMPILE_SECONDS, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise TestbedError("no javac found: JDK 17 is needed") from None
    except subprocess.CalledProcessError as error:
        raise TestbedError(f"javac failed on {roots[0]}:\n{error.stderr}") from error


if __name__ == "__main__":
    try:
        print(build(flink_home()))
    except TestbedError as error:
        sys.exit(f"testbed: {error}")
