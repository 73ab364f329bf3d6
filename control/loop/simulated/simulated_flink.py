"""A Flink of arithmetic: it emits what a real one would answer, with its faults.

Records are a fluid, as in `control/fluid.py`; what a placement sustains is said by *the* evaluator.
So the real `step` runs in it, with the real solver, and a week takes minutes.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from edgeplace.control.fluid import flow
from edgeplace.control.load import Load
from edgeplace.control.loop.answering.answer import answer
from edgeplace.control.loop.answering.weighing import in_force
from edgeplace.control.loop.events import (
    Apply,
    Ended,
    Places,
    Polled,
    Solve,
    Solved,
    Weigh,
    Weights,
)
from edgeplace.control.loop.sites import by_site
from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.model.what_if.case import Case
from edgeplace.solver import evaluate

_LATE_S = 2.0
_HELD = 0.6
"""What sources show while a backlog drains."""
_CHECKPOINT_EVERY_S = 60.0


@dataclass(frozen=True)
class Faults:
    """How often what goes wrong, each as a chance."""

    answers: float = 0.0
    """Of a poll: no answer, half of one, an old one, one of another job."""
    solver: float = 0.0
    """Of a question to the solver: an error, or no answer at all."""
    apply: float = 0.0
    """Of a change: refused, rolled back, not verified."""
    kill: float = 0.0
    """Of the loop, between any two of its acts."""
    disk: float = 0.0
    """Of a line of the journal that cannot be written."""
    job: float = 0.0
    """Of a restart of the job between two polls."""
    hand: float = 0.0
    """Of a person who moves the job between two polls."""
    clock: float = 0.0
    """Of a step of the machine's clock between two polls."""


@dataclass(frozen=True)
class Outage:
    """A site that Flink knows to be lost for a time, in seconds of the load."""

    site: str
    from_s: int
    to_s: int


