"""A cluster from an Ansible inventory, in YAML or INI."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product
from typing import Any, NoReturn

from edgeplace.model.cluster import Link, Machine, Position
from edgeplace.model.errors import InvalidInputError, Mistake
from edgeplace.model.inventory.short_form import MOST_SITES
from edgeplace.model.parsing.units import price_currency
from edgeplace.model.text import some

PREFIX = "edgeplace_"
"""How the variables begin that are read; all others are Ansible's own business."""
_SITES, _CLASSES, _ALL = "sites", "node_classes", "all"
"""Groups whose children are sites, and classes of nodes; the group that all are in."""
_OF_HOST = ("site", "node_class", *Machine.model_fields)
_SAID_OF_SITE = ("tier", *Position.model_fields)
_OF_SITE = (*_SAID_OF_SITE, "to", *(f for f in Link.model_fields if f not in ("source", "target")))
_OF_CLASS = ("speed",)
_OF_CLUSTER = ("checkpoint_storage", "mtu_bytes", "cpu_target", "link_target")
_KNOWN = [*dict.fromkeys((*_OF_HOST, *_OF_SITE, *_OF_CLASS, *_OF_CLUSTER))]
_PARTS = ("hosts", "children", "vars")
_RANGE = re.compile(r"\[([0-9]+|[a-zA-Z]):([0-9]+|[a-zA-Z])(?::([0-9]+))?\]")
_SECTION = re.compile(r"\[([^\]:]+)(?::(children|vars))?\]")

Variables = dict[str, Any]


@dataclass
class _Group:
    hosts: dict[str, Variables] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    variables: Variables = field(default_factory=dict)


def is_ansible(data: Any) -> bool:
    """Return whether the content of a YAML file is an inventory: groups, by their names."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(isinstance(body, dict | None) for body in data.values())
        and any(
            body and set(body) <= set(_PARTS) and not isinstance(body.get("hosts"), str | list)
            for body in data.values()
        )
    )


def cluster_of_ansible(data: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the content of a cluster file, from an inventory in YAML.

    The children of the group `sites` are the sites, and those of `node_classes` the classes. What
    a node is made of stands in variables that begin with `edgeplace_`.

    Parameters
    ----------
    path
        The file, for messages.

    Raises
    ------
    InvalidInputError
        If groups contain each other, a host is at no site or at several, or a variable is unknown
        or contradicts another one.
    """
    groups: dict[str, _Group] = {}
    for name, body in data.items():
        _add(str(name), body, groups, path)
    return _cluster(groups, path)


def cluster_of_ini(text: str, path: str) -> dict[str, Any]:
    """Return the content of a cluster file, from an inventory in INI; see `cluster_of_ansible`.

    Raises
    ------
    InvalidInputError
        As for `cluster_of_ansible`, and if a line is no line of an inventory.
    """
    groups: dict[str, _Group] = {}
    group, part = groups.setdefault("ungrouped", _Group()), "hosts"
    for number, line in enumerate(text.splitlines(), 1):
        try:
            # A value may have blanks: edgeplace_memory_bytes="3 GB".
            words = shlex.split(line, comments=True)
        except ValueError as e:
            _refuse(f"{path}:{number}", f"the line cannot be read: {e}", "close the quotes")
        if not words or line.lstrip().startswith(";"):
            continue
        if line.lstrip().startswith("["):
            section = _SECTION.fullmatch(words[0]) if len(words) == 1 else None
            if section is None:
                what = f"{line.strip()!r} is no section"
                _refuse(f"{path}:{number}", what, "write [group], [group:children] or [group:vars]")
            group = groups.setdefault(section[1], _Group())
            part = section[2] or "hosts"
        elif part == "children":
            group.children.append(words[0])
        elif part == "vars":
            key, found, value = line.partition("=")
            if not found:
                _refuse(f"{path}:{number}", f"{line.strip()!r} sets nothing", "write name=value")
            group.variables[key.strip()] = " ".join(shlex.split(value, comments=True))
        else:
            given = dict(word.partition("=")[::2] for word in words[1:])
            for host in _in_range(words[0], f"{path}:{number}"):
                group.hosts.setdefault(host, {}).update(given)
    for child in [name for each in groups.values() for name in each.children]:
        groups.setdefault(child, _Group())
    return _cluster(groups, path)


