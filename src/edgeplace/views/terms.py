"""Names and units of the terms of the objective."""

from dataclasses import dataclass
from typing import Self

from edgeplace.cli.quantities import count, milliseconds, size
from edgeplace.model import Cluster, ObjectiveName

_NAMES: dict[ObjectiveName, str] = {
    "wan": "WAN traffic",
    "latency": "the worst path",
    "server_cores": "server cores",
    "moves": "moves",
    "throughput": "utilisation",
}
_TITLES: dict[ObjectiveName, str] = {**_NAMES, "wan": "WAN", "latency": "worst path"}
_WEIGHTED = "weighted WAN cost"
_COST = "WAN cost"
_MONTH_S = 365.25 / 12 * 86_400


@dataclass(frozen=True)
class Terms:
    """The names and units for one cluster. With prices, the WAN term is not in bytes."""

    priced: bool = False
    """Whether a byte of some link has a price other than 1, or prices are money."""
    currency: str | None = None
    """Of these prices; None: they are weights."""

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """Return the words for a cluster."""
        priced = any(link.price_per_byte != 1 for link in cluster.links)
        return cls(priced or cluster.currency is not None, cluster.currency)

    def name(self, objective: ObjectiveName) -> str:
        """Return the name of a term in a sentence."""
        return self._priced_name if self.priced and objective == "wan" else _NAMES[objective]

    def title(self, objective: ObjectiveName) -> str:
        """Return the name of a term above a column."""
        return self._priced_name if self.priced and objective == "wan" else _TITLES[objective]

    def value(self, objective: ObjectiveName, value: float) -> str:
        """Return a term in its unit."""
        if objective == "wan" and self.priced:
            return f"{self.price(value)} {self.money}" if self.currency else f"{count(value)}/s"
        if objective == "wan":
            return size(value, "/s")
        return milliseconds(value) if objective == "latency" else count(value)

    def price(self, value: float) -> str:
        """Return the WAN term, which is in money, without its unit."""
        return count(value * _MONTH_S)

    @property
    def money(self) -> str:
        """The unit of prices."""
        return f"{self.currency}/month"

    def explanation(self) -> str:
        """Return the meaning of the WAN term if it is not in bytes; else an empty text."""
        if not self.priced:
            return ""
        if self.currency:
            return f"{self._priced_name}: bytes on each link in 30.4 days, times its price_per_byte"
        return f"{self._priced_name}: bytes per second on each link, times its price_per_byte"

    @property
    def _priced_name(self) -> str:
        return _COST if self.currency else _WEIGHTED
