"""Names and units of the terms of the objective, of traffic and of limits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from edgeplace.cli.quantities import count, exact, milliseconds, with_unit
from edgeplace.model import (
    MONTH_S,
    Cluster,
    Evaluation,
    Limit,
    LimitKind,
    ObjectiveName,
    RateUnit,
    all_digits,
    with_prefix,
)

_NAMES: dict[ObjectiveName, str] = {
    "wan": "WAN traffic",
    "latency": "the worst path",
    "server_cores": "server cores",
    "moves": "moves",
    "throughput": "utilisation",
    "cost": "cost",
    "wishes": "broken wishes",
}
_TITLES: dict[ObjectiveName, str] = {**_NAMES, "wan": "WAN", "latency": "worst path"}
_WEIGHTED = "weighted WAN cost"
_COST = "WAN cost"
_WITH_PREFIX = ("bytes", RateUnit.BYTES)
_NOTHING_INCLUDED = "WAN cost, nothing included"
_SERVER_CORES = "server cores: of tier cloud"


def at_demand(found: Evaluation, supposed: bool = False) -> str:
    """Return what demand the figures of a plan are for, as the end of a title.

    Parameters
    ----------
    supposed
        Whether the demand may be another one than stated.
    """
    if supposed:
        return "over the day, with --set" if found.periods else "with --set"
    return "over the day" if found.periods else "at the stated demand"


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
    regional: bool = False
    """Whether there are regional sites: server cores are those of the cloud alone."""
    rates: RateUnit = RateUnit.BYTES
    """What traffic is in."""

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """Return the words for a cluster."""
        priced = any(link.price_per_byte != 1 for link in cluster.links)
        return cls(
            priced or cluster.currency is not None,
            cluster.currency,
            any(link.included_bytes for link in cluster.links),
            any(n.price_per_core_hour or n.price_per_node_hour for n in cluster.nodes),
            any(s.tier == "regional" for s in cluster.sites),
            cluster.rates_in,
        )

    @classmethod
    def of_plan(cls, found: Evaluation) -> Self:
        """Return the words as far as the figures of a plan tell them, without its cluster."""
        priced = found.currency is not None or found.wan_cost != found.wan_bytes_per_s
        return cls(priced, found.currency, rates=found.rates_in)

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

    def value(
        self, objective: ObjectiveName, value: float, number: Callable[[float], str] = count
    ) -> str:
        """Return a term in its unit."""
        if objective == "wan" and self.priced:
            return (
                f"{number(value * MONTH_S)} {self.money}" if self.currency else f"{number(value)}/s"
            )
        if objective == "wan":
            return self.rates.text(value, number)
        if objective == "cost":
            return f"{number(value)} {self.money}"
        if objective == "latency":
            return milliseconds(value) if number is count or value < 0 else f"{number(value)} ms"
        return number(value)

    def exactly(self, objective: ObjectiveName, value: float) -> str:
        """Return a term in its unit, with six digits: a value beside its bound."""
        return self.value(objective, value, exact)

    def rate(self, bytes_per_s: float | None) -> str:
        """Return traffic as text, `-` for None."""
        return "-" if bytes_per_s is None else self.rates.text(bytes_per_s)

    def limit(self, found: Limit) -> str:
        """Return an exceeded limit, in numbers."""
        if found.kind is LimitKind.RULE:
            return f"rule “{found.where}”"
        return f"{found.kind} {found.where} {' of '.join(self.use(found))}"

    def use(self, found: Limit) -> tuple[str, str]:
        """Return how much of a limit is used, and how much there is.

        Both have three digits, or more where it is exceeded by less than these can tell.
        """
        room = found.capacity or 0.0
        for number in (count, exact, all_digits):
            texts = self._of_limit(found, found.used, number), self._of_limit(found, room, number)
            if not found.shortfall or texts[0] != texts[1]:
                break
        used, of = texts
        return used, with_unit(of, found.unit) if found.unit not in _WITH_PREFIX else of

    def _of_limit(self, found: Limit, value: float, number: Callable[[float], str]) -> str:
        if found.unit == RateUnit.BYTES:
            return self.rates.text(value, number)
        return with_prefix(value, "B", number) if found.unit == "bytes" else number(value)

    def cost(self, found: Evaluation) -> str:
        """Return what a plan costs a month, without its unit."""
        return count(found.cost_per_month)

    @property
    def money(self) -> str:
        """The unit of prices."""
        return f"{self.currency}/month"

    def explanation(self) -> str:
        """Return the meaning of the terms that their names do not tell; it may be empty."""
        said = (self._meaning_of_cost(), _SERVER_CORES if self.regional else "")
        return "; ".join(text for text in said if text)

    def _meaning_of_cost(self) -> str:
        if not self.priced:
            return ""
        if not self.currency:
            return f"{self._priced_name}: bytes per second on each link, times its price_per_byte"
        links = "bytes in 30.4 days times price_per_byte"
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
