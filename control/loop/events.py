"""Events that reach the loop, and actions that it wants: plain data, as in the journal.

Times are Unix seconds of a clock that never goes back; the driver sees to that.
"""

from typing import Annotated, Literal

from pydantic import Field

from edgeplace.control.settings import ControlSettings
from edgeplace.model.base import Frozen

Places = dict[str, tuple[str, ...]]
"""Operator id -> TaskManager of each subtask, as the cluster file calls it; as many as there are
subtasks, so that a placement says the parallelism, too.
"""
Rates = dict[str, float]
"""Source operator id -> records per second of all its subtasks."""
Weights = dict[str, tuple[tuple[float, ...], ...]]
"""Name of a combining task -> of each router, the share of each worker."""


class LoopEvent(Frozen):
    """Something that happened."""

    at_s: float


class Started(LoopEvent):
    """A loop has begun to lead."""

    kind: Literal["started"] = "started"
    epoch: int
    """Of the lease: one more than any before it."""
    settings: ControlSettings
    by: str = ""
    """Machine and process."""
    release: str = ""
    """Of edgeplace."""
    i_know: bool = False
    """A person said that changes may come without 20 recommendations on record."""
    mended: str = ""
    """What was wrong with the end of the journal."""
    sites: dict[str, tuple[str, ...]] = {}
    """The TaskManagers of each site in the cluster file."""


class Reloaded(LoopEvent):
    """The control file was read anew while the loop runs."""

    kind: Literal["reloaded"] = "reloaded"
    settings: ControlSettings | None = None
    """None: they cannot be taken, and those before go on."""
    problem: str = ""
    """Why."""
    sites: dict[str, tuple[str, ...]] = {}
    """As in `Started`."""


class Polled(LoopEvent):
    """Flink's answers to one poll, or why there are none."""

    kind: Literal["polled"] = "polled"
    wall_s: float
    """The machine's clock, which people set."""
    problem: str = ""
    """Why there is no whole answer."""
    job: str = ""
    """Name of the job that the answers are about."""
    job_id: str = ""
    state: str = ""
    run: str = ""
    """Changes whenever a subtask starts anew."""
    up_s: float = 0.0
    """For how long all subtasks have run."""
    counters: dict[str, tuple[float | None, ...]] = {}
    """Source operator id -> records emitted so far by each subtask; None: no answer."""
    counted_ms: float | None = None
    """Time that Flink has counted at the sources' subtasks, busy, idle and held back, summed: it
    stands still while Flink's metrics do; None: no answer."""
    held: float | None = None
    """Largest share of the time in which a source was held back; None: no answer."""
    places: dict[str, tuple[str | None, ...]] | None = None
    """Where the subtasks run; None: as in the poll before that told it."""
    registered: tuple[str, ...] | None = None
    """TaskManagers that Flink knows; None: as in the poll before that told it."""
    weights: Weights | None = None
    """That all routers follow; empty: not all follow theirs; None: as in the poll before that told
    it, or not known."""
    others: str | None = None
    """Who else changes the job: another autoscaler; empty: nobody; None: as in the poll before that
    told it."""
    checkpoint_s: float | None = None
    """Age of the last completed checkpoint; None: there is none."""
    checkpoint_failed: bool = False
    """The last checkpoint failed."""
    checkpoint_took_s: float | None = None
    """Duration of the last one that completed."""


class Figures(Frozen):
    """The evaluator's figures of a placement at some rates."""

    fits: bool
    """No limit and no rule is broken."""
    headroom: float
    """Factor that all rates may grow by."""
    wan_bytes_per_s: float
    """Over all links crossed."""
    wan_cost: float
    """The same, each byte times the prices of these links: what plans are compared by. With a
    currency, money per second."""
    latency_ms: float
    server_cores: float
    broken: str = ""
    """The first limit or rule that is broken."""


class Promises(Frozen):
    """What a plan promises of a job at the rates that came: the agent shows it beside what is."""

    wan_bytes_per_s: float
    """On all links together."""
    headroom: float
    """Factor that all rates may grow by."""


class DayOption(Frozen):
    """A placement that the path of the day may take."""

    places: Places
    figures: Figures
    """At the rates asked for."""
    moves: int
    moved_operators: int
    rescaled: dict[str, int] = {}
    restore_bytes: float
    restore_cost: float
    promises: Promises | None = None
    """None: of what runs."""
    wan_cost: tuple[float, ...]
    """Per second, at each level of the day, as that of `Figures`."""
    fits: tuple[bool, ...]


class MachineAdvice(Frozen):
    """What another machine, or one less, would be worth."""

    what: str
    kind: Literal["add", "give back", "slots", "memory", "storage"]
    saves_bytes_per_s: float
    """Over the WAN, by the best plans before and after; below 0: so many more are sent."""
    share: float
    """Of the WAN bytes before."""
    saves_per_month: float | None = None
    """In the currency of the cluster, machines included; None: there are no prices."""
    currency: str = ""
    fits_now: bool
    """A plan bears the rates without it."""
    fits_then: bool
    headroom: float
    """Of the best plan with it."""

    @property
    def says(self) -> str:
        """It in words."""
        does = "could go" if self.kind == "give back" else "would"
        size = f"{abs(self.saves_bytes_per_s) / 1e3:,.1f} kB/s ({abs(self.share):.0%})"
        if not self.fits_now:
            return f"{self.what} {does}{' ' if does == 'would' else ': '}make the day's peak fit"
        if self.kind == "give back":
            more = f"{size} {'more' if self.saves_bytes_per_s < 0 else 'less'} over the WAN"
            said = f"{self.what} could go: {more}, the rest bears {self.headroom:.0%} of the peak"
        elif self.saves_bytes_per_s < 0:
            said = f"{self.what} would send {size} more over the WAN"
        else:
            said = f"{self.what} would save {size} over the WAN"
        if self.saves_per_month is None:
            return said
        less = "less" if self.saves_per_month >= 0 else "more"
        return f"{said}, {abs(self.saves_per_month):,.2f} {self.currency} a month {less}"


