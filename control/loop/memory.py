"""The memory of the loop: all of it follows from the journal."""

from typing import Literal

from edgeplace.control.loop.events import (
    Figures,
    MachineAdvice,
    Places,
    Promises,
    Rates,
    Weights,
)
from edgeplace.control.settings import ControlSettings, Mode
from edgeplace.model.base import Frozen

HOUR_S, DAY_S = 3600.0, 86_400.0
VALID_S = HOUR_S
"""A proposal that is older is made anew."""
TRUSTED_AFTER = 20
"""Recommendations on record, before the mode `apply` acts alone."""
TRUSTED_AFTER_S = 7 * DAY_S


class RecentRates(Frozen):
    """One observation of the last minutes."""

    at_s: float
    rates: Rates
    held: float


class Base(Frozen):
    """The counters that the next rates are differences to."""

    at_s: float
    counters: dict[str, tuple[float, ...]]
    counted_ms: float | None = None
    odd: int = 0
    """Polls in a row whose counters were below these."""


class LossFigure(Frozen):
    """How often a place was lost lately."""

    value: float
    """At its last loss; it halves with time."""
    at_s: float
    """Of the last loss."""
    out: bool = False
    """It gets nothing new."""


class LossPlan(Frozen):
    """What is done when a site is lost."""

    places: Places = {}
    rates: Rates = {}
    """That it was made for."""
    moves: int = 0
    moved_operators: int = 0
    restore_bytes: float = 0.0
    promises: Promises | None = None
    made_s: float
    problem: str = ""
    """Why there is no such plan."""


class ProposedChange(Frozen):
    """A change that the loop would make."""

    id: str
    kind: Literal["must", "worth it", "lost"]
    to: Places
    weights: Weights = {}
    """That routers get; empty: those in force stay, and subtasks move."""
    moves: int
    moved_operators: int
    rescaled: dict[str, int] = {}
    """Name of an operator that has another number of subtasks then -> that number."""
    restore_bytes: float
    promises: Promises | None = None
    why: str
    """With the three numbers behind it."""
    rates: Rates
    """That it was made for."""
    interval_s: float | None = None
    """Of checkpoints; None: as it is."""
    unproved: bool = False
    made_s: float
    valid_until_s: float
    hindered: tuple[str, ...] = ()
    """The gates that said no, with why."""

    @property
    def acts(self) -> str:
        """What is done, in words."""
        if self.weights:
            return f"other weights for {', '.join(sorted(self.weights))}"
        numbers = "".join(f", {op} in {n} subtasks" for op, n in sorted(self.rescaled.items()))
        return f"{self.moves} moves{numbers}"


class BegunChange(Frozen):
    """A change that was begun and is not closed."""

    id: str
    kind: Literal["must", "worth it", "lost", "back"]
    former: Places
    to: Places
    former_weights: Weights = {}
    weights: Weights = {}
    """That routers get, where the change is one of weights."""
    rates: Rates
    held: float
    """Share of the time in which sources were held back before."""
    emitted: Rates = {}
    """What sources emitted before, records/s."""
    began_s: float
    deadline_s: float
    seen_s: float | None = None
    """When it was seen carried out: from then on it is watched."""
    run: str = ""
    """Of the job after it."""
    restarts: int = 0
    """Of the job, after it."""
    away: int = 0
    """Polls in a row in which the job ran elsewhere."""
    worse: int = 0
    """Polls in a row in which the job did worse than before."""
    by_hand: bool = False
    """A person wanted the way back."""


class Told(Frozen):
    """What was decided or done, and why not."""

    at_s: float
    says: str


