"""The cluster: sites, nodes, TaskManagers and the links between sites."""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Share, Whole
from edgeplace.model.errors import InvalidInputError, MisplacedError
from edgeplace.model.parsing.units import price_currency


class Site(Frozen):
    """A place with a local network: traffic inside it is free and not limited.

    A site may have no nodes: it is then a junction of links.
    """

    id: Id
    tier: Literal["edge", "cloud"] = "edge"
    """Nodes at `cloud` sites are the servers whose cores the `server_cores` objective counts."""


class NodeClass(Frozen):
    """A class of machines, with a speed for the estimate of costs that were never measured on
    it.
    """

    id: Id
    speed: Positive
    """Relative speed of one core. Used only to estimate the cost of an operator on a class where
    it was never seen, from a class where it was; such figures are labelled estimates."""


class TaskManager(Frozen):
    """A Flink TaskManager process on a node."""

    id: Id
    """Its resource id (`taskmanager.resource-id`) or any unique name."""
    node: Id
    slots: Whole = Field(ge=0)
    host: str = ""
    """Address that Flink knows it by (`taskmanager.host`); empty: the id."""
    memory_bytes: NonNegative | None = None
    """Memory for heap state and for the subtasks' own; None: not limited."""
    disk_bytes: NonNegative | None = None
    """Disk for RocksDB state; None: not limited."""
    gpus: Whole = Field(default=0, ge=0)
    """GPUs, or other accelerators, that its subtasks share out among them."""


_TM_FIELDS = tuple(name for name in TaskManager.model_fields if name not in ("id", "node"))


class Node(Frozen):
    """A machine."""

    beside_fields: ClassVar[tuple[str, ...]] = _TM_FIELDS
    """Fields that a node may have in a file; they belong to its TaskManager."""

    id: Id
    site: Id
    node_class: Id = "default"
    cores: Positive
    labels: dict[str, str] = {}


class Machine(Frozen):
    """What a file may state of a node or of a class of nodes; None: it does not."""

    cores: Positive | None = None
    slots: Whole | None = Field(default=None, ge=0)
    memory_bytes: NonNegative | None = None
    disk_bytes: NonNegative | None = None
    gpus: Whole | None = Field(default=None, ge=0)


class Link(Frozen):
    """A link from one site to another, in one direction unless `both_ways`."""

    source: Id
    target: Id
    bandwidth_bytes_per_s: Positive | None = None
    """None: not limited."""
    delay_ms: NonNegative = 0.0
    """One-way delay."""
    background_bytes_per_s: NonNegative = 0.0
    """Traffic of others on the link, in its direction. It reduces the bandwidth."""
    price_per_byte: NonNegative = 1.0
    """Weight of a byte on this link in the `wan` objective, in the cluster's `currency`, or in any
    unit of the user's."""
    both_ways: bool = False


def one_currency(data: Any) -> Any:
    """Return the content of a cluster, whose prices are in its own currency.

    Raises
    ------
    MisplacedError
        If a price names another currency, or one where the cluster has none.
    """
    links = data.get("links") if isinstance(data, dict) else None
    for i, link in enumerate(links if isinstance(links, list | tuple) else ()):
        price = link.get("price_per_byte") if isinstance(link, dict) else None
        named = price_currency(price) if isinstance(price, str) else None
        own = data.get("currency")
        if named is not None and named != own:
            raise MisplacedError(
                ("links", i, "price_per_byte"),
                f"a price in {named}, and the cluster's currency is {own or 'not given'}",
                f"give all prices in {own}: they are not converted"
                if own
                else f"add `currency: {named}` to the cluster",
            )
    return data


