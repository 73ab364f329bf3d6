"""Rules: requirements of users that costs do not express."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Whole
from edgeplace.model.errors import InvalidInputError

Level = Literal["site", "node", "task_manager"]
ANY_SITE = "any"
"""In `survive`: all sites."""
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
    """A site, node or TaskManager, or a pattern of such, as `depot-*`: any place that fits."""

    def title(self) -> str:
        """Return the rule in a few words."""
        which = f" subtasks {list(self.subtasks)}" if self.subtasks else ""
        return f"pin {', '.join(self.operators)}{which} to {self.to}"


class Match(Rule):
    """Subtasks run on nodes that carry all these labels."""

    kind: Literal["match"] = "match"
    labels: Annotated[dict[str, str], Field(min_length=1)]
    """The class of a node is one of them: `node_class: pi5`."""

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


class OwnData(Rule):
    """Edge sites serve their own data only.

    A subtask of these operators runs at an edge site only if all of its data is born there: every
    source subtask before it may run at this site alone. Sites of tier `regional` or `cloud` are
    open to all.
    """

    kind: Literal["own_data"] = "own_data"
    open_sites: tuple[Id, ...] = ()
    """Edge sites that serve others, too: their ids, or patterns such as `region-*`."""

    def title(self) -> str:
        """Return the rule in a few words."""
        but = f" but for {', '.join(self.open_sites)}" if self.open_sites else ""
        return f"own_data {', '.join(self.operators)}{but}"


class Exclusive(Rule):
    """Nothing else runs where subtasks of these operators run."""

    kind: Literal["exclusive"] = "exclusive"
    level: Level = "node"


class NeverMove(Rule):
    """Subtasks stay where they run now; needs a current placement."""

    kind: Literal["never_move"] = "never_move"


AnyRule = Annotated[
    Pin | Match | Colocate | Exlocate | AtMost | StayOnSite | OwnData | Exclusive | NeverMove,
    Field(discriminator="kind"),
]


class SpreadEvenly(Rule):
    """No place has more subtasks of these operators together than is fair. A wish only.

    Fair is their number over that of the places with slots, rounded up.
    """

    kind: Literal["spread"] = "spread"
    level: Level = "node"

    def title(self) -> str:
        """Return the rule in a few words."""
        return f"spread {', '.join(self.operators)} over {self.level.replace('_m', 'M')}s"


class Wish(Frozen):
    """A rule that a plan may break. Each subtask that breaks it costs its weight."""

    weight: Whole = Field(default=1, ge=1, le=100)
    """1 to 100, as of `preferredDuringScheduling` in Kubernetes: only ratios matter."""


class WishedPin(Wish, Pin):
    """Subtasks run at a place if nothing that matters more speaks against it."""


class WishedMatch(Wish, Match):
    """Subtasks run on nodes with labels if nothing that matters more speaks against it."""


class WishedColocate(Wish, Colocate):
    """Subtasks i run together if nothing that matters more speaks against it."""


class WishedExlocate(Wish, Exlocate):
    """Subtasks run apart if nothing that matters more speaks against it."""


class WishedAtMost(Wish, AtMost):
    """Few subtasks run together if nothing that matters more speaks against it."""


class WishedStayOnSite(Wish, StayOnSite):
    """Input stays on its site if nothing that matters more speaks against it."""


class WishedSpread(Wish, SpreadEvenly):
    """Subtasks are spread evenly if nothing that matters more speaks against it."""


AnyWish = Annotated[
    WishedPin
    | WishedMatch
    | WishedColocate
    | WishedExlocate
    | WishedAtMost
    | WishedStayOnSite
    | WishedSpread,
    Field(discriminator="kind"),
]


class JobRequirements(Frozen):
    """What one job requires, beside the limits on the plan as a whole."""

    job: Id
    """Name of the job."""
    max_latency_ms: NonNegative | None = None
    """Limit on the worst source-to-sink path of the job."""
    max_moves: Whole | None = Field(default=None, ge=0)
    """Limit on subtasks of the job that leave their current TaskManager."""
    priority: Whole = 0
    """Who runs if not all jobs fit: the job with the highest number comes first. 0 if none is
    stated; only `edgeplace solve` looks at it."""

    @model_validator(mode="after")
    def _states_one(self) -> Self:
        if self.model_fields_set <= {"job"}:
            raise PydanticCustomError(
                "requirements",
                "nothing is required of job {job}",
                {
                    "job": repr(self.job),
                    "cure": "add max_latency_ms, max_moves or priority, or drop the entry",
                },
            )
        return self


class SourceFactor(Frozen):
    """The factor of some sources in a period, in place of the period's own."""

    operators: Operators
    """Sources, by id or unique name."""
    job: str = ""
    """Name of the job; needed only if several jobs are placed together."""
    factor: NonNegative


