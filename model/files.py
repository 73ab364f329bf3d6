"""Putting a file in its place at once: who reads it sees the former one or the new one, whole."""

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
        Of the file that it will become.
    prefix
        Of its name until then.
    owner
        User and group, if they are not those of the process.

    Raises
    ------
    OSError
        If it cannot be written. Nothing is left of it then.
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
        # Last: a change of owner clears bits of the mode.
        os.chmod(staged, mode)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
    return staged


def put(staged: Path, path: Path) -> None:
    """Give a staged file its name, and replace what has that name.

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
