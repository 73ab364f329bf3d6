"""The folder of a ledger: a manifest, and two Parquet tables for each batch of segments.

A batch counts when the manifest names it. The manifest is written last and replaced as a whole, so
what a killed writer leaves behind is not counted, and the next writer overwrites it.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from edgeplace.model.errors import InvalidInputError, MissingExtraError
from edgeplace.model.file_lock import lock
from edgeplace.model.output import write_text
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.files import is_uri
from edgeplace.spark_stats.sums_table import (
    BIN_KEYS,
    COUNTS,
    MISSING,
    OF_CHECKPOINT,
    OF_MINUTE,
    SumRow,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

FORMAT = "edgeplace/ledger"
VERSION = 2
_MANIFEST = "manifest.json"
_TABLES = ("sums", "carried")
_COUNTED = (*COUNTS, "samples", "duplicates")
_ANEW = "make a new ledger from the segments: another folder for --ledger"


class Batch(BaseModel):
    """What one run added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    segments: dict[str, int]
    """Segment -> its bytes."""
    modified_ms: dict[str, int] = {}
    """Segment -> when it was modified."""
    bad_lines: dict[str, int] = {}
    """Segment -> its lines that could not be read."""
    former: dict[str, str] = {}
    """Segment -> the name under which an earlier batch read it."""
    damage: dict[str, str] = {}
    """Segment -> what is wrong with it as a whole."""
    unfinished: bool = False
    """Samples were passed over that are ahead of the clock: its segments are read again."""
    from_ms: int | None = None
    """Start of its first minute; None: it has no sample."""
    to_ms: int | None = None
    """Time of its last sample; None likewise."""

    def in_time(self, between_ms: tuple[int, int]) -> bool:
        """Return whether it may have samples of a time."""
        if self.from_ms is None or self.to_ms is None:
            return True
        return self.from_ms < between_ms[1] and self.to_ms >= between_ms[0]


