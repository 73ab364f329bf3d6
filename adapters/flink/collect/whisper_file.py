"""Whisper files, in which Graphite keeps one series each.

A file has a header, a description of each archive, and the archives: rings of points, the finest
first. https://graphite.readthedocs.io/en/latest/whisper.html describes it.
"""

import struct
from itertools import pairwise
from typing import IO

_HEADER = struct.Struct("!2LfL")
_ARCHIVE = struct.Struct("!3L")
_POINT = struct.Struct("!Ld")
_MOST_ARCHIVES = 100
_MOST_BYTES = 500_000_000
"""A year of points for each second has 378 MB."""


class WhisperError(Exception):
    """The content is not that of a whole Whisper file."""


def read(file: IO[bytes]) -> bytes:
    """Return the content of a file: no more than its start says.

    Raises
    ------
    WhisperError
        If it is no Whisper file, or one of more than 500 MB.
    OSError
        If it cannot be read.
    """
    start = file.read(_HEADER.size + _MOST_ARCHIVES * _ARCHIVE.size)
    size = _end(_archives(start))
    if size > _MOST_BYTES:
        raise WhisperError(f"it is larger than {_MOST_BYTES:,} bytes: {size:,} bytes")
    return start[:size] + file.read(max(0, size - len(start)))


def points(content: bytes, from_s: float | None, until_s: float | None) -> list[tuple[int, float]]:
    """Return the points of a file in order of time: seconds since the epoch, and the value.

    They are those of the finest archive that keeps points for long enough to have `from_s`, or, if
    none does or what does is empty, of the coarsest that has any. Graphite rounds times down to the
    archive's step.

    Parameters
    ----------
    content
        Of a Whisper file.
    from_s, until_s
        The first and the last time; None: all that the finest archive has.

    Raises
    ------
    WhisperError
        If the content is cut short or something else.
    """
    archives = _archives(content)
    if len(content) < _end(archives):
        raise WhisperError(f"it is cut short: {len(content):,} of {_end(archives):,} bytes")
    held: list[tuple[int, float]] = []
    for offset, step_s, count in archives:
        ring = _POINT.iter_unpack(content[offset : offset + count * _POINT.size])
        written = sorted((at_s, value) for at_s, value in ring if at_s)
        if not written:
            continue
        # What is left of the round before is older than the archive.
        oldest_s = written[-1][0] - step_s * count
        held = [point for point in written if point[0] > oldest_s]
        if from_s is None or oldest_s <= from_s:
            break
    return [
        (at_s, value)
        for at_s, value in held
        if (from_s is None or at_s >= from_s) and (until_s is None or at_s <= until_s)
    ]


def _archives(content: bytes) -> list[tuple[int, int, int]]:
    """Return offset in bytes, seconds a point and number of points of each archive."""
    if len(content) < _HEADER.size:
        raise WhisperError(f"{len(content)} bytes are no Whisper file")
    count = _HEADER.unpack_from(content)[3]
    end = _HEADER.size + count * _ARCHIVE.size
    if not 0 < count <= _MOST_ARCHIVES:
        raise WhisperError("its start is not that of a Whisper file")
    if len(content) < end:
        raise WhisperError(f"it is cut short: {len(content)} bytes")
    archives = list(_ARCHIVE.iter_unpack(content[_HEADER.size : end]))
    for offset, step_s, points in archives:
        if offset != end or not step_s or not points:
            raise WhisperError("its start is not that of a Whisper file")
        end += points * _POINT.size
    if any(finer[1] >= coarser[1] for finer, coarser in pairwise(archives)):
        raise WhisperError("its start is not that of a Whisper file")
    return archives


def _end(archives: list[tuple[int, int, int]]) -> int:
    """Return the size of a file with these archives in bytes."""
    offset, _, count = archives[-1]
    return offset + count * _POINT.size
