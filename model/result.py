"""The answer of `solve`."""

from enum import StrEnum

from pydantic import Field

from edgeplace.model.base import Frozen
from edgeplace.model.limits import RATED, Limit, LimitKind
from edgeplace.model.objective import ObjectiveName
from edgeplace.model.plan import Plan
from edgeplace.model.text import RateUnit

PROVED_GAP = 1e-6
"""Relative to the value: with a bound as near as this, no plan is better."""


class Status(StrEnum):
    """The status of an answer."""

    OPTIMAL = "optimal"
    """No plan is better (within `PROVED_GAP`), proved."""
    FEASIBLE = "feasible"
    """The plan is valid; a better one may exist, at most `gap` better."""
    INFEASIBLE = "infeasible"
    """No plan exists, proved."""
    UNKNOWN = "unknown"
    """Neither a plan nor a proof was found."""


class StoppedBy(StrEnum):
    """The reason why the search ended."""

    PROOF = "proof"
    GAP = "gap"
    TIME_LIMIT = "time limit"
    INTERRUPT = "interrupt"
    NO_BETTER = "no better weights or places"
    """Weights and places that were chosen in turn: neither is better with the other as it is."""
    ROUNDING = "rounding"
    """The range of the figures is too wide for the back end's arithmetic. It is wider for MILP
    than for CP-SAT, which uses whole numbers.
    """


class Unmet(Frozen):
    """A wish that a plan does not meet."""

    wish: str
    """Its title."""
    at: int = Field(ge=0)
    """Its place in the list of wishes, from 0."""
    subtasks: int
    """How many break it; of `spread`, how many more than is fair are at the fullest place."""
    weight: int
    """Of each of them in the term `wishes`."""


class Evaluation(Frozen):
    """The evaluator's figures of one plan.

    If demand varies over a day, bytes, money and server cores are means over the day; latency,
    utilisation, headroom and limits are those of the period in which they are worst.
    """

    wan_cost: float
    """Bytes per second over all links crossed, times their prices: the `wan` objective. With a
    `currency`, money per second."""
    wan_bytes_per_s: float
    """The same without prices."""
    cost_per_month: float | None = None
    """What links, cores and nodes cost in an average month: the `cost` objective. None: the
    cluster has no currency."""
    checkpoint_bytes_per_s: float
    """The part of `wan_bytes_per_s` that is checkpoint traffic."""
    latency_ms: float
    """Worst source-to-sink path, without the time that windows hold records; -1 where a stream
    has no route."""
    server_cores: float
    """Busy cores at cloud sites."""
    moves: int
    """Subtasks that leave their current TaskManager; 0 without a current placement."""
    moved_state_bytes: float
    """State of the subtasks that move."""
    utilisation: float
    """Largest share in use of any limit that grows with the sources' rates: the `throughput`
    objective."""
    headroom: float = Field(allow_inf_nan=True)
    """Factor by which all sources can grow before the first limit; infinite if no limit grows with
    them. 1 / `utilisation` where what is used is proportional to the rates."""
    sustained: float = Field(default=0.0, allow_inf_nan=True)
    """Factor at which sources are held back. It is the headroom but for two cases. Where a link is
    full it is more, since Flink sends fuller buffers, with fewer frames, and waits with the next
    checkpoint until the last one is done. Where a credit window and a processor are nearly full it
    is less, since buffers of the window wait for the processor."""
    binding: Limit | None
    """The limit behind `headroom`: the one that grown rates reach first."""
    links: tuple[Limit, ...]
    """Every directed link, in bytes per second against bandwidth x target."""
    nodes: tuple[Limit, ...]
    """Every node, in cores against cores x target."""
    task_managers: tuple[Limit, ...]
    """Every TaskManager, in slots."""
    jobs: tuple[Limit, ...] = ()
    """Every limit that the rules state for a job, on its worst path or its moves."""
    wishes: float = 0.0
    """Subtasks that break wishes, each times the weight of its wish: the `wishes` objective."""
    unmet: tuple[Unmet, ...] = ()
    """Wishes that are not met, or not by all."""
    violations: tuple[Limit, ...]
    """Limits exceeded; empty: the plan is feasible."""
    notes: tuple[str, ...] = ()
    """What of this plan is not known, and so not counted (credit over links that lead one way), and
    links that are full because combiners send as much as they can."""
    periods: tuple["PeriodEvaluation", ...] = ()
    """The figures in each period of a demand that varies over a day; empty: it does not."""
    rates_in: RateUnit = RateUnit.BYTES
    """What texts measure traffic in, as those of the cluster; the figures here are in bytes."""
    currency: str | None = None
    """Of `cost_per_month`, and of `wan_cost`, which is then money per second. None: prices are
    weights."""

    @property
    def feasible(self) -> bool:
        """True if no limit is exceeded."""
        return not self.violations

    @property
    def within_measurement(self) -> bool:
        """True if limits are exceeded, but by no more than costs varied as they were measured.

        What ran at these rates does run: then it is the errors of rates and costs that add up to
        a thread that is busy for more than all of the time. It makes no plan feasible, and nothing
        is proved with it.
        """
        return bool(self.violations) and all(
            v.kind in RATED and v.utilisation <= 1 + v.spread for v in self.violations
        )

    def value(self, objective: ObjectiveName) -> float:
        """Return one objective term; `cost` is 0 where nothing has a price in money."""
        return {
            "wan": self.wan_cost,
            "latency": self.latency_ms,
            "server_cores": self.server_cores,
            "moves": float(self.moves),
            "throughput": self.utilisation,
            "cost": self.cost_per_month or 0.0,
            "wishes": self.wishes,
        }[objective]


