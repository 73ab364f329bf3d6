"""The short form of a cluster file: what is alike is written once.

`written_out` returns the long form, which has every site, node and link.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field, model_validator

from edgeplace.model.base import Frozen, Id, Positive, Whole
from edgeplace.model.cluster import (
    Link,
    Machine,
    Node,
    Position,
    TaskManager,
    Tier,
    one_currency,
    rates_as_written,
)
from edgeplace.model.errors import MisplacedError, Where
from edgeplace.model.text import did_you_mean, some

MOST_SITES = 100_000
"""Most sites, nodes or links that a short file may stand for."""
Count = Field(default=None, ge=1, le=MOST_SITES)


class MachineClass(Machine):
    """A class of machines, with what its nodes have unless they say otherwise."""

    id: Id
    speed: Positive | None = None


class NodeGroup(Machine):
    """One node, or `count` alike ones whose id has a `*` for the number."""

    id: Id
    count: Whole | None = Count
    node_class: Id = "default"
    host: str | None = None
    labels: dict[str, str] = {}


class ListedNode(NodeGroup):
    """A node that names its site."""

    site: Id


class Template(Frozen):
    """What sites have in common."""

    tier: Tier | None = None
    nodes: tuple[NodeGroup, ...] | None = None
    """Their ids follow the site's: `pi-*` of `depot-07` is `depot-07-pi-1`, ..."""


class SiteException(Template, Position):
    """What some sites of a group have instead."""

    id: Id
    """A site of the group, or a pattern of such."""
    template: Id | None = None


class SiteGroup(SiteException):
    """One site, or `count` alike ones whose id has a `*` for the number."""

    count: Whole | None = Count
    first: Whole = Field(default=1, ge=0, le=MOST_SITES)
    """Number of the first site of the group."""
    exceptions: tuple[SiteException, ...] = ()


class ShortCluster(Frozen):
    """The parts of a cluster file that may be written in short."""

    # The other parts are the cluster's own.
    model_config = ConfigDict(extra="ignore")

    templates: dict[Id, Template] = {}
    node_classes: tuple[MachineClass, ...] = ()
    sites: tuple[SiteGroup, ...] = Field(min_length=1)
    nodes: tuple[ListedNode, ...] = ()
    task_managers: tuple[TaskManager, ...] = ()
    links: tuple[Link, ...] = ()

    _one_currency = model_validator(mode="before")(one_currency)


_SHORT_FIELDS = {
    "sites": ("count", "first", "template", "nodes", "exceptions"),
    "nodes": ("count",),
    "node_classes": tuple(Machine.model_fields),
}
_PATTERNS = {"sites": ("id",), "nodes": ("id", "site"), "links": ("source", "target")}


def is_short(data: Mapping[str, Any]) -> bool:
    """Return whether the content of a cluster file is in the short form."""
    return "templates" in data or any(
        any(field in entry for field in _SHORT_FIELDS.get(key, ()))
        or any("*" in str(entry.get(field, "")) for field in _PATTERNS.get(key, ()))
        for key in {**_SHORT_FIELDS, **_PATTERNS}
        if isinstance(data.get(key), list | tuple)
        for entry in data[key]
        if isinstance(entry, dict)
    )


def written_out(data: Mapping[str, Any], short: ShortCluster) -> dict[str, Any]:
    """Return the content of a cluster file in the long form.

    Parameters
    ----------
    data
        The content of the file.
    short
        The same, validated.

    Raises
    ------
    MisplacedError
        If a name is unknown or given twice, a pattern matches nothing, or a node has no cores.
    """
    sites = _sites(short)
    nodes = list(_nodes(short, sites))
    _each_once("node", ((found.node["id"], found.where) for found in nodes))
    links = list(_links(short.links, [site.id for site in sites]))
    classes = [{"id": c.id, "speed": c.speed} for c in short.node_classes if c.speed is not None]
    rest = {key: value for key, value in rates_as_written(data).items() if key != "templates"}
    return rest | {
        "sites": [{"id": s.id, "tier": s.tier, **s.position} for s in sites],
        "nodes": [found.node for found in nodes],
        "links": [link.model_dump(exclude_unset=True) for link in links],
        "node_classes": classes,
    }


class _Site(NamedTuple):
    id: str
    tier: Tier
    position: dict[str, float]
    nodes: tuple[NodeGroup, ...]
    nodes_at: Where
    where: Where


class _Node(NamedTuple):
    node: dict[str, Any]
    where: Where


def _sites(short: ShortCluster) -> list[_Site]:
    last: dict[str, int] = {}
    for group in short.sites:
        last[group.id] = max(last.get(group.id, 0), group.first + (group.count or 1) - 1)
    found: list[_Site] = []
    for i, group in enumerate(short.sites):
        where: Where = ("sites", i)
        names = _numbered(group.id, group.count, group.first, len(str(last[group.id])), where)
        for j, other in enumerate(group.exceptions):
            _matching(other.id, names, (*where, "exceptions", j, "id"), "site of this group")
        for name in names:
            found.append(_site(name, group, where, short.templates))
            _at_most(len(found), where)
    _each_once("site", ((site.id, site.where) for site in found))
    return found