class Memory(Frozen):
    """The state of the loop."""

    lines: int = 0
    """Events so far."""
    epoch: int = 0
    settings: ControlSettings | None = None
    i_know: bool = False
    now_s: float = 0.0
    wall_s: float = 0.0
    job_id: str = ""
    run: str = ""
    told: dict[str, tuple[str | None, ...]] = {}
    """Where Flink last said that the subtasks run, whole answer or not."""
    places: dict[str, tuple[str | None, ...]] = {}
    weights: Weights = {}
    """That the routers follow; empty: not known."""
    sites: dict[str, tuple[str, ...]] = {}
    """The TaskManagers of each site."""
    there: tuple[str, ...] | None = None
    """TaskManagers that Flink knew last."""
    there_s: float | None = None
    """When it told them."""
    others: str = ""
    """Who else changes the job; empty: nobody that is known."""
    unreachable_s: float | None = None
    """When Flink last gave no answer at all."""
    lost: tuple[str, ...] = ()
    """Sites of which no TaskManager is there."""
    losses: dict[str, LossFigure] = {}
    """Site or TaskManager -> its losses."""
    loss_plans: dict[str, LossPlan] = {}
    """Site -> what is done when it is lost."""
    settled_s: float = 0.0
    """Since when the job runs as it does."""
    kept_up_s: float = 0.0
    """When its sources were last seen not to be held back, once it had settled."""
    observed_s: float | None = None
    """When Flink last gave a whole answer."""
    blind: str = "nothing was asked yet"
    """Why the last poll was no observation; empty: it was."""
    base: Base | None = None
    recent: tuple[RecentRates, ...] = ()
    checkpoint_s: float | None = None
    checkpoint_failed: bool = False
    checkpoint_took_s: float = 0.0
    came: Rates = {}
    """Records of each source since the last decision."""
    came_s: float = 0.0
    """Seconds that these came in."""
    peaks: dict[str, tuple[float, ...]] = {}
    """Largest rate of each half hour so far, by source."""
    bin: int = 0
    bin_peak: Rates = {}
    guarded_s: float = 0.0
    decided_s: float = 0.0
    urged_s: float = 0.0
    """When the guard last had the solver asked."""
    ticket: int = 0
    asked_s: float | None = None
    """When the solver was asked; None: nothing is asked."""
    asked_without: str = ""
    """The site that the question supposes to be lost."""
    asked_machines: bool = False
    """The question is about machines: whatever else there is to ask comes first."""
    advised_s: float | None = None
    """When there was advice on machines last; None: never."""
    advice: tuple[MachineAdvice, ...] = ()
    asked_rates: Rates = {}
    asked_day: tuple[int, ...] = ()
    """Which of the levels asked for each half hour of the next day is at."""
    day_gap: float | None = None
    """How far the path of the day may be from the best one, as a share; None: there is none."""
    asked_came_s: float = 0.0
    figures: Figures | None = None
    """Of what runs, at `figures_rates`."""
    figures_rates: Rates = {}
    bias: float = 1.0
    """What placements sustain, as a share of what their costs say; learned."""
    seen_capacity: float = 1.0
    """The same, as it was last seen."""
    costs_age_s: float | None = None
    measured: bool = False
    """The loop has costs of its own log."""
    not_measured: str = ""
    """Why the last batch gave none; empty: it did."""
    decision: str = ""
    """What was last decided, and why."""
    preferred: Places = {}
    regret: float = 0.0
    """What staying cost more over the WAN than the plans preferred."""
    price: float = 0.0
    """What a change costs, when it was last reckoned."""
    currency: str = ""
    """Of both; empty: they are bytes, each times the prices of the links crossed."""
    proposal: ProposedChange | None = None
    change: BegunChange | None = None
    last_change: BegunChange | None = None
    """The last that was closed as applied."""
    voluntary: tuple[float, ...] = ()
    """When the changes of the last day were begun."""
    reweighed: tuple[float, ...] = ()
    """The same of voluntary changes of weights."""
    urgent: tuple[float, ...] = ()
    restored: tuple[tuple[float, float], ...] = ()
    """When, and how many bytes of state they read back."""
    went_back: tuple[float, ...] = ()
    banned: dict[str, float] = {}
    """Plan -> when it was refused, or went back."""
    frozen_until_s: float = 0.0
    fallen: str = ""
    """Why the loop only recommends until a person starts it anew; empty: it does as its mode."""
    proved: bool = False
    """A change was made and stayed."""
    proved_rescaled: bool = False
    """One that rescaled was."""
    log: tuple[Told, ...] = ()
    """The last decisions and acts, the oldest first."""
    decisions_made: dict[str, dict[str, int]] = {}
    """Verdict -> gate that said no, or nothing -> how often."""
    changes_made: dict[str, dict[str, int]] = {}
    """Kind -> end -> how often."""
    changing_s: float = 0.0
    """Seconds that changes took, from the intent to their end."""
    recommended: int = 0
    first_s: float | None = None

    @property
    def mode(self) -> Mode:
        """What the loop may do now."""
        if self.settings is None or self.fallen:
            return "recommend"
        if self.settings.mode == "apply" and not self.trusted:
            return "approve"
        return self.settings.mode

    @property
    def trusted(self) -> bool:
        """Enough is on record for the mode `apply`."""
        since_s = 0.0 if self.first_s is None else self.now_s - self.first_s
        return self.i_know or self.recommended >= TRUSTED_AFTER or since_s >= TRUSTED_AFTER_S

    @property
    def kept_out(self) -> tuple[str, ...]:
        """Sites and TaskManagers that get nothing new, as they were lost too often."""
        return tuple(name for name, figure in self.losses.items() if figure.out)

    @property
    def placed(self) -> Places:
        """Where the subtasks run, without those that run nowhere."""
        return {op: tuple(tm for tm in row if tm) for op, row in self.places.items()}

    def fewer(self, places: Places) -> bool:
        """Return whether an operator has fewer subtasks in a placement than it has now."""
        return any(len(row) < len(self.places.get(op, ())) for op, row in places.items())

    def now(self, **changes: object) -> "Memory":
        """Return the memory with some things other than they were."""
        return self.model_copy(update=changes)