class PeriodEvaluation(Frozen):
    """The evaluator's figures of one plan in one period of a day."""

    name: str
    share: float
    """Of the day; those of all periods add up to 1."""
    evaluation: Evaluation


class LevelResult(Frozen):
    """What was proved of one objective level, given the levels before it."""

    name: ObjectiveName
    value: float
    bound: float
    tolerance: float = 0.0

    @property
    def gap(self) -> float:
        """(value - bound) / value; 0 if it is no more than `PROVED_GAP`."""
        gap = max(0.0, self.value - self.bound) / abs(self.value) if self.value else 0.0
        return gap if gap > PROVED_GAP else 0.0


class Incumbent(Frozen):
    """A plan that was the best when it was found."""

    at_s: float
    """Since `solve` was called."""
    value: float
    """Of the first objective level."""


class Freed(Frozen):
    """A subtask of a source that may run anywhere."""

    job: str
    operator: str
    """Operator id."""
    subtask: int
    """From 0."""


class Change(Frozen):
    """One change to the input: a part of a cure."""

    kind: LimitKind
    where: str
    """As in the limit that it raises; for a rule, its title; for a route, `site -> site`."""
    amount: float = 0.0
    """How much more of it, rounded up to what suffices: slots, bytes, cores, bytes/s of bandwidth,
    ms or moves; the factor for `subtask busy` and `credit window`; nothing for rules and routes."""
    subject: tuple[str, ...] = ()
    """As in the limit that it raises; for a rule, its title."""
    frees: tuple[Freed, ...] = ()
    """What to let run anywhere (`born_at: [anywhere]`) besides: without the rule, a source would be
    held where it runs now."""


class Conflict(Frozen):
    """Why no plan exists."""

    members: tuple[str, ...]
    """Limits and rules that cannot all hold; empty if they were not narrowed down."""
    irreducible: bool
    """True if each member was shown to be needed: drop any one, and the others can all hold.

    Other conflicts may remain: no single member need be enough for a plan.
    """
    shortfalls: tuple[Limit, ...]
    """What the nearest plan exceeds, and by how much."""
    cure: str
    """A change after which a plan exists."""
    confirmed: bool
    """True if a plan was found that holds with the changes, as they are printed."""
    changes: tuple[Change, ...] = ()
    """The cure, part by part."""
    nearest: bool = False
    """True if it was proved that every plan breaks as many rules, then as many limits, then exceeds
    them by as much as this one."""
    minimal: bool = False
    """True if each part of the cure was shown to be needed: without it, the others are no cure."""
    not_narrowed: int = 0
    """Limits and rules that cannot all hold, where they were not narrowed down: how many."""
    rates_in: RateUnit = RateUnit.BYTES
    """As in `Evaluation`."""


class Chosen(Frozen):
    """What was chosen beside the places: a parallelism for each operator that may change."""

    parallelism: dict[str, dict[str, int]] = {}
    """Job name -> operator id -> subtasks, of the operators of which it was asked; empty without a
    plan."""
    vectors: int
    """How many combinations were asked for."""
    searched: int
    """How many of them were searched one by one. The others were ruled out by bounds, except for
    `open`."""
    open: int = 0
    """How many were neither searched nor ruled out; 0 if the answer is proved."""


class Result(Frozen):
    """The answer of `solve`. Infeasible is an answer, never an exception."""

    status: Status
    stopped_by: StoppedBy
    plan: Plan | None = None
    evaluation: Evaluation | None = None
    levels: tuple[LevelResult, ...] = ()
    incumbents: tuple[Incumbent, ...] = ()
    """Plans found on the way that hold, each better in the first level than the one before."""
    runtime_s: float
    backend: str
    conflict: Conflict | None = None
    chosen: Chosen | None = None
    """Where `solve` was asked to choose the parallelism; the bounds are then of all vectors."""
    notes: tuple[str, ...] = ()
    """What the answer assumes: estimates, figures not known, sources throttled."""

    @property
    def bound(self) -> float | None:
        """Proved bound of the first objective level."""
        return self.levels[0].bound if self.levels else None

    @property
    def gap(self) -> float | None:
        """Proved gap of the first objective level."""
        return self.levels[0].gap if self.levels else None
