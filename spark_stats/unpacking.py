"""Gzip data, up to the damage if they are damaged.

Spark runs the functions of tables on its executors. They get this module with the work, so they
need no edgeplace; it imports the standard library and, in these functions, pyarrow.
"""

import codecs
import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 16
_LINES_A_BATCH = 4096

LINE_COLUMNS = "value string, file string, block bigint, pos bigint, modified_ms bigint"
CONDITION_COLUMNS = "file string, head string, bytes bigint, damaged boolean, lines bigint"


def unpacked(packed: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a gzip file up to the damage.

    Raises
    ------
    EOFError, zlib.error
        At the damage, after what came before it.
    """
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    while data := packed.read(_CHUNK_BYTES):
        while data:
            # A file may hold several gzip members, one after the other.
            if unpack.eof:
                unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            chunk = unpack.decompress(data)
            if chunk:
                yield chunk
            data = unpack.unused_data
    if not unpack.eof:
        raise EOFError


def line_batches(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Return the lines (`LINE_COLUMNS`) of files (file, modified_ms, content)."""
    for file, modified_ms, content in _rows(batches):
        lines: list[str] = []
        first = 0
        for line in _lines(content):
            lines.append(line)
            if len(lines) == _LINES_A_BATCH:
                yield _line_batch(lines, file, first, modified_ms)
                first += len(lines)
                lines = []
        yield _line_batch(lines, file, first, modified_ms)


def document_batches(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Return the files (file, modified_ms, content) as one line (`LINE_COLUMNS`) each."""
    for file, modified_ms, content in _rows(batches):
        text = b"".join(readable(content)).decode("utf-8", "replace")
        yield _line_batch([text], file, 0, modified_ms)


def condition_batches(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Return the start and the condition (`CONDITION_COLUMNS`) of files (file, modified_ms,
    content). Only gzip data can be damaged.
    """
    import pyarrow as pa

    for file, _, content in _rows(batches):
        damaged = content.startswith(GZIP_MAGIC) and not _is_whole(content)
        row = {
            "file": file,
            "head": next(readable(content), b"")[:_CHUNK_BYTES].decode("utf-8", "replace"),
            "bytes": len(content),
            "damaged": damaged,
            "lines": sum(1 for _ in _lines(content)) if damaged else 0,
        }
        yield pa.RecordBatch.from_pydict({column: [value] for column, value in row.items()})


def _is_whole(packed: bytes) -> bool:
    try:
        for _chunk in unpacked(io.BytesIO(packed)):
            pass
    except (EOFError, zlib.error):
        return False
    return True


def _rows(batches: "Iterator[pa.RecordBatch]") -> "Iterator[tuple[str, int, bytes]]":
    for batch in batches:
        for i in range(batch.num_rows):
            file, modified_ms, content = (batch.column(c)[i].as_py() for c in range(3))
            yield file, modified_ms, content


def readable(content: bytes) -> Iterator[bytes]:
    """Yield the content, unpacked as far as it goes if it is packed."""
    if not content.startswith(GZIP_MAGIC):
        yield content
        return
    try:
        yield from unpacked(io.BytesIO(content))
    except (EOFError, zlib.error):
        return


def _lines(content: bytes) -> Iterator[str]:
    """Yield the lines as Spark and Python have them: they end with \\n, \\r or both."""
    rest = b""
    is_first = True
    for chunk in readable(content):
        # The last line may go on in the next chunk, were it only by the \\n after a \\r.
        *whole, rest = (rest + chunk).splitlines(keepends=True) or [b""]
        for line in whole:
            yield _line(line, is_first)
            is_first = False
    if rest:
        yield _line(rest, is_first)


def _line(line: bytes, is_first: bool) -> str:
    text = line.removeprefix(codecs.BOM_UTF8) if is_first else line
    return text.rstrip(b"\r\n").decode("utf-8", "replace")


def _line_batch(lines: list[str], file: str, first: int, modified_ms: int) -> "pa.RecordBatch":
    import pyarrow as pa

    count = len(lines)
    return pa.RecordBatch.from_pydict(
        {
            "value": pa.array(lines, pa.string()),
            "file": pa.array([file] * count, pa.string()),
            "block": pa.array([0] * count, pa.int64()),
            "pos": pa.array(range(first, first + count), pa.int64()),
            "modified_ms": pa.array([modified_ms] * count, pa.int64()),
        }
    )