class Period(Frozen):
    """A part of every day, in which sources send at their stated rates times a factor."""

    name: Id
    share: Positive
    """Its length relative to the other periods: hours, or a share of the day."""
    factor: NonNegative = 1.0
    sources: tuple[SourceFactor, ...] = ()
    """Sources with another factor."""

    def times(self, factor: float) -> Self:
        """Return the period with the demand of all sources multiplied."""
        sources = tuple(
            own.model_copy(update={"factor": factor * own.factor}) for own in self.sources
        )
        return self.model_copy(update={"factor": factor * self.factor, "sources": sources})


def _each_period_once(periods: tuple[Period, ...]) -> tuple[Period, ...]:
    names = [p.name for p in periods]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PydanticCustomError(
            "periods",
            "two periods of the demand are named {name}",
            {"name": repr(twice), "cure": "give each period a name of its own"},
        )
    return periods


def _each_job_once(jobs: tuple[JobRequirements, ...]) -> tuple[JobRequirements, ...]:
    names = [own.job for own in jobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PydanticCustomError(
            "requirements",
            "job {name} has two entries",
            {"name": repr(twice), "cure": "state all that a job requires in one entry"},
        )
    return jobs


class Rules(Frozen):
    """A list of rules, wishes, limits on the plan as a whole, and what it must stand."""

    format: Literal["edgeplace/rules"] = "edgeplace/rules"
    version: Literal[1] = 1
    rules: tuple[AnyRule, ...] = ()
    wishes: tuple[AnyWish, ...] = ()
    """Rules that a plan may break: the term `wishes` of the objective is what they cost."""
    max_latency_ms: NonNegative | None = None
    """Limit on the worst source-to-sink path."""
    max_moves: Whole | None = Field(default=None, ge=0)
    """Limit on subtasks that leave their current TaskManager; needs a current placement."""
    jobs: Annotated[tuple[JobRequirements, ...], AfterValidator(_each_job_once)] = ()
    """What single jobs require."""
    demand: Annotated[tuple[Period, ...], AfterValidator(_each_period_once)] = ()
    """Periods of every day; the plan holds in each of them. Empty: the stated rates always."""
    survive: tuple[Id, ...] = ()
    """Sites that may be lost, one at a time: ids, patterns as `region-*`, or `any`. As the option
    `--survive` of `edgeplace solve`: a plan is written only if one exists after each loss, too."""

    def priority_of(self, job: str) -> int:
        """Return the priority of a job, 0 if none is stated."""
        return next((own.priority for own in self.jobs if own.job == job), 0)

    @property
    def limit_moves(self) -> bool:
        """Whether the moves of all jobs, or of one, are limited."""
        return self.max_moves is not None or any(own.max_moves is not None for own in self.jobs)

    @property
    def limit_latency(self) -> bool:
        """Whether the worst path of all jobs, or of one, is limited."""
        own = (of.max_latency_ms for of in self.jobs)
        return self.max_latency_ms is not None or any(most is not None for most in own)


def refuse_demand(rules: Rules | None, what: str) -> None:
    """Refuse a demand with periods for what is known at one rate only.

    Parameters
    ----------
    what
        What that is, as the beginning of a sentence: `the parallelism is chosen`.

    Raises
    ------
    InvalidInputError
        If the rules have such a demand.
    """
    if rules and rules.demand:
        raise InvalidInputError(
            f"the rules have a demand with periods, and {what} for one rate only",
            "leave `demand` out of the rules, and state the rates of the period that matters",
        )
