"""The journal: one line an event, with what was said and done about it. It replays to the byte.

A line is JSON: `{"edgeplace_journal": 1, "n": 17, "event": {...}, "says": "...", "effects": [...],
"before": "..."}`. `before` is a digest of the line before, so that no line can be changed, lost or
put in between unnoticed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from edgeplace.control.loop.events import AnyEffect, AnyEvent, Started
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.step import Stepped, step
from edgeplace.control.settings import ControlSettings
from edgeplace.model import InvalidInputError

VERSION = 1
FIRST = "-"
"""`before` of the first line."""
_EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


@dataclass(frozen=True)
class Line:
    """A line of a journal."""

    number: int
    event: AnyEvent
    says: str
    effects: tuple[AnyEffect, ...]
    text: str
    """As it stands in the file, with its end."""


def written(stepped: Stepped, event: AnyEvent, before: str) -> str:
    """Return the line of an event.

    Parameters
    ----------
    before
        The digest of the line before.
    """
    entry = {
        "edgeplace_journal": VERSION,
        "n": stepped.memory.lines,
        "event": event.model_dump(mode="json", exclude_defaults=True) | {"kind": event.kind},
        "says": stepped.says,
        "effects": [
            e.model_dump(mode="json", exclude_defaults=True) | {"kind": e.kind}
            for e in stepped.effects
        ],
        "before": before,
    }
    return json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n"


def digest(line: str) -> str:
    """Return what the next line has as `before`."""
    return hashlib.sha256(line.encode(errors="replace")).hexdigest()[:16]


def read_event(line: str, where: str, before: str | None = None) -> AnyEvent:
    """Return the event of a line.

    Parameters
    ----------
    before
        The digest of the line before; None: it is not looked at.

    Raises
    ------
    InvalidInputError
        If the line is none of a journal, of another version, or does not follow the line before.
    """
    try:
        entry = json.loads(line)
    except ValueError as e:
        raise InvalidInputError(f"{where} is no line of a journal: {e}", _CURE) from e
    version = entry.get("edgeplace_journal") if isinstance(entry, dict) else None
    if version is None:
        raise InvalidInputError(f"{where} is no line of a journal", _CURE)
    if version != VERSION:
        raise InvalidInputError(
            f"{where}: version {version!r} of the journal is not known",
            f"this release reads version {VERSION}; move the journal away to begin a new one",
        )
    if before not in (None, entry.get("before")):
        raise InvalidInputError(f"{where} does not follow the line before it", _CURE)
    try:
        return _EVENT.validate_python(entry.get("event"))
    except ValidationError as e:
        first = e.errors()[0]
        raise InvalidInputError(
            f"{where}: the event is none: {'.'.join(map(str, first['loc']))}: {first['msg']}", _CURE
        ) from e


def replay(
    lines: Iterable[str], origin: str, settings: ControlSettings | None = None
) -> Iterator[tuple[Line, Memory, str]]:
    """Yield each line as it comes of its event, the memory then, and the line as it was given.

    Parameters
    ----------
    lines
        With their ends.
    origin
        What messages call them.
    settings
        Put in place of those that the journal was written with.

    Raises
    ------
    InvalidInputError
        If a line is none.
    """
    memory, before = Memory(), FIRST
    for number, given in enumerate(lines, 1):
        event = read_event(given, f"{origin}:{number}")
        if settings is not None and isinstance(event, Started):
            event = event.model_copy(update={"settings": settings})
        stepped = step(memory, event)
        memory = stepped.memory
        text = written(stepped, event, before)
        before = digest(text)
        yield Line(number, event, stepped.says, stepped.effects, text), memory, given


_CURE = "mend the line, or move the journal away to begin a new one"
