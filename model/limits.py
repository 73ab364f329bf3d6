"""Limits of plans, and one table with the facts of each kind of limit.

To add a kind, add its row to `LimitKind`. The evaluator, the formulation, the baselines, the cures
and all tables read the row of two families of kinds, so that a new one of these needs nothing else:
amounts that subtasks take of their TaskManagers, and bounds on a term of the objective. A third
family is bounds on what one job adds to a term.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Self

from pydantic import Field

from edgeplace.model.base import Frozen
from edgeplace.model.objective import ObjectiveName
from edgeplace.model.rules import Rules
from edgeplace.model.text import RateUnit, all_digits, with_prefix


class Place(Enum):
    """The kind of object that has a limit."""

    TASK_MANAGER = auto()
    NODE = auto()
    LINK = auto()
    SUBTASK = auto()
    CHANNEL = auto()
    SITES = auto()
    """A pair of sites."""
    PLAN = auto()
    """The plan as a whole."""
    JOB = auto()
    RULE = auto()


class Step(Enum):
    """The rounding and the meaning of the amount of a cure."""

    WHOLE = auto()
    """An increase by a whole number."""
    DIGITS = auto()
    """An increase, with four digits."""
    FACTOR = auto()
    """A factor, with four digits."""
    NONE = auto()
    """There is no amount."""


@dataclass(frozen=True)
class Facts:
    """The facts of a kind of limit.

    Attributes
    ----------
    unit
        Unit of the used amount and of the capacity.
    stated
        The limit in words: `{where}`, `{room}` that plans may use, `{given}` in the documents;
        `{size}` is the room in bytes, `{rate}` in bytes or bits per second.
    cure
        A change that makes a plan valid: `{amount}` more, or times as much, `{s}` for the plural,
        `{where}`; `{size}` and `{rate}` are amounts.
    target
        Field of the cluster with the share of the capacity that plans may use; empty: all of it.
    grows_with_rates
        Whether the use grows with the rates of the sources.
    helps
        Kinds of limits that may hold, too, once a limit of this kind is raised: a buffer takes less
        time over a wider link, a faster thread takes fewer cores, a new link may be on the way of
        others.
    one_more
        The unit of a price; empty: this kind has no price.
    takes, has
        Of an amount that subtasks take of their TaskManagers: the field of an operator, for each
        subtask, and of a TaskManager.
    bounds, by, where
        Of a bound on a term of the objective: the term, the field of the rules, and what it is at
        as a person calls it.
    of_job
        Of a bound on what one job adds to a term of the objective: the term. `by` is then the field
        of the limits of a job.
    """

    unit: str
    at: Place
    stated: str
    cure: str
    step: Step = Step.WHOLE
    target: str = ""
    grows_with_rates: bool = False
    helps: tuple[str, ...] = ()
    one_more: str = ""
    takes: str = ""
    has: str = ""
    bounds: ObjectiveName | None = None
    by: str = ""
    where: str = ""
    of_job: ObjectiveName | None = None


class LimitKind(StrEnum):
    """The kinds of limits. Those that people can change most easily come first."""

    facts: Facts

    def __new__(cls, name: str, facts: Facts) -> Self:
        """Make a kind from a name and its row."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.facts = facts
        return kind

    RULE = (
        "rule",
        Facts(
            unit="subtasks",
            at=Place.RULE,
            stated="{where}",
            cure="drop or change the rule “{where}”",
            step=Step.NONE,
        ),
    )
    MOVES = (
        "moves",
        Facts(
            unit="subtasks",
            at=Place.PLAN,
            stated="at most {room:.0f} subtasks move",
            cure="{amount:.0f} more moves",
            bounds="moves",
            by="max_moves",
            where="plan",
        ),
    )
    LATENCY = (
        "latency",
        Facts(
            unit="ms",
            at=Place.PLAN,
            stated="the worst path takes at most {room:g} ms",
            cure="{amount:.4g} ms more for the worst path",
            step=Step.DIGITS,
            bounds="latency",
            by="max_latency_ms",
            where="worst path",
        ),
    )
    JOB_MOVES = (
        "moves of a job",
        Facts(
            unit="subtasks",
            at=Place.JOB,
            stated="at most {room:.0f} subtasks of job {where} move",
            cure="{amount:.0f} more moves of job {where}",
            by="max_moves",
            of_job="moves",
        ),
    )
    JOB_LATENCY = (
        "latency of a job",
        Facts(
            unit="ms",
            at=Place.JOB,
            stated="the worst path of job {where} takes at most {room:g} ms",
            cure="{amount:.4g} ms more for the worst path of job {where}",
            step=Step.DIGITS,
            by="max_latency_ms",
            of_job="latency",
        ),
    )
    ROUTE = (
        "route",
        Facts(
            unit="channels",
            at=Place.SITES,
            stated="streams run only between sites that a route joins",
            cure="a link that joins {where}",
            step=Step.NONE,
            helps=("link bandwidth", "credit window", "latency", "latency of a job"),
        ),
    )
    SLOTS = (
        "slots",
        Facts(
            unit="slots",
            at=Place.TASK_MANAGER,
            stated="TaskManager {where} has {room:,.0f} slots",
            cure="{amount:.0f} more slot{s} on {where}",
            one_more="1 more slot on",
        ),
    )
    MEMORY = (
        "memory",
        Facts(
            unit="bytes",
            at=Place.TASK_MANAGER,
            stated="TaskManager {where} has {size} of memory",
            cure="{size} more memory on {where}",
            takes="memory_bytes",
            has="memory_bytes",
        ),
    )
    DISK = (
        "disk",
        Facts(
            unit="bytes",
            at=Place.TASK_MANAGER,
            stated="TaskManager {where} has {size} of disk",
            cure="{size} more disk on {where}",
            has="disk_bytes",
        ),
    )
    GPUS = (
        "GPUs",
        Facts(
            unit="GPUs",
            at=Place.TASK_MANAGER,
            stated="TaskManager {where} has {room:.0f} GPUs",
            cure="{amount:.0f} more GPU{s} on {where}",
            takes="gpus",
            has="gpus",
        ),
    )
    SUBTASK_BUSY = (
        "subtask busy",
        Facts(
            unit="threads",
            at=Place.SUBTASK,
            stated="a thread of {where} is busy at most all of the time",
            cure="{amount:.4g} times the speed of one thread for {where}: a faster node",
            step=Step.FACTOR,
            grows_with_rates=True,
            helps=("node cpu", "latency", "latency of a job"),
        ),
    )
    NODE_CPU = (
        "node cpu",
        Facts(
            unit="cores",
            at=Place.NODE,
            stated="node {where} has {given:g} cores, of which plans may use {room:g}",
            cure="{amount:.4g} more cores on {where}",
            step=Step.DIGITS,
            target="cpu_target",
            grows_with_rates=True,
            one_more="1 more core on",
        ),
    )
    LINK_BANDWIDTH = (
        "link bandwidth",
        Facts(
            unit="bytes/s",
            at=Place.LINK,
            stated="link {where} carries {rate}",
            cure="{rate} more bandwidth on link {where}",
            target="link_target",
            grows_with_rates=True,
            helps=("credit window", "latency", "latency of a job"),
            one_more="1 Mbit/s more on",
        ),
    )
    CREDIT_WINDOW = (
        "credit window",
        Facts(
            unit="bytes/s",
            at=Place.CHANNEL,
            stated="the credit window of {where} lets {rate} through",
            cure="{amount:.4g} times the network buffers (buffers_per_channel and "
            "floating_buffers_per_gate), for {where}",
            step=Step.FACTOR,
            grows_with_rates=True,
            helps=("latency", "latency of a job"),
        ),
    )

    @classmethod
    def named(cls, name: str) -> "LimitKind":
        """Return the kind with a name, as in documents and in the rows of a model."""
        return next(kind for kind in cls if kind == name)

    def bound(self, rules: Rules) -> float | None:
        """Return the bound of the rules on the term of this kind; None: the rules have none."""
        stated: float | None = getattr(rules, self.facts.by)
        return stated

    def bounds_of_jobs(self, rules: Rules) -> dict[str, float]:
        """Return name of a job -> the bound of the rules on what it adds to the term of this kind.

        Jobs are in the order of the rules; those without such a bound are left out.
        """
        stated = {own.job: getattr(own, self.facts.by) for own in rules.jobs}
        return {job: most for job, most in stated.items() if most is not None}

    def in_words(self, where: str, room: float, given: float, rates: RateUnit) -> str:
        """Return a limit of this kind as a sentence."""
        stated = self.facts.stated
        return stated.format(where=where, room=room, given=given, **_written(room, rates))

    def cure(self, where: str, amount: float, rates: RateUnit) -> str:
        """Return the change that raises a limit of this kind, as text."""
        s = "s" if amount > 1 else ""
        return self.facts.cure.format(where=where, amount=amount, s=s, **_written(amount, rates))


