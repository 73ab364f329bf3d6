"""Rules: requirements of users that costs do not express."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from edgeplace.model.base import Frozen, Id, NonNegative, Whole

Level = Literal["site", "node", "task_manager"]
Operators = Annotated[tuple[Id, ...], Field(min_length=1)]


class Rule(Frozen):
    """The base of all rules: the operators concerned, by id or unique name."""

    operators: Operators
    job: str = ""
    """Name of the job; needed only if several jobs are placed together."""

    @model_serializer(mode="wrap")
    def _with_kind(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The kind is always written, although it is a default, because readers distinguish rules
        # by it.
        return {"kind": getattr(self, "kind", "rule"), **rest(self)}

    def title(self) -> str:
        """Return the rule in a few words."""
        return f"{getattr(self, 'kind', 'rule')} {', '.join(self.operators)}"


class Pin(Rule):
    """Subtasks run at a place."""

    kind: Literal["pin"] = "pin"
    subtasks: tuple[Annotated[Whole, Field(ge=0)], ...] = ()
    """Indices from 0; empty: all."""
    to: Id
    """A site, node or TaskManager."""

    def title(self) -> str:
        """Return the rule in a few words."""
        which = f" subtasks {list(self.subtasks)}" if self.subtasks else ""
        return f"pin {', '.join(self.operators)}{which} to {self.to}"


class Match(Rule):
    """Subtasks run on nodes that carry all these labels."""

    kind: Literal["match"] = "match"
    labels: Annotated[dict[str, str], Field(min_length=1)]

    def title(self) -> str:
        """Return the rule in a few words."""
        return f"match {', '.join(self.operators)} to labels {self.labels}"


class Colocate(Rule):
    """Subtask i of each operator runs together with subtask i of the others."""

    kind: Literal["colocate"] = "colocate"
    level: Level = "node"


class Exlocate(Rule):
    """No two subtasks of these operators run together."""

    kind: Literal["exlocate"] = "exlocate"
    level: Level = "node"


class AtMost(Rule):
    """At most `count` subtasks of these operators run together."""

    kind: Literal["at_most"] = "at_most"
    count: Whole = Field(ge=0)
    level: Level = "node"


class StayOnSite(Rule):
    """The input of these operators does not leave the site where it is produced."""

    kind: Literal["stay_on_site"] = "stay_on_site"


class Exclusive(Rule):
    """Nothing else runs where subtasks of these operators run."""

    kind: Literal["exclusive"] = "exclusive"
    level: Level = "node"


class NeverMove(Rule):
    """Subtasks stay where they run now; needs a current placement."""

    kind: Literal["never_move"] = "never_move"


AnyRule = Annotated[
    Pin | Match | Colocate | Exlocate | AtMost | StayOnSite | Exclusive | NeverMove,
    Field(discriminator="kind"),
]


class Rules(Frozen):
    """A list of rules, and limits on the plan as a whole."""

    format: Literal["edgeplace/rules"] = "edgeplace/rules"
    version: Literal[1] = 1
    rules: tuple[AnyRule, ...] = ()
    max_latency_ms: NonNegative | None = None
    """Limit on the worst source-to-sink path."""
    max_moves: Whole | None = Field(default=None, ge=0)
    """Limit on subtasks that leave their current TaskManager; needs a current placement."""
