"""Write files completely or not at all, and never over an input."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from edgeplace.model.errors import InvalidInputError

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def check_outputs(outputs: Mapping[str, str | Path], inputs: Iterable[str | Path]) -> None:
    """Check before long work that its results can be written without loss.

    Parameters
    ----------
    outputs
        Option -> the file that it writes.
    inputs
        Files that the work reads, and folders whose files it reads.

    Raises
    ------
    InvalidInputError
        If a file cannot be written, is an input too, or is given for two outputs.
    """
    sources = [Path(i) for i in inputs]
    taken: dict[Path, str] = {}
    for option, name in outputs.items():
        path = Path(name)
        check_writable(path)
        if path.exists() and not path.is_file():
            # A device or a FIFO can always be written.
            continue
        real = path.resolve()
        if real in taken:
            raise InvalidInputError(
                f"{path}: {taken[real]} and {option} would both write it", "give each its own file"
            )
        taken[real] = option
        for read in sources:
            inside = read.is_dir() and read.resolve() in real.parents
            if path.exists() and (inside or (read.exists() and read.samefile(path))):
                raise InvalidInputError(
                    f"{option} {path}: it would overwrite what is read here"
                    + (f", in {read}" if inside else ""),
                    "write to another file",
                )


def check_writable(path: str | Path) -> None:
    """Check before long work that its result can be written.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    path = Path(path)
    try:
        # The path is that of a symbolic link's target.
        mode = path.stat().st_mode
    except FileNotFoundError:
        _check_folder(path.resolve().parent, path)
        return
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be written: {e.strerror}", "choose another place"
        ) from e
    if stat.S_ISDIR(mode):
        raise InvalidInputError(
            f"{path}: cannot be written: is a folder", "give the name of a file"
        )
    if stat.S_ISBLK(mode):
        raise InvalidInputError(f"{path}: cannot be written: is a disk", "give the name of a file")
    # Root may write any file, but a file without write permission is still read-only.
    if not mode & _WRITE_BITS or not os.access(path, os.W_OK):
        raise InvalidInputError(
            f"{path}: cannot be written: the file is read-only",
            f"make it writable (chmod u+w {path}), or write to another file",
        )


def write_text(text: str | Iterable[str], path: str | Path) -> None:
    """Write a file, from one text or from parts, so that readers see it completely or not at all.

    An existing file keeps its mode and its owner. A symbolic link stays, and its target is
    written. A device or a FIFO is written directly.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    path = Path(path)
    check_writable(path)
    parts = [text] if isinstance(text, str) else text
    try:
        if path.exists() and not path.is_file():
            with path.open("a", encoding="utf-8") as f:
                f.writelines(parts)
        else:
            _replace(parts, path.resolve())
    except BrokenPipeError:
        # The reader of the FIFO has read enough.
        return
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be written: {e.strerror}", _CURES.get(e.errno or 0, _ELSEWHERE)
        ) from e


_ELSEWHERE = "choose another place"
_CURES = {errno.ENOSPC: "make room on that disk, or choose another place"}


def _check_folder(folder: Path, path: Path) -> None:
    if not folder.is_dir():
        raise InvalidInputError(
            f"{path}: cannot be written: there is no folder {folder}",
            f"make it (mkdir -p {folder}), or choose another place",
        )
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(
            f"{path}: cannot be written: nothing may be written into folder {folder}", _ELSEWHERE
        )


def _replace(parts: Iterable[str], path: Path) -> None:
    """Replace `path` by a new file; `path` is not a link."""
    former = path.stat() if path.exists() else None
    if former and not os.access(path.parent, os.W_OK):
        # The file can be written, but no file can be created beside it.
        with path.open("w", encoding="utf-8") as f:
            f.writelines(parts)
        return
    if former:
        mode = stat.S_IMODE(former.st_mode)
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    owner = (former.st_uid, former.st_gid) if former else None
    foreign = owner if owner != (os.geteuid(), os.getegid()) else None
    encoded = (part.encode() for part in parts)
    put(stage(encoded, path.parent, f".{path.name[:200]}.", mode, foreign), path)


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
        Of its name until then.
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
