"""The folder of a ledger: a manifest, and two Parquet tables for each batch of segments.

A batch counts when the manifest names it. The manifest is written last and replaced as a whole, so
what a killed writer leaves behind is not counted, and the next writer overwrites it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from edgeplace.model.errors import InvalidInputError, MissingExtraError
from edgeplace.model.file_lock import lock
from edgeplace.model.output import write_text
from edgeplace.spark_stats.sums_table import BIN_KEYS, OF_MINUTE

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

FORMAT = "edgeplace/ledger"
VERSION = 1
_MANIFEST = "manifest.json"
_TABLES = ("sums", "carried")
_ANEW = "make a new ledger from the segments: another folder for --ledger"


class Batch(BaseModel):
    """What one run added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    segments: dict[str, int]
    """Segment -> its bytes."""
    bad_lines: dict[str, int] = {}
    """Segment -> its lines that could not be read."""
    damage: dict[str, str] = {}
    """Segment -> what is wrong with it as a whole."""


class Manifest(BaseModel):
    """The batches of a ledger, in the order in which they were added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    version: int = VERSION
    jobs: dict[str, str] = {}
    """Id -> name of each job."""
    batches: tuple[Batch, ...] = ()

    def has(self, segment: str, size: int) -> bool:
        """Return whether a segment of this size is in the ledger."""
        return any(batch.segments.get(segment) == size for batch in self.batches)

    def bad_lines(self) -> int:
        """Return the number of lines that could not be read."""
        return sum(batch.bad_lines.get(s, 0) for s, batch in self._latest().items())

    def damage(self) -> list[str]:
        """Return what is wrong with segments."""
        return [batch.damage[s] for s, batch in self._latest().items() if s in batch.damage]

    def _latest(self) -> dict[str, Batch]:
        """Return the last batch that read each segment: a file that has grown is read anew."""
        return {segment: batch for batch in self.batches for segment in batch.segments}


class LedgerFolder:
    """Reads and writes the files of a ledger.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        if find_spec("pyarrow") is None:
            raise MissingExtraError(
                "a ledger needs pyarrow, which is not installed", "pip install 'edgeplace[spark]'"
            )
        self._folder = Path(folder)

    def manifest(self) -> Manifest:
        """Return the manifest, an empty one if there is no ledger yet.

        Raises
        ------
        InvalidInputError
            If it is damaged, or of another version, or if the folder has something else.
        """
        path = self._folder / _MANIFEST
        if not path.exists():
            # A writer that was killed before its first manifest may have left these.
            first = {_table(1, name) for name in _TABLES}
            names = (p.name for p in self._folder.glob("*"))
            strangers = [n for n in names if not n.startswith(".") and n not in first]
            if strangers:
                raise InvalidInputError(
                    f"{self._folder} is no ledger: it has {strangers[0]} and no {_MANIFEST}",
                    "give an empty or a new folder",
                )
            return Manifest()
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            version = document["version"]
        except (ValueError, KeyError, TypeError) as e:
            raise InvalidInputError(f"{path} is damaged", _ANEW) from e
        if version != VERSION:
            raise InvalidInputError(
                f"{path} is of version {version}, and this edgeplace reads version {VERSION}", _ANEW
            )
        try:
            return Manifest.model_validate(document)
        except ValidationError as e:
            raise InvalidInputError(f"{path} is damaged", _ANEW) from e

    def sums(self, manifest: Manifest) -> "list[pa.Table]":
        """Return the sums of each batch."""
        tables = [self._read(_table(n + 1, "sums")) for n in range(len(manifest.batches))]
        for n, table in enumerate(tables, start=1):
            missing = {*BIN_KEYS, *OF_MINUTE} - set(table.column_names)
            if missing:
                raise InvalidInputError(
                    f"{self._folder / _table(n, 'sums')} is damaged: it has no {min(missing)}",
                    _ANEW,
                )
        return tables

    def carried(self, manifest: Manifest) -> "pa.Table | None":
        """Return the last samples of all that was added; None if nothing was."""
        count = len(manifest.batches)
        return self._read(_table(count, "carried")) if count else None

    def append(
        self, manifest: Manifest, batch: Batch, sums: "pa.Table", carried: "pa.Table"
    ) -> Manifest:
        """Write a batch, then the manifest that names it, and return that."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        count = len(manifest.batches) + 1
        for name, table in zip(_TABLES, (sums, carried), strict=True):
            path = self._folder / _table(count, name)
            aside = path.with_name(f".{path.name}")
            pq.write_table(table, aside)
            # The manifest must not be on the disk before what it names.
            _sync(aside)
            aside.replace(path)
        _sync(self._folder)
        grown = manifest.model_copy(update={"batches": (*manifest.batches, batch)})
        write_text(grown.model_dump_json(indent=1) + "\n", self._folder / _MANIFEST)
        return grown

    @contextmanager
    def for_writing(self) -> Iterator[None]:
        """Keep other writers out while the block runs.

        Raises
        ------
        InvalidInputError
            If another process writes, or the folder cannot be written.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            held = lock(self._folder / ".lock", os.O_CREAT | os.O_RDWR)
        except BlockingIOError as e:
            raise InvalidInputError(
                f"another process adds to {self._folder}", "wait until it has ended"
            ) from e
        except OSError as e:
            raise InvalidInputError(
                f"{self._folder} cannot be written: {e.strerror}", "choose another place"
            ) from e
        try:
            yield
        finally:
            os.close(held)

    def _read(self, name: str) -> "pa.Table":
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._folder / name
        try:
            with pq.ParquetFile(path) as file:
                return file.read(use_threads=False)
        except (OSError, pa.ArrowException) as e:
            raise InvalidInputError(
                f"{path}, which the manifest names, is "
                + ("not there" if not path.exists() else "damaged"),
                _ANEW,
            ) from e


def _table(number: int, name: str) -> str:
    """Return the name of the file of one of `_TABLES` of a batch."""
    return f"{number:06d}.{name}.parquet"


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def is_ledger(folder: str | Path) -> bool:
    """Return whether a folder is a ledger."""
    path = Path(folder) / _MANIFEST
    return path.is_file() and FORMAT in path.read_text(encoding="utf-8", errors="replace")
