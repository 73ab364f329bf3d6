"""The bytes and the text of input files, of bounded size. A pipe is read once."""

import gzip
import io
import logging
import os
import stat
import zlib
from pathlib import Path

from edgeplace.model.errors import InvalidInputError

MOST_BYTES = 256 << 20
"""Largest size of a document, compressed and uncompressed."""

STANDARD_INPUT = "-"
_log = logging.getLogger(__name__)
_piped: dict[tuple[int, int], bytes] = {}
"""Contents of files that can be read only once, by device and inode."""


def bytes_of(path: str | Path) -> bytes:
    """Return the content of a file, for a pipe (`<(...)`, /dev/stdin) also at a second call.

    `-` is standard input.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or is too large for a document.
    """
    path = Path("/dev/stdin" if str(path) == STANDARD_INPUT else path)
    try:
        status = path.stat()
        once = not stat.S_ISREG(status.st_mode)
        key = (status.st_dev, status.st_ino)
        if once and key in _piped:
            return _piped[key]
        with path.open("rb") as f:
            raw = f.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except IsADirectoryError:
        raise InvalidInputError(
            f"{path}: cannot be read: it is a folder", "give the name of a file"
        ) from None
    except PermissionError as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e.strerror}",
            f"allow it (chmod a+r {path}), or run this as a user who may read it",
        ) from e
    except (OSError, ValueError) as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {getattr(e, 'strerror', None) or e}", "check the path"
        ) from e
    _check_size(path, raw)
    _log.debug("read %s: %d bytes", path, len(raw))
    if once:
        _piped[key] = raw
    return raw


def text_of(path: str | Path) -> str:
    """Return the text of a file in UTF-8, gzip'ed or not.

    Raises
    ------
    InvalidInputError
        As for `bytes_of`, and if the content is not such a text.
    """
    raw = bytes_of(path)
    try:
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(raw)) as f:
                raw = f.read(MOST_BYTES + 1)
            _check_size(path, raw)
        # Windows' editors begin files with a byte order mark.
        return raw.decode("utf-8-sig")
    except (EOFError, zlib.error, OSError) as e:
        raise InvalidInputError(
            f"{path}: cannot be read: damaged gzip data: {e}", "copy or pack the file again"
        ) from e
    except UnicodeDecodeError as e:
        utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in raw[:64]
        line = raw[: e.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path}: cannot be read: not UTF-8, "
            + ("but UTF-16 or binary" if utf16 else f"at line {line}: byte 0x{raw[e.start]:02x}"),
            f"save the file as UTF-8 (iconv -f {'UTF-16' if utf16 else 'LATIN1'} -t UTF-8 {path})",
        ) from e


def opened(path: str | Path) -> io.BufferedIOBase:
    """Open a file of bytes that may be a pipe; one on disk may be of any size."""
    if os.path.isfile(path):
        return open(path, "rb")
    return io.BytesIO(bytes_of(path))


def _check_size(path: str | Path, raw: bytes) -> None:
    if len(raw) > MOST_BYTES:
        raise InvalidInputError(
            f"{path}: more than {MOST_BYTES >> 20} MiB of data",
            "no document is so large: check the path",
        )
