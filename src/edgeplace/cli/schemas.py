"""JSON Schemas of the documents, for editors."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from edgeplace.control.rehearsal import Rehearsal
from edgeplace.control.settings import ControlSettings
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Cluster,
    Costs,
    JobGraph,
    Plan,
    Project,
    Rules,
    ShortCluster,
    TaskManager,
    quantity_pattern,
    write_text,
)

DOCUMENTS: dict[str, type[BaseModel]] = {
    "cluster": Cluster,
    "control": ControlSettings,
    "costs": Costs,
    "instance": Instance,
    "job": JobGraph,
    "plan": Plan,
    "project": Project,
    "rehearsal": Rehearsal,
    "rules": Rules,
}
"""Name of the file, without its suffix -> kind of document."""
_NAMED_BY_OWNER = {"OperatorCost": ("operator",), "StreamCost": ("source", "target")}
"""Fields that a cost inside a job may omit, because its operator or stream states them."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of document, with the description of each field."""
    kind = DOCUMENTS[name]
    found = kind.model_json_schema()
    if kind is Cluster:
        _with_short_form(found)
    classes = {c.__name__: c for c in _models(BaseModel)}
    parts = {kind.__name__: found, **found.get("$defs", {})}
    for title, part in parts.items():
        docs = _field_docs(classes[title]) if title in classes else {}
        for field, described in part.get("properties", {}).items():
            described.pop("title", None)
            if field in docs:
                described["description"] = docs[field]
            if texts := quantity_pattern(field):
                _also_as_text(described, texts)
    if "Node" in parts:
        # A node with `slots` has one TaskManager of its name.
        own = parts["TaskManager"]["properties"]
        short = {f: own[f] for f in TaskManager.model_fields if f not in ("id", "node")}
        parts["Node"]["properties"] = {**short, **parts["Node"]["properties"]}
    if "JobGraph" in parts:
        for title, fields in _NAMED_BY_OWNER.items():
            needed = [f for f in parts[title].pop("required", ()) if f not in fields]
            parts[title] |= {"required": needed} if needed else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "title": f"edgeplace {name}",
    }


def _with_short_form(cluster: dict[str, Any]) -> None:
    """Let a cluster file be in the short form, of which the long form is a part."""
    short = ShortCluster.model_json_schema()
    parts = ("templates", "node_classes", "sites", "nodes")
    cluster["properties"] |= {part: short["properties"][part] for part in parts}
    cluster["$defs"] = {
        name: part
        for name, part in {**cluster["$defs"], **short["$defs"]}.items()
        if name not in ("Site", "Node", "NodeClass")
    }


def _also_as_text(described: dict[str, Any], texts: str) -> None:
    """Let each number of a field be a text with a unit, too."""
    for key in ("items", "additionalProperties"):
        if isinstance(described.get(key), dict):
            _also_as_text(described[key], texts)
    for other in described.get("anyOf", ()):
        _also_as_text(other, texts)
    if described.get("type") in ("number", "integer"):
        alone = {
            k: described.pop(k) for k in list(described) if k not in ("default", "description")
        }
        described["anyOf"] = [alone, {"type": "string", "pattern": texts}]


def write_schemas(folder: Path) -> None:
    """Write a schema for each kind of document.

    Raises
    ------
    InvalidInputError
        If a file cannot be written.
    """
    for name in DOCUMENTS:
        write_text(json.dumps(schema(name), indent=1) + "\n", folder / f"{name}.json")


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("edgeplace."):
            yield kind
        yield from _models(kind)


def _field_docs(kind: type[BaseModel]) -> dict[str, str]:
    """Return field -> its docstring, the string below it."""
    found = {}
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("edgeplace."):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(definition, ast.ClassDef)  # noqa: S101 - the source of a class
        for field, below in pairwise(definition.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[field.target.id] = " ".join(str(below.value.value).split())
    return found
