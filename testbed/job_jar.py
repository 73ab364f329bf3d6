"""Compile a job of one Java file against a Flink home."""

import subprocess
import zipfile
from pathlib import Path

from testbed.errors import TestbedError

_COMPILE_SECONDS = 120


def compile_job(source: Path, main_class: str, home: Path, scratch: Path) -> Path:
    """Return the jar of a job, built in a scratch folder.

    Parameters
    ----------
    source
        The Java file.
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
    classes = scratch / "classes"
    classes.mkdir()
    command = ["javac", "--release", "11", "-nowarn", "-cp", f"{home}/lib/*"]
    command += ["-d", str(classes), str(source)]
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
