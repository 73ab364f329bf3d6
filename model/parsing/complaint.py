"""Errors in a document: what is wrong, where, and what to write instead."""

import difflib
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from edgeplace.model.errors import Mistake, Where
from edgeplace.model.parsing.content import text_of
from edgeplace.model.parsing.units import Dimension, dimension, how_to_write
from edgeplace.model.parsing.yaml_text import compose_yaml

_MOST = 8
_LONGEST_TEXT = 4_000_000
"""Largest file whose lines are looked up, in characters."""
_TEXT_NEEDED = "string_type"
_CURES = {
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "dict_type": "write it as a mapping, {name: value}",
    "enum": "write one of those",
    "finite_number": "write a finite number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "greater_than": "write a number in that range",
    "greater_than_equal": "write a number in that range",
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number",
    "int_parsing_size": "write a number in that range",
    "int_type": "write a whole number",
    "less_than": "write a number in that range",
    "less_than_equal": "write a number in that range",
    "literal_error": "write one of those",
    "model_type": "write it as a mapping, {name: value}",
    "no_number": "write a number",
    "string_too_short": "write a name of one character or more",
    "string_type": "write a text",
    "too_short": "write one entry or more",
    "tuple_type": "write it as a list, [a, b]",
    "union_tag_invalid": "write one of those kinds",
    "union_tag_not_found": "write its kind, as in {kind: pin, ...}",
}


def complaint(
    error: ValidationError, kind: type[BaseModel], data: Any, file: str | Path | None = None
) -> tuple[str, str, tuple[Mistake, ...]]:
    """Return what is wrong, the cure, and each mistake alone.

    Parameters
    ----------
    kind
        The expected kind of document.
    data
        The validated data.
    file
        The file of the data, for line numbers; None: the data are from no file.
    """
    tree = _tree(file)
    said_of_all, mistakes = [], []
    errors = error.errors()
    misspelt = _misspelt(kind, errors)
    all_found = [
        e
        for e in errors
        if not _only_follows(e, errors) and not (e["type"] == "missing" and e["loc"] in misspelt)
    ]
    for found in all_found[:_MOST]:
        where = _in_file(kind, data, found["loc"])
        line, written = _look_up(tree, where)
        said, cure = _said(kind, found, where, written)
        if line is None and tree is not None and found["type"] == "value_error":
            line = _line_of_named(tree, said)
        place, named = _place(data, where, line), _place(data, where, None)
        said_of_all.append(f"{place}: {said}" if place else said)
        mistakes.append(Mistake(f"{named}: {said}" if named else said, cure, line))
    more = len(all_found) - _MOST
    rest = f"\n  and {more} more" if more > 0 else ""
    cures = list(dict.fromkeys(m.cure for m in mistakes))
    return "\n  ".join(said_of_all) + rest, "; ".join(cures[:3]), tuple(mistakes)


def placed(data: Any, where: Where, file: str | Path | None = None) -> str:
    """Return where an element of the data is, for a message; with its line, if a file is given."""
    return _place(data, where, _look_up(_tree(file), where)[0])


def mistake_at(data: Any, where: Where, file: str | Path | None, what: str, cure: str) -> Mistake:
    """Return a mistake at an element of the data."""
    place = _place(data, where, None)
    line = _look_up(_tree(file), where)[0]
    return Mistake(f"{place}: {what}" if place else what, cure, line)


def _place(data: Any, where: Where, line: int | None) -> str:
    named = ".".join(map(str, where))
    beside = ", ".join([*_entry(data, where), *([f"line {line}"] if line else [])])
    return f"{named} ({beside})" if named and beside else named or beside


