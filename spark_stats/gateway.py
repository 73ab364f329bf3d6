"""The JVM of a Spark session. It ends at the latest with the process that started it."""

import ctypes
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from edgeplace.model.errors import InvalidInputError, MissingExtraError

_PR_SET_PDEATHSIG = 1
_LOOK_AGAIN_S = 0.05
_LAST_WORDS_S = 2.0
_NOT_FOUND = re.compile(r"unresolved dependency|download failed")
"""What Ivy says of a library that it does not find."""
_LAST_WORDS = 200
"""Lines of what the JVM said last that are kept."""

_EXPECTED = b"WARNING: Using incubator modules: jdk.incubator.vector"
"""What a JVM says each time: Spark asks for this module, and no option silences the JVM on it."""

_running: list[subprocess.Popen[bytes]] = []
"""JVMs whose standard input this process holds. Each ends when its input is closed."""


@contextmanager
def jvm(settings: Mapping[str, str]) -> Iterator[None]:
    """Start a JVM, and let PySpark connect to it inside the block.

    PySpark can start one itself, but if this start is interrupted, the JVM runs for ever. The JVM
    started here ends with this process in any case: it reads the end of its standard input, Linux
    sends it a signal, and an exception in the block ends it.

    Parameters
    ----------
    settings
        Spark's configuration.

    Raises
    ------
    InvalidInputError
        If the settings name a library that Spark does not find.
    MissingExtraError
        If the JVM does not start for another reason.
    """
    logging.getLogger().addFilter(_is_news)
    folder = Path(tempfile.mkdtemp(prefix="edgeplace-jvm-"))
    started: list[subprocess.Popen[bytes]] = []
    try:
        port, secret = _start(settings, folder / "connection", started)
        # PySpark reads the running JVM's port and secret from these variables.
        os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(name, None)
        shutil.rmtree(folder, ignore_errors=True)
    _running.extend(started)


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for what Py4J logs with a traceback and raises, too: Ctrl-C for one."""
    return not str(record.msg).endswith("while sending command.")


def _start(
    settings: Mapping[str, str], said: Path, started: list[subprocess.Popen[bytes]]
) -> tuple[int, str]:
    """Start a JVM and return the port that it listens on, and the secret that it requires."""
    command = [str(Path(_find_spark_home()) / "bin" / "spark-submit")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    try:
        process = subprocess.Popen(
            [*command, "pyspark-shell"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(said),
            },
            preexec_fn=_dies_with_parent(),
        )
    except OSError as e:
        raise _not_started(f"{e.strerror}: {e.filename}") from e
    started.append(process)
    last_words: deque[str] = deque(maxlen=_LAST_WORDS)
    passing = threading.Thread(target=_pass_on, args=(process, last_words), daemon=True)
    passing.start()
    while not said.exists():
        if process.poll() is not None:
            passing.join(_LAST_WORDS_S)
            if missing := [w for w in last_words if _NOT_FOUND.search(w)]:
                raise InvalidInputError(
                    f"Spark finds no such library: {missing[0].strip()}",
                    "check the versions in spark.jars.packages, and that this machine reaches the "
                    "repository (spark.jars.repositories)",
                )
            raise _not_started(f"it ended with {process.returncode}")
        time.sleep(_LOOK_AGAIN_S)
    # The file has the port, the length of the secret, and the secret. It is complete when it
    # exists.
    told = said.read_bytes()
    return int.from_bytes(told[:4], "big"), told[8:].decode()


def _pass_on(process: "subprocess.Popen[bytes]", last_words: deque[str]) -> None:
    """Write what the JVM says to standard error, except for what it says each time."""
    for line in process.stderr or ():
        last_words.append(line.decode("utf-8", "replace"))
        if line.strip() != _EXPECTED:
            with suppress(OSError):
                os.write(2, line)


def _not_started(why: str) -> MissingExtraError:
    return MissingExtraError(
        f"the JVM of Spark did not start: {why}",
        "see what is said above; Spark needs bash on the PATH and Java 17 or later in JAVA_HOME",
    )


def _dies_with_parent() -> Callable[[], None]:
    """Return the function that the child runs before it becomes the JVM."""
    # The signal is sent when the *thread* that started the child ends, so it must be the main
    # thread.
    main = threading.current_thread() is threading.main_thread()
    libc = ctypes.CDLL(None) if main and sys.platform == "linux" else None

    def prepare() -> None:
        # Ctrl-C is for this process, which ends the JVM.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    return prepare
