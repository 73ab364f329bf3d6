"""Compile jobs against a Flink home."""

import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from testbed.errors import TestbedError

JOBS = Path(__file__).parents[1] / "jobs"
_COMPILE_SECONDS = 120
# The first compiler and the plain garbage collector: half the processor time for a few classes.
_SHORT_RUN = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")


def compile_job(
    source: Path, main_class: str, home: Path, scratch: Path, libraries: Sequence[Path] = ()
) -> Path:
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
    libraries
        Jars whose classes go into the job's.

    Raises
    ------
    TestbedError
        If there is no ``javac`` or it finds errors.
    """
    # The folder that holds the outermost package.
    root = source.parents[main_class.count(".")]
    manifest = f"Main-Class: {main_class}\n"
    jar = _compile([source], root, manifest, home, scratch / f"{source.stem}.jar", libraries)
    with zipfile.ZipFile(jar, "a") as archive:
        for library in libraries:
            with zipfile.ZipFile(library) as classes:
                for name in classes.namelist():
                    if name.endswith(".class"):
                        archive.writestr(name, classes.read(name))
    return jar


def compile_own_job(name: str, home: Path, scratch: Path, libraries: Sequence[Path] = ()) -> Path:
    """Return the jar of one of the testbed's jobs, e.g. ``CountingJob``; see `compile_job`."""
    return compile_job(JOBS / f"{name}.java", f"testbed.jobs.{name}", home, scratch, libraries)


def compile_file_system(name: str, home: Path, scratch: Path) -> Path:
    """Return a folder of plug-ins with one of the testbed's file systems; see `compile_job`."""
    folder = scratch / "plugins" / name
    folder.mkdir(parents=True)
    jar = _compile([JOBS / f"{name}.java"], JOBS.parents[1], "", home, folder / f"{name}.jar")
    with zipfile.ZipFile(jar, "a") as archive:
        service = "META-INF/services/org.apache.flink.core.fs.FileSystemFactory"
        archive.writestr(service, f"testbed.jobs.{name}\n")
    return folder.parent


def compile_own_jobs(names: Sequence[str], home: Path, scratch: Path) -> Path:
    """Return one jar of several of the testbed's jobs, ``testbed-jobs.jar``; see `compile_job`.

    It has no main class: who runs it says which (`FlinkRest.run`).
    """
    sources = [JOBS / f"{name}.java" for name in names]
    return _compile(sources, JOBS.parents[1], "", home, scratch / "testbed-jobs.jar")


def _compile(
    sources: Sequence[Path],
    root: Path,
    manifest: str,
    home: Path,
    jar: Path,
    libraries: Sequence[Path] = (),
) -> Path:
    """Build a jar and return its path; the classes stay beside it."""
    classes = jar.with_name(f"{jar.stem}-classes")
    classes.mkdir()
    command = ["javac", *_SHORT_RUN, "--release", "11", "-nowarn", "-proc:none"]
    class_path = ":".join([f"{home}/lib/*", *map(str, libraries)])
    command += ["-sourcepath", str(root), "-cp", class_path, "-d", str(classes)]
    command += [str(source) for source in sources]
    try:
        subprocess.run(
            command, check=True, timeout=_COMPILE_SECONDS, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise TestbedError("no javac found: a JDK (11 or later) is needed") from None
    except subprocess.CalledProcessError as error:
        names = ", ".join(source.name for source in sources)
        raise TestbedError(f"javac failed on {names}:\n{error.stderr}") from error
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", manifest)
        for file in sorted(classes.rglob("*.class")):
            archive.write(file, str(file.relative_to(classes)))
    return jar