class Solved(LoopEvent):
    """The answer to a `Solve`."""

    kind: Literal["solved"] = "solved"
    ticket: int
    problem: str = ""
    """Why there is no answer."""
    stay: Figures | None = None
    """What runs, at the rates asked for."""
    best: Figures | None = None
    """The best plan at these rates; None: nothing is better than what runs."""
    places: Places = {}
    """The best plan."""
    moves: int = 0
    moved_operators: int = 0
    """Those that are rescaled together count once."""
    rescaled: dict[str, int] = {}
    """Name of an operator that has another number of subtasks in the best plan -> that number."""
    restore_bytes: float = 0.0
    """State that is read back over the WAN when the job starts as the best plan says."""
    restore_cost: float = 0.0
    """The same at the prices of the links, as `wan_cost` has them."""
    currency: str = ""
    """Of all costs; empty: they are bytes, each times the prices of the links crossed."""
    promises: Promises | None = None
    """Of the best plan."""
    unproved_cost: float = 0.0
    """WAN cost per second that a better plan may save beyond the best found."""
    advice: tuple[MachineAdvice, ...] = ()
    """On machines."""
    came_stay_cost: float | None = None
    """WAN cost per second of what runs, at the rates that came."""
    came_other_cost: float | None = None
    """That of the plan preferred before; None: there was none, or it would not have sustained these
    rates."""
    day: tuple[DayOption, ...] = ()
    """What runs, then the best plans at the rates and levels asked for."""
    day_bounds: tuple[float, ...] = ()
    """By level: WAN cost per second that no plan can go below."""
    costs_age_s: float | None = None
    """None: the costs do not say of when they are."""
    held: tuple[str, ...] = ()
    """Combiners that stay where they run, as the weights of their routers are by subtask."""
    weights: Weights = {}
    """Better ones for where they run; empty: none are, or those in force are not known."""
    weighed: Figures | None = None
    """What runs, with these weights."""
    weights_unproved_cost: float = 0.0
    """WAN cost per second that still other weights may save."""


class LogMeasured(LoopEvent):
    """The loop's own log was measured, or not."""

    kind: Literal["measured"] = "measured"
    problem: str = ""
    """Why not."""
    segments: int = 0
    """That the ledger has got."""
    took_s: float = 0.0
    costs_age_s: float | None = None
    """Of the last sample in the costs; None: they do not say."""


class Ended(LoopEvent):
    """What came of an `Apply`."""

    kind: Literal["ended"] = "ended"
    id: str
    end: str
    """As `edgeplace flink apply` says: applied, unchanged, refused, rolled back, unverified,
    interrupted."""
    reasons: tuple[str, ...] = ()


class Asked(LoopEvent):
    """A person wants something."""

    kind: Literal["asked"] = "asked"
    wall_s: float
    what: Literal["approve", "reject", "freeze", "back"]
    id: str = ""
    for_s: float = 0.0
    who: str = ""
    request: str = ""
    """By which the command that asked finds the answer."""


class Stopped(LoopEvent):
    """The loop ends in order."""

    kind: Literal["stopped"] = "stopped"
    why: str = ""


AnyEvent = Annotated[
    Started | Reloaded | Polled | Solved | LogMeasured | Ended | Asked | Stopped,
    Field(discriminator="kind"),
]


class Solve(Frozen):
    """Ask the solver; the answer comes as `Solved`."""

    kind: Literal["solve"] = "solve"
    ticket: int
    places: Places
    """What runs."""
    rates: Rates
    """To be sustained."""
    weights: Weights = {}
    """In force; empty: not known."""
    came: Rates = {}
    """Mean rates since the decision before; empty: not known."""
    other: Places = {}
    """The plan preferred before; empty: none."""
    day: tuple[float, ...] = ()
    """Levels that are expected within a day, as multiples of the rates; the first is 1."""
    parallelism: dict[str, tuple[int, ...]] = {}
    """Operator -> numbers of subtasks to choose from, beside the number that it has."""
    drains: bool = False
    """A backlog drains: no operator may have fewer subtasks."""
    avoid: tuple[str, ...] = ()
    """TaskManagers that get nothing new; a source that can run nowhere else stays there."""
    without: str = ""
    """A site that is supposed to be lost; empty: none."""
    machines: bool = False
    """Only advice on machines is wanted."""
    one_operator: bool = False
    """Move the subtasks of one operator at most."""
    one_rescaled: bool = False
    """A plan that rescales changes one operator at most, and those that FORWARD joins to it."""
    limit_s: float


class Apply(Frozen):
    """Move and rescale the job, verified; the end comes as `Ended`."""

    kind: Literal["apply"] = "apply"
    id: str
    places: Places
    former: Places = {}
    """Where the job has to run before; empty: wherever it runs."""
    at_once: bool = False
    """A site is lost: the job waits for it, or will in a moment."""
    interval_s: float | None = None
    """Of checkpoints; None: as it is."""
    promises: Promises | None = None
    """None: not known, as of a way back."""
    limit_s: float


class Weigh(Frozen):
    """Give the routers other weights, which does not stop the job; the end comes as `Ended`."""

    kind: Literal["weigh"] = "weigh"
    id: str
    weights: Weights
    """Of all combining tasks of the job."""
    former: Weights = {}
    """That have to be in force before; empty: whatever is."""
    limit_s: float


AnyEffect = Annotated[Solve | Apply | Weigh, Field(discriminator="kind")]