def _site(name: str, group: SiteGroup, where: Where, templates: Mapping[str, Template]) -> _Site:
    """Return a site: the group's template, then the group itself, then each exception in turn."""
    tier: Tier = "edge"
    position: dict[str, float] = {}
    nodes: tuple[NodeGroup, ...] = ()
    nodes_at = where
    layers: list[tuple[Template, Where]] = [(group, where)]
    layers += [
        (other, (*where, "exceptions", j))
        for j, other in enumerate(group.exceptions)
        if fnmatchcase(name, other.id)
    ]
    for layer, at in layers:
        own: list[tuple[Template, Where]] = [(layer, at)]
        if isinstance(layer, SiteException):
            position |= layer.model_dump(include=set(Position.model_fields), exclude_none=True)
        wanted = layer.template if isinstance(layer, SiteException) else None
        if wanted is not None:
            if wanted not in templates:
                raise MisplacedError(
                    (*at, "template"),
                    f"there is no template {wanted!r}",
                    did_you_mean(wanted, templates),
                )
            own.insert(0, (templates[wanted], ("templates", wanted)))
        for part, there in own:
            tier = part.tier or tier
            if part.nodes is not None:
                nodes, nodes_at = part.nodes, (*there, "nodes")
    return _Site(name, tier, position, nodes, nodes_at, where)


def _nodes(short: ShortCluster, sites: Sequence[_Site]) -> Iterator[_Node]:
    classes = {c.id: c for c in short.node_classes}
    _each_once(
        "node class", ((c.id, ("node_classes", i)) for i, c in enumerate(short.node_classes))
    )
    listed = {tm.node for tm in short.task_managers}
    wanted: list[tuple[str, str, NodeGroup, Where]] = [
        (site.id, f"{site.id}-{node.id}", node, (*site.nodes_at, k))
        for site in sites
        for k, node in enumerate(site.nodes)
    ]
    known = [site.id for site in sites]
    for k, listed_node in enumerate(short.nodes):
        at: Where = ("nodes", k)
        of_each = "*" in listed_node.site
        for name in _matching(listed_node.site, known, (*at, "site"), "site"):
            own = f"{name}-{listed_node.id}" if of_each else listed_node.id
            wanted.append((name, own, listed_node, at))
    made = 0
    for site_id, pattern, node, at in wanted:
        names = _numbered(pattern, node.count, 1, len(str(node.count or 1)), at)
        made += len(names)
        _at_most(made, at)
        for name in names:
            yield _Node(_node(name, site_id, node, classes, at, name in listed), at)


def _node(
    name: str,
    site: str,
    node: NodeGroup,
    classes: Mapping[str, MachineClass],
    where: Where,
    has_task_managers: bool,
) -> dict[str, Any]:
    own = classes.get(node.node_class)
    fields: dict[str, Any] = {"id": name, "site": site, "node_class": node.node_class}
    for field in Machine.model_fields:
        value = getattr(node, field)
        of_node = field in Node.model_fields
        if value is None and own is not None and (of_node or not has_task_managers):
            value = getattr(own, field)
        if value is not None:
            fields[field] = value
    if "cores" not in fields:
        raise MisplacedError(
            where,
            f"node {name!r} has no cores, and neither has its node class {node.node_class!r}",
            "add 'cores' to the node, or to its class under node_classes",
        )
    if node.host is not None:
        fields["host"] = node.host
    if "slots" not in fields and (alone := set(fields) & set(TaskManager.model_fields) - {"id"}):
        raise MisplacedError(
            where,
            f"node {name!r} has {some(sorted(alone))} but no slots",
            "give the node or its class slots, too",
        )
    return fields | ({"labels": node.labels} if node.labels else {})


def _links(links: Sequence[Link], sites: Sequence[str]) -> Iterator[Link]:
    """Yield the links between sites. One that names both ends replaces that of a pattern."""
    named: set[tuple[str, str]] = set()
    for link in links:
        if "*" not in link.source + link.target:
            named |= {(link.source, link.target)}
            named |= {(link.target, link.source)} if link.both_ways else set()
    made = 0
    for i, link in enumerate(links):
        sources, targets = (
            _matching(getattr(link, end), sites, ("links", i, end), "site")
            for end in ("source", "target")
        )
        if "*" not in link.source + link.target:
            yield link
            continue
        done = set(named)
        for pair in product(sources, targets):
            ways = [pair, pair[::-1]] if link.both_ways else [pair]
            left = [way for way in ways if way not in done and way[0] != way[1]]
            if not left:
                continue
            done |= set(left)
            made += 1
            _at_most(made, ("links", i))
            (source, target), both = left[0], len(left) == 2
            yield link.model_copy(update={"source": source, "target": target, "both_ways": both})


def _numbered(pattern: str, count: int | None, first: int, width: int, where: Where) -> list[str]:
    if count is None and "*" not in pattern:
        return [pattern]
    if pattern.count("*") != 1 or count is None:
        raise MisplacedError(
            where,
            f"the id {pattern!r} with count {count}"
            if count is not None
            else f"the id {pattern!r} has a * but no count",
            "write one * for the number, and a count: {id: depot-*, count: 40}",
        )
    return [pattern.replace("*", f"{n:0{width}}") for n in range(first, first + count)]


def _matching(pattern: str, names: Sequence[str], where: Where, kind: str) -> list[str]:
    found = [name for name in names if fnmatchcase(name, pattern)] if "*" in pattern else []
    if not found and pattern in names:
        found = [pattern]
    if not found:
        raise MisplacedError(where, f"there is no {kind} {pattern!r}", did_you_mean(pattern, names))
    return found


def _each_once(kind: str, named: Iterable[tuple[str, Where]]) -> None:
    seen: set[str] = set()
    for name, where in named:
        if name in seen:
            raise MisplacedError(
                where, f"there are two of kind {kind} with the id {name!r}", "make ids unique"
            )
        seen.add(name)


def _at_most(made: int, where: Where) -> None:
    if made > MOST_SITES:
        raise MisplacedError(
            where, f"this makes more than {MOST_SITES:,} entries", "lower the count"
        )