def _add(name: str, body: Any, groups: dict[str, _Group], path: str) -> None:
    """Add a group of a YAML file, and those inside it."""
    group = groups.setdefault(name, _Group())
    for part in body or {}:
        if part not in _PARTS:
            what, cure = f"group {name!r} has {part!r}", f"a group has {', '.join(_PARTS)}"
            _refuse(path, what, cure)
        if not isinstance(body[part], dict | None):
            what = f"{part} of group {name!r} is no mapping"
            _refuse(path, what, "write each name with a colon behind it")
    for pattern, given in ((body or {}).get("hosts") or {}).items():
        for host in _in_range(str(pattern), path):
            group.hosts.setdefault(host, {}).update(given or {})
    group.variables |= (body or {}).get("vars") or {}
    for child, inner in ((body or {}).get("children") or {}).items():
        group.children.append(str(child))
        _add(str(child), inner, groups, path)


def _cluster(groups: dict[str, _Group], path: str) -> dict[str, Any]:
    every = groups.setdefault(_ALL, _Group())
    above = {child for group in groups.values() for child in group.children}
    every.children += [name for name in groups if name not in above and name != _ALL]
    chains = _Chains(groups, path)
    sites_of = chains.kinds_of(_SITES)
    classes_of = chains.kinds_of(_CLASSES)
    hosts = dict.fromkeys(h for group in groups.values() for h in group.hosts)
    if not hosts:
        _refuse(path, "the inventory has no hosts", "give hosts in groups under `sites`")
    sites: dict[str, Variables] = {}
    for name in groups[_SITES].children if _SITES in groups else ():
        sites[name] = _only(chains.of_group(name), _OF_SITE)
    nodes = []
    for host in hosts:
        known = chains.of_host(host)
        site = _one("site", host, known.pop("site", None), sites_of.get(host, []), path)
        node_class = _one(
            "class", host, known.pop("node_class", None), classes_of.get(host, []), path
        )
        of_site = _only(known, _OF_SITE)
        for key, value in of_site.items():
            if sites.setdefault(site, {}).setdefault(key, value) != value:
                what = f"host {host!r} says {PREFIX}{key}: {value!r} of site {site!r}, and another "
                _refuse(path, f"{what}one says {sites[site][key]!r}", "say it once, in its group")
        sites.setdefault(site, {})
        address = chains.plain_of_host(host).get("ansible_host")
        nodes.append(
            {"id": host, "site": site, **({"node_class": node_class} if node_class else {})}
            | _only(known, tuple(Machine.model_fields))
            | ({"host": str(address)} if address and "slots" in known else {})
        )
        if "cores" not in known:
            what = f"host {host!r} has no {PREFIX}cores"
            _refuse(path, what, "set it for the host, its class or its site")
    return _content(sites, nodes, groups, chains)


def _content(
    sites: Mapping[str, Variables],
    nodes: list[Variables],
    groups: Mapping[str, _Group],
    chains: "_Chains",
) -> dict[str, Any]:
    speeds = {
        name: chains.of_group(name).get("speed")
        for name in (groups[_CLASSES].children if _CLASSES in groups else ())
    }
    links = [
        {"source": name, "target": said["to"], "both_ways": True}
        | {k: v for k, v in said.items() if k in Link.model_fields}
        for name, said in sites.items()
        if said.get("to", name) != name  # What all sites have, their hub has, too.
    ]
    prices = (price_currency(str(v), k) for said in (*links, *nodes) for k, v in said.items())
    currencies = list(filter(None, prices))
    return {
        **({"currency": currencies[0]} if currencies else {}),
        "sites": [{"id": name, **_only(said, _SAID_OF_SITE)} for name, said in sites.items()],
        "node_classes": [{"id": c, "speed": speed} for c, speed in speeds.items() if speed],
        "nodes": nodes,
        "links": links,
        **_only(chains.of_group(_ALL), _OF_CLUSTER),
    }