class Cluster(Frozen):
    """The places where subtasks can run, and the links between them.

    In a file, a node may have `slots`, `host`, `memory_bytes`, `disk_bytes` and `gpus`. It then
    has one TaskManager with the node's id.
    """

    format: Literal["edgeplace/cluster"] = "edgeplace/cluster"
    version: Literal[1] = 1
    sites: tuple[Site, ...] = Field(min_length=1)
    nodes: tuple[Node, ...] = ()
    task_managers: tuple[TaskManager, ...] = ()
    links: tuple[Link, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    checkpoint_storage: str | None = None
    """Site of the checkpoint storage; None: checkpoint traffic is not counted."""
    cpu_target: Share = 0.8
    """Share of a node's cores that plans may use."""
    link_target: Share = 0.8
    """Share of a link's bandwidth that plans may use."""
    buffers_per_channel: Whole = Field(default=2, ge=0)
    """`taskmanager.network.memory.buffers-per-channel`; fixed since Flink 2.0."""
    floating_buffers_per_gate: Whole = Field(default=8, ge=0)
    """`taskmanager.network.memory.floating-buffers-per-gate`; fixed since Flink 2.0."""
    buffer_bytes: Whole = Field(default=32768, ge=1)
    """`taskmanager.memory.segment-size`"""
    mtu_bytes: Whole | None = Field(default=None, ge=576)
    """Largest IP packet on the way between sites. With it, links carry headers, acknowledgements,
    credits and the messages of checkpoints too; None: records and state only."""
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")
    """What `price_per_byte` is in, by ISO 4217: plans then show what their traffic costs a month,
    and every link needs its price. None: prices are weights."""
    notes: tuple[str, ...] = ()

    _one_currency = model_validator(mode="before")(one_currency)

    @model_validator(mode="before")
    @classmethod
    def _task_managers_on_nodes(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("nodes"), list | tuple):
            return data
        listed = data.get("task_managers") or ()
        if not isinstance(listed, list | tuple):
            return data
        nodes, extra = [], []
        for node in data["nodes"]:
            if isinstance(node, dict) and "slots" in node:
                tm = {k: node[k] for k in _TM_FIELDS if k in node}
                extra.append({"id": node.get("id"), "node": node.get("id"), **tm})
                node = {k: v for k, v in node.items() if k not in _TM_FIELDS}
            nodes.append(node)
        if not extra:
            return data
        return {**data, "nodes": nodes, "task_managers": [*listed, *extra]}

    @classmethod
    def in_file(cls, data: Any, where: tuple[int | str, ...]) -> tuple[int | str, ...]:
        """Return the path of an element of the cluster in a file; a TaskManager may be at its
        node.
        """
        if where[:1] != ("task_managers",) or not isinstance(data, dict):
            return where
        carriers = [
            i for i, n in enumerate(data.get("nodes") or ()) if isinstance(n, dict) and "slots" in n
        ]
        match where[1:]:
            case (int(i), *rest) if i >= (listed := len(data.get("task_managers") or ())):
                return ("nodes", carriers[i - listed], *rest)
        return where

    @model_validator(mode="after")
    def _is_a_cluster(self) -> Self:
        sites = _unique("site", (s.id for s in self.sites))
        nodes = _unique("node", (n.id for n in self.nodes))
        _unique("TaskManager", (t.id for t in self.task_managers))
        _unique("node class", (c.id for c in self.node_classes))
        for n in self.nodes:
            if n.site not in sites:
                raise ValueError(
                    f"node {n.id!r} is at site {n.site!r}, which is not among the sites "
                    f"{sorted(sites)}"
                )
        for t in self.task_managers:
            if t.node not in nodes:
                raise ValueError(f"TaskManager {t.id!r} is on node {t.node!r}, which is not listed")
        for link in self.links:
            for end in (link.source, link.target):
                if end not in sites:
                    raise ValueError(
                        f"link {link.source!r} -> {link.target!r}: {end!r} is not among the sites "
                        f"{sorted(sites)}"
                    )
            room = (link.bandwidth_bytes_per_s or math.inf) * self.link_target
            if link.background_bytes_per_s >= room:
                raise ValueError(
                    f"link {link.source!r} -> {link.target!r}: its background traffic of "
                    f"{link.background_bytes_per_s:g} bytes/s leaves nothing of the {room:g} that "
                    "plans may use"
                )
            if link.source == link.target:
                raise ValueError(f"link {link.source!r} -> {link.target!r} leads nowhere")
            # A weight of 1 is the default; as money it would be a price that nobody pays.
            if self.currency and "price_per_byte" not in link.model_fields_set:
                raise ValueError(
                    f"link {link.source!r} -> {link.target!r} has no price_per_byte in "
                    f"{self.currency}; give 0 if its bytes cost nothing"
                )
        _unique("link", (f"{a.source} -> {a.target}" for a in self.directed_links()))
        if self.checkpoint_storage is not None and self.checkpoint_storage not in sites:
            raise ValueError(
                f"checkpoint_storage is at site {self.checkpoint_storage!r}, which is not among "
                f"the sites {sorted(sites)}"
            )
        return self

    def directed_links(self) -> Iterator[Link]:
        """Yield every link once per direction."""
        for link in self.links:
            yield link.model_copy(update={"both_ways": False}) if link.both_ways else link
            if link.both_ways:
                yield link.model_copy(
                    update={
                        "source": link.target,
                        "target": link.source,
                        "both_ways": False,
                    }
                )

    def node(self, node_id: str) -> Node:
        """Return the node with this id."""
        return next(n for n in self.nodes if n.id == node_id)

    def task_managers_at(self, place: str) -> tuple[str, ...]:
        """Return the ids of the TaskManagers at a place: a TaskManager, a node or a site.

        Raises
        ------
        InvalidInputError
            If no such place is known, or if the name means two different places.
        """
        site_of = {n.id: n.site for n in self.nodes}
        found = [
            tms
            for known, tms in (
                (
                    any(t.id == place for t in self.task_managers),
                    tuple(t.id for t in self.task_managers if t.id == place),
                ),
                (place in site_of, tuple(t.id for t in self.task_managers if t.node == place)),
                (
                    any(s.id == place for s in self.sites),
                    tuple(t.id for t in self.task_managers if site_of[t.node] == place),
                ),
            )
            if known
        ]
        if not found:
            raise InvalidInputError(
                f"the cluster has no site, node or TaskManager {place!r}",
                f"its sites are {[s.id for s in self.sites]}, its TaskManagers "
                f"{[t.id for t in self.task_managers][:12]}",
            )
        if len(set(found)) > 1:
            raise InvalidInputError(
                f"{place!r} names different places of the cluster (a site, a node or a "
                "TaskManager)",
                "give them different ids",
            )
        return found[0]

    def resolve_task_manager(self, location: str) -> str | None:
        """Return the id of the TaskManager that Flink calls `location`, or None if unknown.

        A location is a resource id, a host, or `host:port-suffix` as Flink generates it; reporters
        that replace special characters (`127_0_0_2:46001_e75116`) are understood.

        Raises
        ------
        InvalidInputError
            If several TaskManagers share the host, or ids that differ in special characters only.
        """
        if any(t.id == location for t in self.task_managers):
            return location
        plain = _plain(location)
        exact = [t.id for t in self.task_managers if _plain(t.id) == plain]
        if len(exact) == 1:
            return exact[0]
        host = plain.rpartition(":")[0]
        on_host = exact or [
            t.id for t in self.task_managers if _plain(t.host or t.id) in (plain, host)
        ]
        if len(on_host) > 1:
            raise InvalidInputError(
                f"location {location!r} matches {len(on_host)} TaskManagers: {on_host}",
                "set taskmanager.resource-id on each and use it as the TaskManager's id",
            )
        return on_host[0] if on_host else None


def _plain(location: str) -> str:
    return "".join(c if c.isalnum() or c == ":" else "_" for c in location)


def _unique(kind: str, ids: Iterator[str]) -> set[str]:
    seen: set[str] = set()
    for i in ids:
        if i in seen:
            raise ValueError(f"two of kind {kind} have the id {i!r}; make ids unique")
        seen.add(i)
    return seen