class Manifest(BaseModel):
    """The batches of a ledger, in the order in which they were added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    version: int = VERSION
    jobs: dict[str, str] = {}
    """Id -> name of each job."""
    batches: tuple[Batch, ...] = ()

    def segments(self) -> dict[str, tuple[int, int | None]]:
        """Return segment -> its bytes, and when it was modified, as it was read last."""
        return {
            segment: (batch.segments[segment], batch.modified_ms.get(segment))
            for segment, batch in self._latest().items()
        }

    def unfinished(self) -> set[str]:
        """Return the segments that have to be read again."""
        return {segment for segment, batch in self._latest().items() if batch.unfinished}

    def bad_lines(self) -> dict[str, int]:
        """Return segment -> the number of its lines that could not be read."""
        return {segment: b.bad_lines.get(segment, 0) for segment, b in self._latest().items()}

    def damage(self) -> list[str]:
        """Return what is wrong with segments."""
        return [batch.damage[s] for s, batch in self._latest().items() if s in batch.damage]

    def _latest(self) -> dict[str, Batch]:
        """Return the last batch that read each segment, by its last name: a file that has grown is
        read anew, and so is one that was renamed.
        """
        latest: dict[str, Batch] = {}
        for batch in self.batches:
            for former in batch.former.values():
                latest.pop(former, None)
            latest |= dict.fromkeys(batch.segments, batch)
        return latest


class LedgerFolder:
    """Reads and writes the files of a ledger.

    Raises
    ------
    InvalidInputError
        If it is the URI of a store.
    MissingExtraError
        If pyarrow is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        if is_uri(folder):
            raise InvalidInputError(
                f"{folder} is no folder of this machine, where a ledger is", "give a path"
            )
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
            names = (p.name for p in self._folder.glob("*"))
            strangers = [name for name in names if not name.startswith(".")]
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

    def sums(
        self, manifest: Manifest, between_ms: tuple[int, int] | None = None
    ) -> "list[pa.Table]":
        """Return the sums of each batch, or of those that may have samples of a time: they have the
        documents that were in force when they began, too.
        """
        return [
            self._sums(n)
            for n, batch in enumerate(manifest.batches, start=1)
            if between_ms is None or batch.in_time(between_ms)
        ]

    def times_ms(self, manifest: Manifest) -> tuple[int, int] | None:
        """Return the first and the last time of all samples; None: there are none."""
        times = [
            _times_ms(self._sums(n)) if batch.to_ms is None else (batch.from_ms, batch.to_ms)
            for n, batch in enumerate(manifest.batches, start=1)
        ]
        first = [start for start, _ in times if start is not None]
        last = [end for _, end in times if end is not None]
        return (min(first), max(last)) if first and last else None

    def _sums(self, number: int) -> "pa.Table":
        name = _table(number, "sums")
        table = self._read(name)
        missing = {*BIN_KEYS, *OF_MINUTE, *OF_CHECKPOINT, *MISSING.values()} - {*table.column_names}
        if missing:
            raise InvalidInputError(
                f"{self._folder / name} is damaged: it has no {min(missing)}", _ANEW
            )
        return table

    def batches_backwards(self, manifest: Manifest) -> Iterator[list[SumRow]]:
        """Yield the sums of each batch as rows, the last batch first."""
        for number in range(len(manifest.batches), 0, -1):
            yield [SumRow(row) for row in self._sums(number).to_pylist()]

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
        first_ms, last_ms = _times_ms(sums)
        batch = batch.model_copy(update={"from_ms": first_ms, "to_ms": last_ms})
        if count > 1:
            sums = _with_documents(sums, self._sums(count - 1))
        if count == 1:
            # Tables without a manifest are those of a ledger that has lost it.
            write_text(Manifest().model_dump_json(indent=1) + "\n", self._folder / _MANIFEST)
        for name, table in zip(_TABLES, (sums, carried), strict=True):
            path = self._folder / _table(count, name)
            aside = path.with_name(f".{path.name}")
            pq.write_table(table, aside)
            # The manifest must not be on the disk before what it names.
            _sync(aside)
            aside.replace(path)
        self._sync_names()
        grown = manifest.model_copy(update={"batches": (*manifest.batches, batch)})
        write_text(grown.model_dump_json(indent=1) + "\n", self._folder / _MANIFEST)
        self._sync_names()
        (self._folder / _table(count - 1, "carried")).unlink(missing_ok=True)
        return grown

    def _sync_names(self) -> None:
        # Some file systems cannot do it for a folder.
        with suppress(OSError):
            _sync(self._folder)

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


def _times_ms(sums: "pa.Table") -> tuple[int | None, int | None]:
    """Return the start of the first minute and the time of the last sample; None: there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    timed = sums.filter(pc.is_in(sums["kind"], pa.array([r.TASK, r.TASK_MANAGER])))
    return pc.min(timed["bin_ms"]).as_py(), pc.max(timed["to_ms"]).as_py()


def _with_documents(sums: "pa.Table", before: "pa.Table") -> "pa.Table":
    """Return the sums with the documents that were in force at the end of the batch before, of the
    jobs that still run: so a time needs no other batches than its own.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    running = {*sums.filter(pc.equal(sums["kind"], r.TASK))["job"].to_pylist()}
    in_force = {}
    told = before.filter(pc.equal(before["kind"], r.DOCUMENT)).to_pylist()
    for row in sorted(told, key=lambda row: row["to_ms"] or 0):
        if not running or row["job"] in {*running, None}:
            # Its lines were counted when they were read.
            in_force[row["job"], row["vertex"]] = {**row, **dict.fromkeys(_COUNTED, 0)}
    if not in_force:
        return sums
    return pa.concat_tables([sums, pa.Table.from_pylist([*in_force.values()], sums.schema)])


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def is_ledger(folder: str | Path) -> bool:
    """Return whether a folder is a ledger.

    Raises
    ------
    InvalidInputError
        If it may not be read.
    """
    path = Path(folder) / _MANIFEST
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
        # An empty one is that of a ledger which has lost its content.
        return bool(text and FORMAT in text) or (text == "" and any(path.parent.glob("*.parquet")))
    except OSError as e:
        if e.errno == errno.ENAMETOOLONG:  # A pattern with many alternatives.
            return False
        raise InvalidInputError(f"{path} cannot be read: {e.strerror}", "let it be read") from e