def _written(amount: float, rates: RateUnit) -> dict[str, str]:
    """Return an amount of bytes, and of bytes/s, with all digits: of a cure none may be lacking."""
    return {
        "size": with_prefix(amount, "B", all_digits),
        "rate": rates.text(amount, all_digits),
    }


def _kinds(wanted: Callable[[Facts], object]) -> tuple[LimitKind, ...]:
    return tuple(kind for kind in LimitKind if wanted(kind.facts))


RATED = frozenset(_kinds(lambda f: f.grows_with_rates))
"""Kinds of limits whose use grows with the rates of the sources."""
AMOUNTS = _kinds(lambda f: f.has)
"""Amounts that subtasks take of their TaskManagers, apart from slots. They add up."""
BOUNDS = _kinds(lambda f: f.bounds)
"""Bounds on a term of the objective."""
JOB_BOUNDS = _kinds(lambda f: f.of_job)
"""Bounds on what one job adds to a term of the objective."""


class Limit(Frozen):
    """A limit of the cluster or of the rules, and how much of it a plan uses."""

    kind: LimitKind
    where: str
    """Name of the object, for people."""
    used: float
    capacity: float | None
    """None: not limited."""
    unit: str
    spread: float = Field(default=0.0, ge=0)
    """Relative standard deviation of the measured costs behind `used`, if the limit is exceeded;
    0: none was measured.
    """
    subject: tuple[str, ...] = ()
    """What it is at, by ids: a TaskManager, a node, two sites of a link or a route, job, operator
    and index (from 0) of a subtask, or of both of a channel; a job; the title of a rule; nothing
    for the plan as a whole."""

    @classmethod
    def of(
        cls,
        kind: LimitKind,
        where: str,
        used: float,
        capacity: float | None,
        subject: tuple[str, ...] | None = None,
        spread: float = 0.0,
    ) -> Self:
        """Return a limit of a kind, in its unit.

        Parameters
        ----------
        subject
            None: `where` is its id.
        """
        return cls(
            kind=kind,
            where=where,
            used=used,
            capacity=capacity,
            unit=kind.facts.unit,
            spread=spread,
            subject=(where,) if subject is None else subject,
        )

    @property
    def shortfall(self) -> float:
        """The amount by which the plan exceeds the limit; 0 if it does not."""
        return 0.0 if self.capacity is None else max(0.0, self.used - self.capacity)

    @property
    def utilisation(self) -> float:
        """Share of the limit in use; infinite if something is used although nothing is allowed."""
        if self.capacity is None:
            return 0.0
        if self.capacity > 0:
            return self.used / self.capacity
        return float("inf") if self.used > 0 else 0.0
