"""The terms of the objective, and its levels."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from edgeplace.model.base import Frozen
from edgeplace.model.errors import InvalidInputError

ObjectiveName = Literal["wan", "latency", "server_cores", "moves", "throughput"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("wan", "latency", "server_cores", "moves", "throughput")
DEFAULT_OBJECTIVE = ("wan", "latency", "server_cores", "moves")


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
                f"use one of {', '.join(OBJECTIVES)}, with a tolerance if you like: wan:5%",
            )
        return cls.model_validate({"name": name, "tolerance": tolerance})


def objective_levels(objective: Sequence[str | ObjectiveLevel]) -> list[ObjectiveLevel]:
    """Return the levels of an objective.

    Raises
    ------
    InvalidInputError
        If there is none, one is named twice, or one is not understood.
    """
    levels = [v if isinstance(v, ObjectiveLevel) else ObjectiveLevel.parse(v) for v in objective]
    if not levels or len({v.name for v in levels}) < len(levels):
        raise InvalidInputError(
            f"the objective {[v.name for v in levels]} names no level, or one twice",
            "name each term once",
        )
    return levels
