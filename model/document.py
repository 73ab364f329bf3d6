"""Reading and writing the documents: JSON or YAML, versioned, validated."""

import json
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from edgeplace.model.cluster import Cluster
from edgeplace.model.errors import InvalidInputError, InvalidRuleError, MisplacedError, Mistake
from edgeplace.model.inventory.ansible import cluster_of_ansible, cluster_of_ini, is_ansible
from edgeplace.model.inventory.kubernetes import cluster_of_kubernetes, is_kubernetes
from edgeplace.model.inventory.short_form import (
    ShortCluster,
    is_short,
    written_out,
)
from edgeplace.model.inventory.table import cluster_of_table
from edgeplace.model.output import write_text
from edgeplace.model.parsing.complaint import complaint, mistake_at, placed, shown
from edgeplace.model.parsing.content import text_of
from edgeplace.model.parsing.yaml_text import load_yaml
from edgeplace.model.rules import Rules

D = TypeVar("D", bound=BaseModel)

_TITLES = {
    "edgeplace/cluster": "a cluster file",
    "edgeplace/control": "a control file",
    "edgeplace/costs": "a costs file",
    "edgeplace/instance": "an instance",
    "edgeplace/job-graph": "a job file",
    "edgeplace/plan": "a plan",
    "edgeplace/project": "a project file",
    "edgeplace/rehearsal": "a schedule of a rehearsal",
    "edgeplace/rules": "a rules file",
}
_MARKS: dict[str, dict[str, type]] = {
    "edgeplace/cluster": {"sites": list},
    "edgeplace/control": {"jobmanager": str, "job": str},
    "edgeplace/costs": {"job": str, "operators": list},
    "edgeplace/instance": {"jobs": list, "cluster": dict},
    "edgeplace/job-graph": {"name": str, "operators": list},
    "edgeplace/plan": {"jobs": dict},
    "edgeplace/project": {"jobs": list, "cluster": str},
    "edgeplace/rehearsal": {"events": list},
    "edgeplace/rules": {"rules": list},
}
"""Keys that identify each kind of document, by `format`, because files written by hand may omit
it.
"""
_INI_NAMES = ("hosts", "inventory")
"""How Ansible's inventories in INI are called if not *.ini."""


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [k for k, _ in pairs]
        twice = next(k for k in keys if keys.count(k) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return found


def load(path: str | Path) -> Any:
    """Return the plain content of a JSON or YAML file, gzip'ed or not, or of an inventory.

    An inventory is a table (CSV), one of Ansible's (YAML, INI), or what `kubectl get nodes,pods -o
    json` says: its content is that of a cluster file.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or parsed; the message has file and line.
    """
    text = text_of(path)
    if not text.strip():
        raise InvalidInputError(f"{path}: the file is empty", "give a file with a document in it")
    if Path(path).suffix.lower() == ".csv":
        return cluster_of_table(text, str(path))
    if Path(path).suffix.lower() == ".ini" or Path(path).name in _INI_NAMES:
        return cluster_of_ini(text, str(path))
    data = _parsed(text, path)
    if is_kubernetes(data):
        return cluster_of_kubernetes(data, str(path))
    return cluster_of_ansible(data, str(path)) if is_ansible(data) else data


def _parsed(text: str, path: str | Path) -> Any:
    """Return the plain content of JSON or YAML."""
    is_json = text.lstrip()[0] in "{["
    try:
        return json.loads(text, object_pairs_hook=_each_key_once) if is_json else load_yaml(text)
    except json.JSONDecodeError as e:
        cure = "correct the file at that line"
        raise InvalidInputError(
            f"{path}:{e.lineno}:{e.colno}: not valid JSON: {e.msg}",
            cure,
            [Mistake(f"not valid JSON: {e.msg}", cure, e.lineno)],
        ) from e
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        kind = "JSON" if is_json else "YAML"
        said = str(e).replace('in "<unicode string>", ', "at ")
        mark = getattr(e, "problem_mark", None)
        cure = "correct the file there"
        raise InvalidInputError(
            f"{path}: not valid {kind}: {said}",
            cure,
            [Mistake(f"not valid {kind}: {said}", cure, mark.line + 1 if mark else None)],
        ) from e


def looks_like(data: Any) -> str | None:
    """Return the `format` of the kind of document that the keys of data indicate; None if
    unknown.
    """
    if not isinstance(data, dict):
        return None
    said = data.get("format")
    if isinstance(said, str) and said in _TITLES:
        return said
    return next(
        (f for f, m in _MARKS.items() if all(isinstance(data.get(k), t) for k, t in m.items())),
        None,
    )


def parse(data: Any, kind: type[D], origin: str, file: str | Path | None = None) -> D:
    """Return plain data as a document of a kind.

    Parameters
    ----------
    origin
        Name of the data in messages.
    file
        The file of the data; the messages then name lines.

    Raises
    ------
    InvalidInputError
        If the data is another kind of document, of an unknown version, or invalid: the message
        names the field and the value.
    """
    expected = kind.model_fields["format"].default if "format" in kind.model_fields else None
    if not isinstance(data, dict):
        raise InvalidInputError(
            f"{origin}: expected {_TITLES.get(str(expected), kind.__name__)}, found {_plain(data)}",
            "give the right file; a document is a mapping, `name: value` in YAML",
        )
    found = looks_like(data)
    # If the data has all keys of its own kind, other keys are unknown fields, which are named
    # below.
    strays = expected in _TITLES and all(k in data for k in _MARKS[expected])
    if expected in _TITLES and found not in (None, expected) and not strays:
        raise InvalidInputError(
            f"{origin}: this looks like {_TITLES[found]}, {_TITLES[expected]} is expected here",
            "give the right file; are two files swapped?",
        )
    if expected and data.get("format", expected) != expected:
        raise InvalidInputError(
            f"{origin}: this is {shown(data['format'])}, expected {expected!r}",
            f"give the right file: {_TITLES.get(expected, expected)}",
        )
    if expected and data.get("version", 1) != 1:
        raise InvalidInputError(
            f"{origin}: version {shown(data['version'])} of {expected!r} is not known",
            "this release reads version 1",
        )
    read_as: type[BaseModel] = kind
    as_written = data
    try:
        if kind is Cluster and is_short(data):
            read_as = ShortCluster
            data = written_out(data, ShortCluster.model_validate(data))
            read_as = kind
        return kind.model_validate(data)
    except ValidationError as e:
        what, cure, mistakes = complaint(e, read_as, data, file)
        raise InvalidInputError(f"{origin}: {what}", cure, mistakes) from e
    except MisplacedError as e:
        where = placed(as_written, e.where, file)
        mistake = mistake_at(as_written, e.where, file, e.what, e.cure)
        raise InvalidInputError(f"{origin}: {where}: {e.what}", e.cure, [mistake]) from e


def _plain(data: Any) -> str:
    kinds = {list: "a list", str: "a text", int: "a number", float: "a number"}
    return f"{kinds.get(type(data), 'nothing of the kind')}: {shown(data)}"


def read(path: str | Path, kind: type[D]) -> D:
    """Read a document of a kind from a JSON or YAML file.

    Raises
    ------
    InvalidInputError
        As for `load` and `parse`.
    """
    return parse(load(path), kind, str(path), path)


def dump(document: BaseModel, yaml_style: bool = False) -> str:
    """Return a document as JSON or YAML text, without fields that have their defaults."""
    data = document.model_dump(mode="json", exclude_defaults=True)
    head = {f: getattr(document, f) for f in ("format", "version") if hasattr(document, f)}
    data = {**head, **data}
    if yaml_style:
        # PyYAML writes NEL unescaped, and readers turn it into a blank.
        plain = "\x85" not in json.dumps(data, ensure_ascii=False)
        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=plain))
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(document: BaseModel, path: str | Path) -> None:
    """Write a document: YAML if the name ends in .yaml or .yml, else JSON."""
    path = Path(path)
    write_text(dump(document, path.suffix in (".yaml", ".yml")), path)


def with_line(error: InvalidInputError, file: str | None) -> InvalidInputError:
    """Return an error with file and line before it, if it is of what rules in the file say."""
    if not isinstance(error, InvalidRuleError) or file is None:
        return error
    rules = read(file, Rules)
    entries = {
        (name, i): entry
        for name in ("rules", "wishes", "jobs")
        for i, entry in enumerate(getattr(rules, name))
    }
    named = (error.rule,) if isinstance(error.rule, str) else None
    where = next((at for at, entry in entries.items() if entry == error.rule), named)
    if where is None:
        return error
    line = mistake_at(load(file), where, file, "", "").line
    place = f"{file}:{line}" if line else file
    return InvalidInputError(f"{place}: {error.what}", error.cure)
