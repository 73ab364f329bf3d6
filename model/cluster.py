"""The cluster: sites, nodes, TaskManagers and the links between sites."""

import math
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Share, Whole
from edgeplace.model.errors import InvalidInputError, MisplacedError
from edgeplace.model.parsing.units import currency_code, price_currency
from edgeplace.model.text import RateUnit, did_you_mean

_Code = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Position(Frozen):
    """Where a site is on the earth (WGS 84), for the map of a report; no plan depends on it."""

    lat: float | None = Field(default=None, ge=-90, le=90)
    """Latitude in degrees, north is positive; None: not known."""
    lon: float | None = Field(default=None, ge=-180, le=180)
    """Longitude in degrees, east is positive."""

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if (self.lat is None) != (self.lon is None):
            raise ValueError("lat and lon belong together: give both, or neither")
        return self


class _Named(Frozen):
    id: Id


Tier = Literal["edge", "regional", "cloud"]
"""What a site is: where data is born, a hub between such sites and the cloud, or the cloud. Nodes
at `cloud` sites are the servers whose cores the `server_cores` objective counts. `regional` and
`cloud` sites may serve the data of all sites, see `OwnData`."""
TIERS: tuple[str, ...] = get_args(Tier)


# The id comes first where a site is written.
class Site(Position, _Named):
    """A place with a local network: traffic inside it is free and not limited.

    A site may have no nodes: it is then a junction of links.
    """

    tier: Tier = "edge"


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
_IN_BITS = re.compile("bit|bps")
_PRICE = "price_per_"
"""How the names of fields begin that are prices."""


class Node(Frozen):
    """A machine."""

    beside_fields: ClassVar[tuple[str, ...]] = _TM_FIELDS
    """Fields that a node may have in a file; they belong to its TaskManager."""

    id: Id
    site: Id
    node_class: Id = "default"
    cores: Positive
    price_per_core_hour: NonNegative = 0.0
    """Of a core that is busy for an hour, in the cluster's `currency`: part of the `cost`
    objective."""
    price_per_node_hour: NonNegative = 0.0
    """Of an hour of the node, if any subtask runs on it: part of the `cost` objective."""
    labels: dict[str, str] = {}

    @property
    def labels_and_class(self) -> dict[str, str]:
        """The labels, and `node_class` unless one of them has this name."""
        return {"node_class": self.node_class, **self.labels}


class Machine(Frozen):
    """What a file may state of a node or of a class of nodes; None: it does not."""

    cores: Positive | None = None
    price_per_core_hour: NonNegative | None = None
    price_per_node_hour: NonNegative | None = None
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
    included_bytes: NonNegative = 0.0
    """Bytes a month that cost nothing in the `cost` objective. Two opposite links that both have it
    share it, as both ways of a link do. The `wan` objective does not know it."""
    both_ways: bool = False


def _written_prices(
    data: Mapping[str, Any], where: tuple[int | str, ...] = ()
) -> Iterator[tuple[tuple[int | str, ...], str, str]]:
    """Yield path, field and text of each price of a file that is a text."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _written_prices(value, (*where, key))
        elif isinstance(value, list | tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, dict):
                    yield from _written_prices(entry, (*where, key, i))
        elif isinstance(value, str) and isinstance(key, str) and key.startswith(_PRICE):
            yield (*where, key), key, value


def one_currency(data: Any) -> Any:
    """Return the content of a cluster, whose prices are in its own currency.

    Raises
    ------
    MisplacedError
        If a price names another currency, or one where the cluster has none.
    """
    if not isinstance(data, dict):
        return data
    own = data.get("currency")
    try:
        currency_code(own)
    except PydanticCustomError:
        return data  # The field says so itself.
    for where, field, price in _written_prices(data):
        named = price_currency(price, field)
        if named is not None and named != own:
            raise MisplacedError(
                where,
                f"a price in {named}, and the cluster's currency is {own or 'not given'}",
                f"give all prices in {own}: they are not converted"
                if own
                else f"add `currency: {named}` to the file of the links",
            )
    return data


def rates_as_written(data: Any) -> Any:
    """Return the content of a cluster, which says if its bandwidths are written in bits."""
    if not isinstance(data, dict) or "rates_in" in data or not isinstance(data.get("links"), list):
        return data
    given = (a.get("bandwidth_bytes_per_s") for a in data["links"] if isinstance(a, dict))
    in_bits = any(isinstance(text, str) and _IN_BITS.search(text) for text in given)
    return {**data, "rates_in": RateUnit.BITS} if in_bits else data


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
    currency: Annotated[_Code | None, BeforeValidator(currency_code)] = None
    """What all prices are in, by ISO 4217: plans then show what they cost a month, and every link
    needs its price. None: the `price_per_byte` of links are weights."""
    rates_in: RateUnit = RateUnit.BYTES
    """What output writes the traffic of links in. In a file, by default as its bandwidths are
    written: `10 Mbit/s` is answered in Mbit/s, `1250000` and `1.25 MB/s` in MB/s."""
    notes: tuple[str, ...] = ()

    _one_currency = model_validator(mode="before")(one_currency)
    _rates_as_written = model_validator(mode="before")(rates_as_written)

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
        self._check_money()
        if self.checkpoint_storage is not None and self.checkpoint_storage not in sites:
            raise ValueError(
                f"checkpoint_storage is at site {self.checkpoint_storage!r}, which is not among "
                f"the sites {sorted(sites)}"
            )
        return self

    def _check_money(self) -> None:
        """Check that money has a currency, and that links that share a volume have one price."""
        priced = next(
            (n for n in self.nodes if n.price_per_core_hour or n.price_per_node_hour), None
        )
        with_volume = {(a.source, a.target): a for a in self.directed_links() if a.included_bytes}
        if self.currency is None and (priced or with_volume):
            where = (
                f"node {priced.id!r} has a price"
                if priced
                else "link {!r} -> {!r} has included_bytes".format(*next(iter(with_volume)))
            )
            raise ValueError(
                f"{where}, and the cluster has no currency; add one, such as `currency: EUR`"
            )
        for (a, b), link in with_volume.items():
            back = with_volume.get((b, a))
            if back and (link.included_bytes, link.price_per_byte) != (
                back.included_bytes,
                back.price_per_byte,
            ):
                raise ValueError(
                    f"links {a!r} -> {b!r} and {b!r} -> {a!r} share their included_bytes: give "
                    "both the same included_bytes and price_per_byte, or included_bytes to one"
                )

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
                did_you_mean(
                    place,
                    (p.id for of in (self.sites, self.nodes, self.task_managers) for p in of),
                    f"its sites are {[s.id for s in self.sites]}, its TaskManagers "
                    f"{[t.id for t in self.task_managers][:12]}",
                ),
            )
        if len(set(found)) > 1:
            raise InvalidInputError(
                f"{place!r} names different places of the cluster (a site, a node or a "
                "TaskManager)",
                "give them different ids",
            )
        return found[0]

    def places_like(self, pattern: str) -> tuple[str, tuple[str, ...]]:
        """Return the places that a pattern with `*` stands for, and their kind: `sites`, ...

        These are the sites that fit; if there are none, the nodes, and then the TaskManagers.

        Raises
        ------
        InvalidInputError
            If no place fits.
        """
        for kind, places in (
            ("sites", self.sites),
            ("nodes", self.nodes),
            ("TaskManagers", self.task_managers),
        ):
            fitting = tuple(p.id for p in places if fnmatchcase(p.id, pattern))
            if fitting:
                return kind, fitting
        raise InvalidInputError(
            f"{pattern!r} fits no site, node or TaskManager of the cluster", "correct the pattern"
        )

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