class _Chains:
    """The groups that a group or a host is in, and the variables that it has from them."""

    def __init__(self, groups: Mapping[str, _Group], path: str) -> None:
        self._groups = groups
        self._path = path
        self._parents: dict[str, list[str]] = {name: [] for name in groups}
        for name, group in groups.items():
            for child in dict.fromkeys(group.children):
                self._parents[child].append(name)
        self._depths: dict[str, int] = {}
        for name in groups:
            self._depth(name, ())

    def of_group(self, name: str) -> Variables:
        """Return our variables of a group, without their prefix."""
        return self._own(self._merged([name]), f"group {name!r}")

    def of_host(self, host: str) -> Variables:
        """Return our variables of a host, without their prefix."""
        return self._own(self.plain_of_host(host), f"host {host!r}")

    def plain_of_host(self, host: str) -> Variables:
        """Return all variables of a host: those of a group go before those of the group above."""
        own = [name for name, group in self._groups.items() if host in group.hosts]
        merged = self._merged(own)
        for name in own:
            merged |= self._groups[name].hosts[host]
        return merged

    def kinds_of(self, parent: str) -> dict[str, list[str]]:
        """Return host -> the children of a group that it is in, below these too."""
        found: dict[str, list[str]] = {}
        for name, group in self._groups.items():
            kinds = [g for g in self._above([name]) if parent in self._parents[g]]
            for host in group.hosts:
                known = found.setdefault(host, [])
                known += [kind for kind in kinds if kind not in known]
        return found

    def _merged(self, names: list[str]) -> Variables:
        merged: Variables = {}
        for name in sorted(self._above(names), key=lambda name: (self._depths[name], name)):
            merged |= self._groups[name].variables
        return merged

    def _above(self, names: list[str]) -> set[str]:
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self._parents[name]
        return found

    def _depth(self, name: str, below: tuple[str, ...]) -> int:
        if name in below:
            way = " -> ".join((*below[below.index(name) :], name))
            what = f"groups are in each other in a circle, upwards: {way}"
            _refuse(self._path, what, "take one out of the other's children")
        if name not in self._depths:
            above = [self._depth(parent, (*below, name)) for parent in self._parents[name]]
            self._depths[name] = 1 + max(above, default=-1)
        return self._depths[name]

    def _own(self, variables: Variables, whose: str) -> Variables:
        found = {}
        for name, value in variables.items():
            if not name.startswith(PREFIX):
                continue
            key = name.removeprefix(PREFIX)
            if key not in _KNOWN:
                near = get_close_matches(key, _KNOWN, 1, 0.5)
                cure = f"did you mean {PREFIX}{near[0]}?" if near else f"known: {', '.join(_KNOWN)}"
                _refuse(self._path, f"{whose} has the variable {name}, which is not known", cure)
            found[key] = value
        return found


def _one(kind: str, host: str, stated: Any, groups: list[str], path: str) -> str:
    """Return the only site or class of a host; "": it has no class."""
    fit = list(dict.fromkeys([*([str(stated)] if stated is not None else []), *groups]))
    parent = _SITES if kind == "site" else _CLASSES
    if len(fit) > 1:
        what = f"host {host!r} is of the {kind}{'es' if kind == 'class' else 's'} {some(fit)}"
        _refuse(path, what, f"leave it in one group under `{parent}`")
    if not fit and kind == "site":
        what = f"host {host!r} is in no group under `{_SITES}`"
        _refuse(path, what, f"add it there, or set {PREFIX}site")
    return fit[0] if fit else ""


def _only(variables: Mapping[str, Any], names: tuple[str, ...]) -> Variables:
    return {name: variables[name] for name in names if name in variables}


def _in_range(pattern: str, where: str) -> Iterator[str]:
    """Yield the hosts of `pi-[01:40]` or `pi-[a:c]`."""
    parts: list[list[str]] = []
    end = 0
    size = 1
    for hit in _RANGE.finditer(pattern):
        first, last, step = hit[1], hit[2], int(hit[3] or 1)
        if first.isdigit() != last.isdigit() or step < 1:
            _refuse(where, f"{pattern!r} is no range", "write [01:40] or [a:f]")
        if first.isdigit():
            names = [f"{n:0{len(first)}}" for n in range(int(first), int(last) + 1, step)]
        else:
            names = [chr(n) for n in range(ord(first), ord(last) + 1, step)]
        size *= len(names)
        if not 0 < size <= MOST_SITES:
            what = f"{pattern!r} stands for {size:,} hosts"
            _refuse(where, what, f"give 1 to {MOST_SITES:,}")
        parts += [[pattern[end : hit.start()]], names]
        end = hit.end()
    return map("".join, product(*parts, [pattern[end:]]))


def _refuse(where: str, what: str, cure: str) -> NoReturn:
    line = where.rpartition(":")[2]
    at = int(line) if line.isdigit() else None
    raise InvalidInputError(f"{where}: {what}", cure, [Mistake(what, cure, at)])