def _only_follows(found: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a list is too short only because its entries are wrong."""
    loc = found["loc"]
    return found["type"] == "too_short" and any(
        len(e["loc"]) > len(loc) and e["loc"][: len(loc)] == loc for e in errors
    )


def _misspelt(kind: type[BaseModel], errors: Sequence[Mapping[str, Any]]) -> set[Where]:
    """Return where fields are missing that stand there under a name much like theirs."""
    unknown = [e["loc"] for e in errors if e["type"] == "extra_forbidden"]
    near = ((loc, _nearest(str(loc[-1]), _fields(kind, loc))) for loc in unknown)
    return {(*loc[:-1], name) for loc, name in near if name is not None}


def _fields(kind: type[BaseModel], loc: Where) -> list[str]:
    """Return the fields that may stand beside the one at a location."""
    return sorted({name for model in _models(kind, loc[:-1]) for name in _names(model)})


def shown(value: Any, most: int = 80) -> str:
    """Return a value as text for a message, cut if it is long."""
    try:
        text = f"{value!r:.{most}}"
    except (RecursionError, ValueError):
        # Nested too deep, or a number of too many digits.
        return f"a {type(value).__name__}"
    return text


def _said(
    kind: type[BaseModel], found: Mapping[str, Any], where: Where, written: str | None
) -> tuple[str, str]:
    """Return what is wrong with a field, and the cure."""
    name, value = found["type"], found["input"]
    if name == "value_error":
        message = found["msg"].removeprefix("Value error, ")
        return message, "correct what is named there, or add what it refers to"
    field = str(where[-1]) if where else ""
    if name == "missing":
        return "Field required", f"add {field!r} there"
    if name == "extra_forbidden":
        return _unknown_field(kind, found["loc"], field, value)
    context = found.get("ctx", {})
    said = found["msg"] if "secret" in context else f"{found['msg']} (got {shown(value)})"
    if "cure" in context:
        return said, context["cure"]
    if name in ("float_parsing", "int_parsing") and (measured := _dimension_at(where)):
        return said, how_to_write(measured)
    if name == _TEXT_NEEDED and not isinstance(value, dict | list | tuple) and value is not None:
        text = written if written is not None else str(value)
        return said, f'put it in quotes: "{text}"'
    if name == "tuple_type" and isinstance(value, str | int | float):
        return said, _list_of(kind, found["loc"], value, written)
    if name in ("enum", "literal_error") and isinstance(value, str):
        allowed = [
            w.strip().strip("'") for w in found["ctx"]["expected"].replace(" or ", ",").split(",")
        ]
        near = _nearest(value, allowed)
        if near:
            return said, f"did you mean {near!r}?"
    return said, _CURES.get(name, "correct it")


def _dimension_at(where: Where) -> Dimension | None:
    field = next((part for part in reversed(where) if isinstance(part, str)), "")
    return dimension(field)


def _list_of(kind: type[BaseModel], loc: Where, value: Any, written: str | None) -> str:
    """Return how to write one value where a list belongs, and what else is wrong with it."""
    for model in _models(kind, loc[:-1]):
        field = model.model_fields.get(str(loc[-1]))
        if field is None or field.annotation is None:
            continue
        try:
            TypeAdapter(field.annotation).validate_python([value])
        except ValidationError as error:
            inner = (_CURES.get(e["type"], "correct it") for e in error.errors())
            return "; ".join(dict.fromkeys([_CURES["tuple_type"], *inner]))
        return f"write it as a list: [{written if written is not None else value}]"
    return _CURES["tuple_type"]


def _unknown_field(kind: type[BaseModel], loc: Where, field: str, value: Any) -> tuple[str, str]:
    known = _fields(kind, loc)
    if field in known:
        return f"it goes with slots (got {shown(value)})", "give this node its slots, too"
    near = _nearest(field, known)
    said = f"there is no field of this name here (got {shown(value)})"
    if near:
        return said, f"did you mean {near!r}?"
    listed = f"; the fields here are {', '.join(known)}" if known else ""
    return said, f"leave {field!r} out{listed}"


def _nearest(word: str, known: Sequence[str]) -> str | None:
    plain = {k.lower().replace("_", ""): k for k in known}
    near = difflib.get_close_matches(word.lower().replace("_", ""), list(plain), 1, 0.6)
    return plain[near[0]] if near else None


def _names(model: type[BaseModel]) -> Iterator[str]:
    yield from model.model_fields
    yield from getattr(model, "beside_fields", ())


def _models(kind: type[BaseModel], loc: Where) -> list[type[BaseModel]]:
    """Return the models that a value at a location may have."""
    models = [kind]
    for part in loc:
        if isinstance(part, int):
            continue
        inner = [
            m
            for model in models
            if part in model.model_fields
            for m in _models_in(model.model_fields[part].annotation)
        ]
        # A part that is not a field is the tag of a union.
        tagged = [
            m
            for m in models
            if (tag := m.model_fields.get("kind")) is not None and tag.default == part
        ]
        models = inner or tagged or models
    return models


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _in_file(kind: type[BaseModel], data: Any, loc: Where) -> Where:
    """Return a location as it is in the file."""
    in_file = getattr(kind, "in_file", None)
    where: Where = in_file(data, loc) if in_file else loc
    known: list[int | str] = []
    at = data
    for i, part in enumerate(where):
        below = _below(at, part)
        if below is _NOTHING and i < len(where) - 1:
            # The tag of a union is not part of the file's structure.
            continue
        known.append(part)
        at = at if below is _NOTHING else below
    return tuple(known)


def _entry(data: Any, where: Where) -> list[str]:
    """Return the name of the innermost list entry around a location."""
    named: list[str] = []
    at = data
    for part in where:
        at = _below(at, part)
        if not (isinstance(at, dict) and isinstance(part, int)):
            continue
        key = next((k for k in ("id", "name", "operator", "kind") if k in at), None)
        if key is not None and where[-1] != key:
            named = [f"{key} {shown(at[key])}"]
        elif {"source", "target"} <= set(at):
            named = [f"{shown(at['source'])} -> {shown(at['target'])}"]
    return named


_NOTHING = object()


def _below(at: Any, part: int | str) -> Any:
    """Return the element at a key or an index of plain data, or `_NOTHING`."""
    if isinstance(at, dict):
        return at.get(part, _NOTHING)
    if isinstance(at, list | tuple) and isinstance(part, int) and part < len(at):
        return at[part]
    return _NOTHING


def _tree(file: str | Path | None) -> yaml.Node | None:
    if file is None:
        return None
    text = text_of(file)
    return compose_yaml(text) if len(text) <= _LONGEST_TEXT else None


def _look_up(tree: yaml.Node | None, where: Where) -> tuple[int | None, str | None]:
    """Return the line of a location, or of its nearest parent, and the text of a plain value
    there.
    """
    at, line, exact = tree, None, True
    for part in where:
        below: yaml.Node | None = None
        if isinstance(at, yaml.MappingNode):
            hits = ((k, v) for k, v in at.value if k.value == part)
            key, below = next(hits, (None, None))
            line = key.start_mark.line + 1 if key else line
        elif isinstance(at, yaml.SequenceNode) and isinstance(part, int) and part < len(at.value):
            below = at.value[part]
            line = below.start_mark.line + 1
        if below is None:
            exact = False
            break
        at = below
    scalar = exact and isinstance(at, yaml.ScalarNode)
    return line, at.value if scalar and at else None


def _line_of_named(tree: yaml.Node, said: str) -> int | None:
    """Return the line of the entry that a message about a whole document names.

    Such a message quotes what it speaks of: the entry is the last one of which most quoted texts
    are values. Texts in brackets are what there is instead, and so is what follows a semicolon.
    """
    spoken_of = re.sub(r"\[.*\]", "", said.partition(";")[0])
    quoted = set(re.findall(r"'([^']+)'", spoken_of))
    best, line = 0, None
    left, done = deque([tree]), set()
    while left:
        at = left.popleft()
        if id(at) in done:
            continue
        done.add(id(at))
        if isinstance(at, yaml.SequenceNode):
            left += at.value
        elif isinstance(at, yaml.MappingNode):
            left += [value for _, value in at.value]
            values = {v.value for _, v in at.value if isinstance(v, yaml.ScalarNode)}
            if at is not tree and (hits := len(values & quoted)) and hits >= best:
                best, line = hits, at.start_mark.line + 1
    return line
