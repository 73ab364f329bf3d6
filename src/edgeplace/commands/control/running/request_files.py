"""Requests of people to a loop that runs: small files that it reads with its next poll."""

import contextlib
import getpass
import json
import os
import socket
import time
from pathlib import Path

from pydantic import ValidationError

from edgeplace.control.loop.events import Asked
from edgeplace.model import InvalidInputError, output

_FOLDER = "requests"
_PREFIX = ".request-"
_LARGEST_BYTES = 10_000


def put(folder: Path, what: str, proposal: str = "", for_s: float = 0.0) -> str:
    """Leave a request for the loop of a folder, and return by which name its answer is found.

    Raises
    ------
    InvalidInputError
        If it cannot be written.
    """
    request = f"{time.time_ns()}-{os.getpid()}"
    entry = {"what": what, "id": proposal, "for_s": for_s, "who": _who()}
    try:
        (folder / _FOLDER).mkdir(exist_ok=True)
        text = json.dumps(entry).encode()
        staged = output.stage([text], folder / _FOLDER, _PREFIX, mode=0o644)
        output.put(staged, folder / _FOLDER / f"{request}.json")
    except OSError as e:
        raise InvalidInputError(
            f"{folder}: a request cannot be left there: {e.strerror}",
            "run this as the user of the loop",
        ) from e
    return request


def waiting(folder: Path) -> list[Path]:
    """Return the requests that wait, the oldest first."""
    return sorted((folder / _FOLDER).glob("*.json"))


def read(path: Path, at_s: float, wall_s: float) -> Asked | None:
    """Return the event of a request; None: it is none."""
    try:
        entry = json.loads(path.read_bytes()[:_LARGEST_BYTES])
        return Asked(at_s=at_s, wall_s=wall_s, request=path.stem, **entry)
    except (OSError, ValueError, TypeError, ValidationError):
        return None


def take_away(path: Path) -> None:
    """Remove a request that is on record."""
    with contextlib.suppress(OSError):
        path.unlink()


def _who() -> str:
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):
        return socket.gethostname()