@dataclass
class SimulatedFlink:
    """A job on a cluster under a load.

    Parameters
    ----------
    job
        With costs; the load's first rate is the sum of its sources' rates, times `scale`.
    places
        Where it runs at first.
    pause_s
        Seconds that a change stops the job.
    truth
        What placements sustain, as a share of what the costs say.
    outages
        Of sites. A job with subtasks there does not run meanwhile, as with `lost=strict`.
    """

    job: JobGraph
    cluster: Cluster
    rules: Rules | None
    load: Load
    places: Places
    began_s: float
    pause_s: float = 2.0
    faults: Faults = Faults()
    seed: int = 0
    outages: tuple[Outage, ...] = ()
    truth: float = 1.0
    weights: Weights = field(default_factory=dict)
    """That the routers follow; empty: the job has none, or they are as its costs say."""
    advises: bool = False
    """Advice on machines is computed, which changes nothing of what happens."""
    solved: dict[str, Solved] = field(default_factory=dict)
    """What the solver has answered; it may be shared by simulations of one case."""
    late_s: float = 0.0
    """Seconds so far in which a record had to wait."""
    wan_bytes: float = 0.0
    run: int = 0
    skew_s: float = 0.0
    """What people have set the machine's clock wrong by."""
    _second: int = 0
    _since: int = 0
    """The second in which this run began."""
    _backlog: float = 0.0
    _stopped_s: float = 0.0
    _waits: bool = False
    _told: Places | None = None
    _last: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    _counters: dict[str, list[float]] = field(default_factory=dict)
    _judged: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 - a simulation
        self._rates = {
            op.id: list(op.cost.demand.rates_per_s) * (op.parallelism if _one_rate(op) else 1)
            for op in self.job.sources()
            if op.cost and op.cost.demand
        }
        self._total = sum(map(sum, self._rates.values()))
        self._counters = {op: [0.0] * len(row) for op, row in self._rates.items()}

    @property
    def now_s(self) -> float:
        """The steady clock."""
        return self.began_s + self._second

    @property
    def over(self) -> bool:
        """The load has ended."""
        return self._second >= len(self.load.rates_per_s)

    def advance(self, seconds: int) -> None:
        """Let time pass."""
        end = min(self._second + seconds, len(self.load.rates_per_s))
        offered = self.load.rates_per_s[self._second : end]
        if not len(offered):
            return
        capacity, wan_per_record = self._evaluated()
        waits, served = np.empty(len(offered)), np.empty(len(offered))
        self._backlog, self._stopped_s = flow(
            offered, capacity, self._backlog, self._stopped_s, waits, served
        )
        self.late_s += float((waits > _LATE_S).sum())
        records = float(served.sum())
        self.wan_bytes += records * wan_per_record
        for op, row in self._rates.items():
            for i, rate in enumerate(row):
                self._counters[op][i] += records * rate / self._total
        self._second = end
        self._lose()

    def gone(self) -> frozenset[str]:
        """Return the TaskManagers that are not there."""
        lost = {o.site for o in self.outages if o.from_s <= self._second < o.to_s}
        return frozenset(tm for s, tms in by_site(self.cluster).items() if s in lost for tm in tms)

    def _lose(self) -> None:
        """Stop a job of which a place is gone, and start it when it is back."""
        waits = any(tm in self.gone() for row in self.places.values() for tm in row)
        if waits:
            if not self._waits:
                self.restart(0.0)
            self._stopped_s = float(len(self.load.rates_per_s))
        elif self._waits:
            self._stopped_s = self.pause_s
        self._waits = waits

    def poll(self) -> Polled:
        """Answer as Flink does, or not."""
        if self._happens(self.faults.job):
            self.restart(25.0)
        if self._happens(self.faults.hand):
            self.move_by_hand()
        if self._happens(self.faults.clock):
            self.skew_s += self.chance.choice((-86_400.0, -3600.0, -5.0, 5.0, 3600.0))
        whole = self._whole()
        if not self._happens(self.faults.answers):
            if whole.places is not None:
                self._told = dict(self.places)
            self._last = whole.counters
            return whole
        return self.chance.choice(_BROKEN)(whole, self._last)

    def restart(self, stopped_s: float) -> None:
        """Let all subtasks start anew: their counters begin at 0."""
        self.run += 1
        self._since = self._second
        self._stopped_s = max(self._stopped_s, stopped_s)
        self._counters = {op: [0.0] * len(row) for op, row in self._counters.items()}

    def move_by_hand(self) -> None:
        """Let a person move one subtask of no source."""
        movable = sorted(op for op in self.places if op not in self._rates)
        op = self.chance.choice(movable)
        tm = self.chance.choice([t.id for t in self.cluster.task_managers])
        self._move({**self.places, op: (tm, *self.places[op][1:])})

    def solve(self, ask: Solve) -> Solved | None:
        """Return the solver's answer; None: it never comes."""
        if self._happens(self.faults.solver):
            if self.chance.random() < 0.5:
                return None
            return Solved(at_s=self.now_s, ticket=ask.ticket, problem="the solver has failed")
        if ask.machines and not self.advises:
            return Solved(at_s=self.now_s, ticket=ask.ticket)
        key = ask.model_copy(update={"ticket": 0}).model_dump_json()
        if key not in self.solved:
            self.solved[key] = answer(ask, self.job, self.cluster, self.rules, self.now_s)
        found = self.solved[key]
        return found.model_copy(update={"at_s": self.now_s, "ticket": ask.ticket})

    def apply(self, effect: Apply) -> Ended:
        """Move the job as told, or not; a move takes some seconds."""
        end, does = "applied", True
        if self._happens(self.faults.apply):
            end, does = self.chance.choice(_BAD_ENDS)
        if effect.former and self.places not in (effect.former, effect.places):
            end, does = "refused", False
        if self.places == effect.places and does:
            end = "unchanged"
        elif does:
            self._move(effect.places)
            self._lose()
        elif end == "rolled back":
            self.restart(self.pause_s)
        self.advance(5)
        return Ended(at_s=self.now_s, id=effect.id, end=end)

    def weigh(self, effect: Weigh) -> Ended:
        """Give the routers weights, or not; the job goes on."""
        end, does = "applied", True
        if self._happens(self.faults.apply):
            end, does = self.chance.choice(_BAD_ENDS)
        if effect.former and self.weights not in (effect.former, effect.weights):
            end, does = "refused", False
        if does:
            self.weights = dict(effect.weights)
        self.advance(1)
        return Ended(at_s=self.now_s, id=effect.id, end=end)

    def killed(self) -> bool:
        """Return whether the loop is killed here."""
        return self._happens(self.faults.kill)

    def disk_is_full(self) -> bool:
        """Return whether this line cannot be written."""
        return self._happens(self.faults.disk)

    def forget(self) -> None:
        """Let the next poll tell where all runs, as a loop that has just started asks it."""
        self._told = None

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self.chance.random() < chance

    def _move(self, places: Places) -> None:
        if places != self.places:
            self.places = dict(places)
            self.restart(self.pause_s)

    def _evaluated(self) -> tuple[float, float]:
        """Return what the placement sustains, and its WAN bytes a record."""
        key = ";".join(f"{op}={','.join(row)}" for op, row in sorted(self.places.items()))
        key += f";{sorted(self.weights.items())}"
        if key not in self._judged:
            plan = Plan(jobs={self.job.name: self.places})
            case = Case(
                (in_force(self.job, self.weights),), self.cluster, self.rules
            ).in_parallelism_of(plan)
            judged = evaluate(case.jobs, case.cluster, plan, case.rules)
            capacity = self.truth * min(judged.headroom, 1e9) * self._total
            self._judged[key] = capacity, judged.wan_bytes_per_s / self._total
        return self._judged[key]

    def _whole(self) -> Polled:
        counters = {op: tuple(round(v, 3) for v in row) for op, row in self._counters.items()}
        places = None if self.places == self._told else dict(self.places)
        up_s = float(self._second - self._since)
        return Polled(
            at_s=self.now_s,
            wall_s=self.now_s + self.skew_s,
            job=self.job.name,
            job_id=f"{self.seed:032x}",
            state="RUNNING" if self._stopped_s <= 0 else "RESTARTING",
            run=str(self.run),
            up_s=up_s,
            counters=dict(counters),
            counted_ms=1000.0 * up_s * sum(map(len, counters.values())),
            held=_HELD if self._backlog > self._total else 0.0,
            places=dict(places) if places is not None else None,
            weights=dict(self.weights) or None,
            registered=tuple(t.id for t in self.cluster.task_managers if t.id not in self.gone()),
            checkpoint_s=up_s % _CHECKPOINT_EVERY_S if up_s >= _CHECKPOINT_EVERY_S else 45.0,
        )


