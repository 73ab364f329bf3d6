"""The terms of the objective, and its levels."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Self

from pydantic import Field

from edgeplace.model.base import Frozen
from edgeplace.model.cluster import Cluster
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.text import did_you_mean

ObjectiveName = Literal["wan", "latency", "server_cores", "moves", "throughput", "cost", "wishes"]
OBJECTIVES: tuple[ObjectiveName, ...] = (
    "wan",
    "latency",
    "server_cores",
    "moves",
    "throughput",
    "cost",
    "wishes",
)
DEFAULT_OBJECTIVE = ("wan", "latency", "server_cores", "moves")
PRESETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bytes": DEFAULT_OBJECTIVE,
        "money": ("cost", "latency", "server_cores", "moves"),
        "latency": ("latency", "wan", "server_cores", "moves"),
        "headroom": ("throughput:2%", "wan", "latency", "server_cores", "moves"),
    }
)
"""What may be asked for by one word, and the objective that it stands for."""
MONTH_S = 365.25 / 12 * 86_400
"""`cost` is that of an average month, 30.4 days."""
HOUR_S = 3600.0


class ObjectiveLevel(Frozen):
    """One level of a lexicographic objective."""

    name: ObjectiveName
    tolerance: float = Field(default=0.0, ge=0)
    """Share by which later levels may worsen this one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `wan` or `wan:5%`.

        Raises
        ------
        InvalidInputError
            If the name is unknown or the tolerance is not a percentage.
        """
        name, _, share = text.strip().partition(":")
        try:
            tolerance = float(share.removesuffix("%")) / 100 if share else 0.0
        except ValueError:
            tolerance = -1.0
        if name not in OBJECTIVES or not 0 <= tolerance < float("inf"):
            raise InvalidInputError(
                f"objective level {text!r} is not understood",
                did_you_mean(
                    # A level that is right but for its tolerance is no help.
                    "" if name in OBJECTIVES else name,
                    OBJECTIVES,
                    f"use one of {', '.join(OBJECTIVES)}, with a tolerance if you like: wan:5%",
                ),
            )
        return cls.model_validate({"name": name, "tolerance": tolerance})


def objective_levels(
    objective: Sequence[str | ObjectiveLevel], cluster: Cluster | None = None
) -> list[ObjectiveLevel]:
    """Return the levels of an objective.

    Parameters
    ----------
    cluster
        The cluster that they are for: `cost` needs its currency; None: this is not checked.

    Raises
    ------
    InvalidInputError
        If there is none, one is named twice, one is not understood, or the cluster has no currency.
    """
    levels = [v if isinstance(v, ObjectiveLevel) else ObjectiveLevel.parse(v) for v in objective]
    if not levels or len({v.name for v in levels}) < len(levels):
        raise InvalidInputError(
            f"the objective {[v.name for v in levels]} names no level, or one twice",
            "name each term once",
        )
    if cluster is not None and not cluster.currency and any(v.name == "cost" for v in levels):
        raise InvalidInputError(
            "the objective has the level 'cost', and the cluster has no currency",
            "add a currency, such as `currency: EUR`, to the cluster file, and prices to its links "
            "(price_per_byte) and nodes (price_per_core_hour); or leave 'cost' out",
        )
    return levels
