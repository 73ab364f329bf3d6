"""Processes that end at the latest with the one that started them."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from testbed.errors import TestbedError

STOP_SECONDS = 30.0
_READY_SECONDS = 120.0
_POLL_SECONDS = 0.1
_LOG_LINES = 20
# Once the kernel is asked to kill us with our parent: a parent that died before that is seen here.
_ONLY_UNDER_PARENT = '[ "$PPID" = "$0" ] && exec "$@"'


def launch(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process that the kernel kills when the calling thread ends, even by ``kill -9``.

    Parameters
    ----------
    command
        The program and its arguments; if it is a script, it must end in an ``exec``, since
        children of the process are not killed with it.
    log
        File to which its output is added; its folder becomes the working directory.
    environment
        Its environment, all of it.

    Raises
    ------
    TestbedError
        If ``setpriv`` (util-linux) is missing.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise TestbedError("no setpriv found. Maybe: apt-get install util-linux")
    with log.open("ab") as output:
        return subprocess.Popen(
            [
                *(setpriv, "--pdeathsig", "KILL"),
                *("sh", "-c", _ONLY_UNDER_PARENT, str(os.getpid())),
                *command,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=log.parent,
        )


def launch_server(
    name: str, command: Sequence[str], log: Path, is_ready: Callable[[], bool]
) -> subprocess.Popen[bytes]:
    """Start a server as `launch` does, and wait until it is ready.

    Parameters
    ----------
    name
        Of the server, for people.

    Raises
    ------
    TestbedError
        If it ends, or is not ready in two minutes; with the end of its log.
    """
    process = launch(command, log, {"PATH": os.environ["PATH"]})
    deadline = time.monotonic() + _READY_SECONDS
    while not is_ready():
        if time.monotonic() > deadline or process.poll() is not None:
            stop(process)
            raise TestbedError(f"{name} is not ready:\n{log_end(log, _LOG_LINES)}")
        time.sleep(_POLL_SECONDS)
    return process


def stop(process: subprocess.Popen[bytes], seconds: float = STOP_SECONDS) -> None:
    """End a process in order, or after so many seconds by force."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process at once, like a power failure."""
    process.kill()
    process.wait()


def log_end(log: Path, lines: int, start: int = 0) -> str:
    """Return the last lines of a log, and before them as many from its last error on.

    Parameters
    ----------
    start
        Bytes of the log that are older, and left out.
    """
    text = log.read_bytes()[start:].decode(errors="replace").splitlines()
    end = max(len(text) - lines, 0)
    errors = [i for i in range(end) if re.search(r"\b(ERROR|FATAL)\b", text[i])]
    cause = [*text[errors[-1] : min(errors[-1] + lines, end)], "..."] if errors else []
    return "\n".join([*cause, *text[end:]])
