"""Atomic replacement of files: a reader sees the old file or the new one, complete."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def stage(
    parts: Iterable[bytes],
    folder: Path,
    prefix: str,
    mode: int,
    owner: tuple[int, int] | None = None,
) -> Path:
    """Write a new file, force it to the disk, and return its path; `put` gives it its name.

    Parameters
    ----------
    folder
        Folder of the future file.
    prefix
        Prefix of its temporary name.
    owner
        User and group of the file, if they are not those of the process.

    Raises
    ------
    OSError
        If it cannot be written. No part of it is left then.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=prefix)
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as f:
            f.writelines(parts)
            f.flush()
            os.fsync(f.fileno())
        if owner:
            os.chown(staged, *owner)
        # The mode is set last, because a change of owner clears some of its bits.
        os.chmod(staged, mode)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
    return staged


def put(staged: Path, path: Path) -> None:
    """Rename a staged file to its final name, and replace a file of that name.

    Raises
    ------
    OSError
        If it cannot be renamed. The staged file is removed then.
    """
    try:
        os.replace(staged, path)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
