"""A scratch folder of one run. The next start removes the folders of killed runs."""

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
        # The kernel releases the lock when this process ends, in any way.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Only now another run may see the folder, because a folder without a lock counts as
        # abandoned.
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
        except OSError:  # The folder belongs to another user, or another run has just removed it.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # The folder's run is alive.
            continue
        finally:
            os.close(lock)
