"""The files of a log on this machine, and their formats."""

import os
import re
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats.formats import FORMATS, Format, format_of
from edgeplace.spark_stats.unpacking import GZIP_MAGIC, readable

_HEAD_BYTES = 1 << 16
# A reporter's first report can come after a long start-up log.
_LONG_HEAD_BYTES = 1 << 22
_PATTERN = re.compile(r"[*?\[{]")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

CUT_SHORT = "the gzip data end too early or are damaged; what came before was used"
UNKNOWN_FORMAT = "known are: " + "; ".join(f"{known.name} ({known.expects})" for known in FORMATS)


@dataclass
class LogFiles:
    """The files of a log on this machine, sorted by format."""

    by_format: dict[str, tuple[Format, list[str]]] = field(default_factory=dict)
    """Name of a format -> it, and its files."""
    empty: list[str] = field(default_factory=list)
    """Files without content."""
    cut_short: dict[str, int] = field(default_factory=dict)
    """Damaged gzip file -> number of lines that could be read."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each file, when it was found."""
    modified_ms: dict[str, int] = field(default_factory=dict)
    """When each file was modified, in ms since the epoch."""

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""
        kept = {
            name: (log_format, [f for f in files if f not in known])
            for name, (log_format, files) in self.by_format.items()
        }
        self.by_format = {name: part for name, part in kept.items() if part[1]}

    def each(self) -> Iterator[tuple[Format, str]]:
        """Yield each file with its format."""
        for log_format, files in self.by_format.values():
            for file in files:
                yield log_format, file


def log_files(paths: Sequence[str | Path]) -> LogFiles:
    """Find the format of each file by its content.

    Parameters
    ----------
    paths
        Files, and folders whose files are all taken.

    Raises
    ------
    InvalidInputError
        If a file does not exist or has an unknown format, or if all files are empty.
    """
    found = LogFiles()
    # A file may be named, and be in a folder that is named.
    for file in dict.fromkeys(file for path in paths for file in _listed(Path(path))):
        with reading(file):
            state = file.stat()
            found.sizes[str(file)] = state.st_size
            found.modified_ms[str(file)] = state.st_mtime_ns // 1_000_000
            head = _head(file, _HEAD_BYTES)
            if not head.strip():
                found.empty.append(str(file))
                continue
            known = format_of(head) or format_of(_head(file, _LONG_HEAD_BYTES))
        if known is None:
            raise InvalidInputError(
                f"{file} is of no known log format; it starts with {head.strip()[:60]!r}",
                UNKNOWN_FORMAT,
            )
        found.by_format.setdefault(known.name, (known, []))[1].append(str(file))
    if not found.by_format:
        raise empty_log(paths)
    return found


def on_disk(paths: Sequence[str | Path]) -> bool:
    """Return whether all paths are paths of this machine: no URI, and no pattern of file names."""
    return not any(
        is_uri(path) or (_PATTERN.search(str(path)) and not os.path.exists(path)) for path in paths
    )


def note_of(file: str, lines: int) -> str:
    """Return the note on a damaged gzip file of which so many lines could be read."""
    return f"{file}: {CUT_SHORT} ({lines:,} lines)"


def is_uri(path: str | Path) -> bool:
    """Return whether a path is a URI, which only Spark reads."""
    return bool(_URI.match(str(path)))


def empty_log(paths: Sequence[str | Path]) -> InvalidInputError:
    """Return the error of a log that has nothing in it."""
    for path in map(Path, paths):
        is_whole = os.path.exists(path / "manifest.json")
        if os.path.isdir(path) and not is_whole and any(path.glob("*.parquet")):
            return InvalidInputError(
                f"{path} has no log, and Parquet tables that no manifest of a ledger names",
                "if it was a ledger, make a new one from the logs (--ledger FOLDER)",
            )
    names = ", ".join(str(p) for p in paths) or "no file"
    return InvalidInputError(
        f"the metric log is empty: {names}",
        "record for some minutes while the job runs (edgeplace flink collect)",
    )


@contextmanager
def reading(file: str | Path) -> Iterator[None]:
    """Say of an error of the block that a file or folder cannot be read."""
    try:
        yield
    except OSError as e:
        raise InvalidInputError(
            f"{file} cannot be read: {e.strerror}",
            "let this user read it, and keep it until the command ends",
        ) from e


def _listed(path: Path) -> list[Path]:
    with reading(path):
        if path.is_dir():
            return sorted(file.absolute() for file in _in_folder(path) if file.is_file())
    if path.exists() and not path.is_file():
        raise InvalidInputError(
            f"{path} is no file on a disk, but a pipe or a device", "save the log to a file first"
        )
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}", "give the path of a recorded log")
    return [path.absolute()]


def _in_folder(folder: Path) -> Iterator[Path]:
    """Yield what may be a log in a folder and in those in it, also behind links."""

    def refuse(error: OSError) -> None:
        with reading(error.filename):
            raise error

    entered = set()
    for here, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        with reading(here):
            state = os.stat(here)
        if (state.st_dev, state.st_ino) in entered:
            # A link leads back to it.
            folders.clear()
            continue
        entered.add((state.st_dev, state.st_ino))
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        yield from (Path(here, n) for n in names if not (_is_hidden(n) or of_ledger(n)))


def of_ledger(name: str) -> bool:
    """Return whether a file in a folder is one of a ledger by its name: no log."""
    return name.endswith(".parquet") or name == "manifest.json"


def _is_hidden(name: str) -> bool:
    """Return whether Spark would not read a file or folder of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def is_gzip(path: Path) -> bool:
    """Return whether a file begins as gzip data do, whatever its name."""
    with reading(path), path.open("rb") as f:
        return f.read(2) == GZIP_MAGIC


def _head(path: Path, size: int) -> str:
    """Return the start of a file as text, as far as it can be read."""
    with path.open("rb") as f:
        chunks = readable(f.read(size))
    head = b""
    while len(head) < size and (chunk := next(chunks, None)):
        head += chunk
    return head[:size].decode("utf-8", errors="replace")
