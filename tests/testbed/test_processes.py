import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
process = pytest.importorskip("testbed.process", reason=REASON)
scratch = pytest.importorskip("testbed.scratch", reason=REASON)
pytestmark = pytest.mark.live

ROOT = Path(process.__file__).parents[1]
PATIENCE_SECONDS = 60.0
# Starts a process by the testbed, says which, and waits to be killed.
STARTER = """
import os, sys, time
from pathlib import Path
from testbed.process import launch
from testbed.scratch import scratch_folder
with scratch_folder() as folder:
    child = launch(["sleep", "600"], folder / "log", dict(os.environ))
    print(child.pid, folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Path]:
    """The process and the scratch folder of a run that was ended by `kill -9`."""
    return _killed_run(tmp_path, monkeypatch)


def _killed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert starter.stdout
    pid, folder = starter.stdout.readline().split(maxsplit=1)
    assert _is_alive(int(pid))
    starter.kill()
    starter.communicate()
    return int(pid), Path(folder.strip())


def test_processes_end_with_a_killed_run(killed: tuple[int, Path]) -> None:
    assert _ends(killed[0])


def test_a_process_ends_even_if_the_run_is_killed_while_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "setpriv"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("setpriv")} "$@"\n')
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")

    assert _ends(_killed_run(tmp_path, monkeypatch)[0])


def test_the_next_run_removes_the_folder_of_a_killed_one_but_not_of_a_living_one(
    killed: tuple[int, Path],
) -> None:
    _, left = killed
    assert left.is_dir()

    with scratch.scratch_folder() as first:
        assert not left.exists()
        with scratch.scratch_folder() as second:
            assert first.is_dir() and first != second
        assert not second.exists()
    assert not first.exists()


def test_a_folder_is_locked_before_another_run_can_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with scratch.scratch_folder() as folder:
        handle = os.open(folder, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)


def test_stop_lets_a_process_end_in_order_and_kill_does_not(tmp_path: Path) -> None:
    trap = ["sh", "-c", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done"]
    codes = []
    for end in (process.stop, process.kill):
        log = tmp_path / f"{end.__name__}.log"
        started = process.launch(trap, log, dict(os.environ))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "up" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        end(started)
        codes.append((started.returncode, process.log_end(log, 1)))

    assert codes == [(3, "bye"), (-signal.SIGKILL, "up")]


def _ends(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
