"""Reading and writing the documents: JSON or YAML, versioned, validated."""

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from edgeplace.model.errors import InvalidInputError

D = TypeVar("D", bound=BaseModel)

_TITLES = {
    "edgeplace/cluster": "a cluster file",
    "edgeplace/costs": "a costs file",
    "edgeplace/instance": "an instance",
    "edgeplace/job-graph": "a job file",
    "edgeplace/plan": "a plan",
    "edgeplace/rules": "a rules file",
}
_MARKS: dict[str, dict[str, type]] = {
    "edgeplace/cluster": {"sites": list, "nodes": list},
    "edgeplace/costs": {"job": str, "operators": list},
    "edgeplace/instance": {"jobs": list, "cluster": dict},
    "edgeplace/job-graph": {"name": str, "operators": list},
    "edgeplace/plan": {"jobs": dict},
    "edgeplace/rules": {"rules": list},
}
"""Keys that tell each kind of document, by `format`: files written by hand may not name it."""


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML that refuses a key given twice instead of keeping the last."""

    def construct_document(self, node: Any) -> Any:
        # Before anything is constructed: merge keys rewrite the nodes while it is.
        left, done = [node], set()
        while left:
            at = left.pop()
            if id(at) in done or isinstance(at, yaml.ScalarNode):
                continue
            done.add(id(at))
            if isinstance(at, yaml.SequenceNode):
                left += at.value
                continue
            seen = set()
            for key_node, value_node in at.value:
                key = str(key_node.value)
                if key in seen and key != "<<":
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} is given twice", key_node.start_mark
                    )
                seen.add(key)
                left.append(value_node)
        return super().construct_document(node)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [k for k, _ in pairs]
        twice = next(k for k in keys if keys.count(k) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return found


def load(path: str | Path) -> Any:
    """Return the plain content of a JSON or YAML file, gzip'ed or not.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or parsed; the message has file and line.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as e:
        raise InvalidInputError(f"{path}: cannot be read: {e}", "is the file whole?") from e
    if not text.strip():
        raise InvalidInputError(f"{path}: the file is empty", "write the document again")
    try:
        if text.lstrip()[0] in "{[":
            return json.loads(text, object_pairs_hook=_each_key_once)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except json.JSONDecodeError as e:
        raise InvalidInputError(
            f"{path}:{e.lineno}:{e.colno}: not valid JSON: {e.msg}", "mend the file at that line"
        ) from e
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        kind = "JSON" if text.lstrip()[0] in "{[" else "YAML"
        raise InvalidInputError(f"{path}: not valid {kind}: {e}", "mend the file there") from e


def looks_like(data: Any) -> str | None:
    """Return the `format` of the kind of document that data is by its keys; None if of none."""
    if not isinstance(data, dict):
        return None
    said = data.get("format")
    if isinstance(said, str) and said in _TITLES:
        return said
    return next(
        (f for f, m in _MARKS.items() if all(isinstance(data.get(k), t) for k, t in m.items())),
        None,
    )


def parse(data: Any, kind: type[D], origin: str) -> D:
    """Return plain data as a document of a kind.

    Raises
    ------
    InvalidInputError
        If the data is another kind of document, of an unknown version, or invalid: the message
        names the field and the value.
    """
    expected = kind.model_fields["format"].default if "format" in kind.model_fields else None
    if not isinstance(data, dict):
        raise InvalidInputError(
            f"{origin}: expected {expected or kind.__name__}, found a {type(data).__name__}",
            "give the right file",
        )
    found = looks_like(data)
    # With all keys of its own kind, others are strays: they are named below.
    strays = expected in _TITLES and all(k in data for k in _MARKS[expected])
    if expected in _TITLES and found not in (None, expected) and not strays:
        raise InvalidInputError(
            f"{origin}: this looks like {_TITLES[found]}, {_TITLES[expected]} is expected here",
            "give the right file; are two files swapped?",
        )
    if expected and data.get("format", expected) != expected:
        raise InvalidInputError(
            f"{origin}: this is {data['format']!r}, expected {expected!r}", "give the right file"
        )
    if expected and data.get("version", 1) != 1:
        raise InvalidInputError(
            f"{origin}: version {data['version']!r} of {expected!r} is not known",
            "this release reads version 1",
        )
    try:
        return kind.model_validate(data)
    except ValidationError as e:
        problems = []
        for error in e.errors():
            where = ".".join(str(p) for p in error["loc"])
            said = error["msg"].removeprefix("Value error, ")
            got = (
                ""
                if error["type"] in ("value_error", "missing")
                else f" (got {error['input']!r:.80})"
            )
            problems.append(f"{where}: {said}{got}" if where else said)
        more = f"\n  and {len(problems) - 8} more" if len(problems) > 8 else ""
        raise InvalidInputError(
            f"{origin}: " + "\n  ".join(problems[:8]) + more, "correct the fields named"
        ) from e


def read(path: str | Path, kind: type[D]) -> D:
    """Read a document of a kind from a JSON or YAML file.

    Raises
    ------
    InvalidInputError
        As for `load` and `parse`.
    """
    return parse(load(path), kind, str(path))


def dump(document: BaseModel, yaml_style: bool = False) -> str:
    """Return a document as JSON or YAML text, without fields that hold their defaults."""
    data = document.model_dump(mode="json", exclude_defaults=True)
    head = {f: getattr(document, f) for f in ("format", "version") if hasattr(document, f)}
    data = {**head, **data}
    if yaml_style:
        # PyYAML writes NEL as it is, and readers fold it into a blank.
        plain = "\x85" not in json.dumps(data, ensure_ascii=False)
        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=plain))
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(document: BaseModel, path: str | Path) -> None:
    """Write a document: YAML if the name ends in .yaml or .yml, else JSON."""
    path = Path(path)
    write_text(dump(document, path.suffix in (".yaml", ".yml")), path)


def check_writable(path: str | Path) -> None:
    """Find out before long work whether its result can be written.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise InvalidInputError(
            f"{path}: cannot be written: is a folder", "give the name of a file"
        )
    if not os.access(path.parent, os.W_OK):
        raise InvalidInputError(
            f"{path}: cannot be written: no folder there that may be written to",
            "choose another place",
        )


def write_text(text: str | Iterable[str], path: str | Path) -> None:
    """Write a file, from one text or from parts, so that readers see it whole or not at all.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    path = Path(path)
    try:
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as f:
                f.writelines([text] if isinstance(text, str) else text)
                f.flush()
                os.fsync(f.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(part, 0o666 & ~mask)
            os.replace(part, path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be written: {e.strerror}", "choose another place"
        ) from e