_BAD_ENDS = (
    ("refused", False),
    ("rolled back", False),
    ("interrupted", False),
    ("unverified", False),
    ("unverified", True),
)
"""How a change may end, and whether the job runs at its new places then."""


def _one_rate(op: object) -> bool:
    cost = getattr(op, "cost", None)
    return cost is not None and len(cost.demand.rates_per_s) == 1


Counters = dict[str, tuple[float | None, ...]]


def _down(whole: Polled, last: Counters) -> Polled:
    return Polled(at_s=whole.at_s, wall_s=whole.wall_s, problem="no connection: refused")


def _zeros(whole: Polled, last: Counters) -> Polled:
    zeros = {op: (0.0,) * len(row) for op, row in whole.counters.items()}
    return whole.model_copy(update={"counters": zeros, "places": None})


def _half(whole: Polled, last: Counters) -> Polled:
    half = {op: (None, *row[1:]) for op, row in whole.counters.items()}
    return whole.model_copy(update={"counters": half, "places": None})


def _old(whole: Polled, last: Counters) -> Polled:
    return whole.model_copy(update={"counters": last or whole.counters, "places": None})


def _not_a_number(whole: Polled, last: Counters) -> Polled:
    return whole.model_copy(update={"held": None, "places": None})


def _other_job(whole: Polled, last: Counters) -> Polled:
    return whole.model_copy(update={"job": "another", "places": None})


def _nothing(whole: Polled, last: Counters) -> Polled:
    return whole.model_copy(update={"counters": {}, "places": None})


_BROKEN: tuple[Callable[[Polled, Counters], Polled], ...] = (
    _down,
    _zeros,
    _half,
    _old,
    _not_a_number,
    _other_job,
    _nothing,
)
