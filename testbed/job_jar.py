"""Compile a job against a Flink home."""

import subprocess
import zipfile
from pathlib import Path

from testbed.errors import TestbedError

JOBS = Path(__file__).parent / "jobs"
_COMPILE_SECONDS = 120


def compile_job(source: Path, main_class: str, home: Path, scratch: Path) -> Path:
    """Return the jar of a job, built in a scratch folder.

    Parameters
    ----------
    source
        The Java file; the classes it uses may have files of their own, in folders by package.
    main_class
        Its class with the ``main`` method, with the package.
    home
        Flink home to compile against.
    scratch
        Existing folder that gets the classes and the jar.

    Raises
    ------
    TestbedError
        If there is no ``javac`` or it finds errors.
    """
    classes = scratch / f"{source.stem}-classes"
    classes.mkdir()
    # The folder that holds the outermost package.
    root = source.parents[main_class.count(".")]
    command = ["javac", "--release", "11", "-nowarn", "-proc:none"]
    command += ["-sourcepath", str(root), "-cp", f"{home}/lib/*", "-d", str(classes), str(source)]
    try:
        subprocess.run(
            command, check=True, timeout=_COMPILE_SECONDS, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise TestbedError("no javac found: a JDK (11 or later) is needed") from None
    except subprocess.CalledProcessError as error:
        raise TestbedError(f"javac failed on {source.name}:\n{error.stderr}") from error
    jar = scratch / f"{source.stem}.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Main-Class: {main_class}\n")
        for file in sorted(classes.rglob("*.class")):
            archive.write(file, str(file.relative_to(classes)))
    return jar


def compile_own_job(name: str, home: Path, scratch: Path) -> Path:
    """Return the jar of one of the testbed's jobs, e.g. ``CountingJob``; see `compile_job`."""
    return compile_job(JOBS / f"{name}.java", f"testbed.jobs.{name}", home, scratch)
