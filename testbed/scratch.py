"""A scratch folder of one run; what killed runs have left behind goes at the next start."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "edgeplace-testbed-"
_UNLOCKED_PREFIX = "edgeplace-testbed.new-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder that is removed at the end, or by the next run if this one is killed."""
    _remove_left()
    fresh = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX))
    lock = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # The kernel gives the lock back when this process ends, however it ends.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Only now may another run see it: an unlocked one is taken for left behind.
        folder = fresh.rename(fresh.with_name(fresh.name.replace(_UNLOCKED_PREFIX, _PREFIX, 1)))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove_left() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # Another user's, or just removed by another run.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # Its run is alive.
            continue
        finally:
            os.close(lock)
