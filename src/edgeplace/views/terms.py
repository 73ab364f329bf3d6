"""Names and units of the terms of the objective."""

from dataclasses import dataclass
from typing import Self

from edgeplace.cli.quantities import count, milliseconds, size
from edgeplace.model import MONTH_S, Cluster, Evaluation, ObjectiveName

_NAMES: dict[ObjectiveName, str] = {
    "wan": "WAN traffic",
    "latency": "the worst path",
    "server_cores": "server cores",
    "moves": "moves",
    "throughput": "utilisation",
    "cost": "cost",
}
_TITLES: dict[ObjectiveName, str] = {**_NAMES, "wan": "WAN", "latency": "worst path"}
_WEIGHTED = "weighted WAN cost"
_COST = "WAN cost"
_NOTHING_INCLUDED = "WAN cost, nothing included"


@dataclass(frozen=True)
class Terms:
    """The names and units for one cluster. With prices, the WAN term is not in bytes."""

    priced: bool = False
    """Whether a byte of some link has a price other than 1, or prices are money."""
    currency: str | None = None
    """Of these prices; None: they are weights."""
    volumes: bool = False
    """Whether links have bytes that cost nothing: `cost` knows it, the WAN term does not."""
    machines: bool = False
    """Whether cores or nodes have a price."""

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """Return the words for a cluster."""
        priced = any(link.price_per_byte != 1 for link in cluster.links)
        return cls(
            priced or cluster.currency is not None,
            cluster.currency,
            any(link.included_bytes for link in cluster.links),
            any(n.price_per_core_hour or n.price_per_node_hour for n in cluster.nodes),
        )

    @property
    def traffic(self) -> ObjectiveName:
        """The term that says what a plan costs: `cost` if more than each byte has a price."""
        return "cost" if self.volumes or self.machines else "wan"

    def name(self, objective: ObjectiveName) -> str:
        """Return the name of a term in a sentence."""
        return self._priced_name if self.priced and objective == "wan" else _NAMES[objective]

    def title(self, objective: ObjectiveName) -> str:
        """Return the name of a term above a column."""
        return self._priced_name if self.priced and objective == "wan" else _TITLES[objective]

    def value(self, objective: ObjectiveName, value: float) -> str:
        """Return a term in its unit."""
        if objective == "wan" and self.priced:
            return (
                f"{count(value * MONTH_S)} {self.money}" if self.currency else f"{count(value)}/s"
            )
        if objective == "wan":
            return size(value, "/s")
        if objective == "cost":
            return f"{count(value)} {self.money}"
        return milliseconds(value) if objective == "latency" else count(value)

    def cost(self, found: Evaluation) -> str:
        """Return what a plan costs a month, without its unit."""
        return count(found.cost_per_month)

    @property
    def money(self) -> str:
        """The unit of prices."""
        return f"{self.currency}/month"

    def explanation(self) -> str:
        """Return the meaning of the terms that are not in bytes; else an empty text."""
        if not self.priced:
            return ""
        if not self.currency:
            return f"{self._priced_name}: bytes per second on each link, times its price_per_byte"
        links = "bytes on each link in 30.4 days, times its price_per_byte"
        if self.traffic == "wan":
            return f"{_COST}: {links}"
        links += ", beyond its included_bytes" if self.volumes else ""
        machines = ", and busy cores and nodes in use, by the hour" if self.machines else ""
        return f"cost: {links}{machines}; {self._priced_name}: the links alone"

    @property
    def _priced_name(self) -> str:
        if not self.currency:
            return _WEIGHTED
        return _NOTHING_INCLUDED if self.volumes else _COST
