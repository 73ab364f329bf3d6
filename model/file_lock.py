"""A lock that one process at a time holds; the kernel releases it when that process ends."""

import fcntl
import os
from pathlib import Path


def lock(path: Path, flags: int) -> int:
    """Open a file or folder and lock it for this process alone.

    Parameters
    ----------
    flags
        Those of `os.open`. With `os.O_CREAT` a missing file is created.

    Returns
    -------
    The descriptor; closing it releases the lock.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    OSError
        If the path cannot be opened, or its file system has no locks.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
