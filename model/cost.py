"""Costs of running a job: measured by `spark_stats`, stated by the user, or written by hand."""

import itertools
import math
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Whole, one_or_more
from edgeplace.model.laws.by_rate import AtRate
from edgeplace.model.laws.flush import FlushLaw
from edgeplace.model.laws.state import StateLaw

ENOUGH_BUSY_SHARE = 0.05
"""Least share of the time in which subtasks must be busy for their rate to be strong.

Flink counts busy time by a clock of whole milliseconds, and a thread without work wakes up for
every buffer, some ten times a second (`execution.buffer-timeout`: 100 ms). That is up to 10 ms of
each second, 1 % of the time, without work on records: a fifth of the busy time at this share, and
all of it at 1 %. Besides, code that runs this rarely is often not yet compiled.
"""


class ClassCost(Frozen):
    """CPU cost of an operator on one class of nodes.

    Ratios between two machine types differ by operator, so each measured pair of operator and node
    class has its own cost.
    """

    node_class: Id
    true_rate_per_s: Positive
    """Records in (out, for sources) per busy second of one subtask thread (DS2, OSDI'18)."""
    cpu_ms_per_record: Positive | None = None
    """CPU time a record, from process CPU; None: one busy second is one core-second."""
    cpu_by: Literal["regression", "busy time"] | None = None
    """How `cpu_ms_per_record` was found; None: not known. By regression, it is what the CPU time of
    TaskManagers changes by with a record. By busy time, it is a share of that CPU time, and
    `cpu_by_reason` says why.
    """
    cpu_interval_ms_per_record: tuple[NonNegative, NonNegative] | None = None
    """Where `cpu_ms_per_record` lies with a probability of 90 %; by regression only."""
    cpu_by_reason: str = ""
    """The reason why there is no regression; empty: there is one, or no reason is known."""
    origin: Literal["measured", "stated", "estimated"] = "measured"
    busy_s: NonNegative = 0.0
    """Busy seconds behind the figure, without those in which a thread waited for a core."""
    busy_share: NonNegative | None = None
    """Busy seconds divided by the time in which the subtasks were observed; None: not measured."""
    weak: str = ""
    """The reason why the figure may be wrong, such as `busy 0.40% of the time`; empty: no reason
    is known. A plan that depends on the figure says so.
    """
    samples: Whole = Field(default=0, ge=0)
    """Number of counter differences behind the figure."""
    relative_spread: NonNegative | None = None
    """Standard deviation over mean of the rates of single samples, weighted by busy time."""
    stationary: bool = True
    """False if the rate drifts over the window; see `by_quarter_per_s`."""
    by_quarter_per_s: tuple[float | None, ...] = ()
    """The true rate in each quarter of the window; None where the subtasks were idle."""

    @property
    def core_ms_per_record(self) -> float:
        """CPU time a record; where it is not known, a busy second is a core-second."""
        return self.cpu_ms_per_record or 1000 / self.true_rate_per_s

    @property
    def known_from(self) -> Literal["measured", "stated", "estimated"]:
        """The `origin`; `stated` where it says measured, and nothing of a measurement is there."""
        measured = self.samples or self.busy_s or self.has_interval
        return "stated" if self.origin == "measured" and not measured else self.origin

    @property
    def has_interval(self) -> bool:
        """Whether it is known how far the cost may be off."""
        return self.cpu_interval_ms_per_record is not None or self.relative_spread is not None

    @property
    def better_log(self) -> str:
        """How long to record, and at which rate, to know this cost better."""
        if self.cpu_by == "regression":
            return "10 minutes, at a third, at two thirds and at full speed in turn"
        enough = self.busy_share is None or self.busy_share >= ENOUGH_BUSY_SHARE
        if enough or not self.busy_share:
            return "60 s at two thirds of full speed"
        times = math.ceil(ENOUGH_BUSY_SHARE / self.busy_share)
        return f"60 s at {times} times this rate (if it is less: two thirds of full speed)"

    @model_validator(mode="after")
    def _interval_ascends(self) -> Self:
        ends = self.cpu_interval_ms_per_record
        if ends and ends[0] > ends[1]:
            raise ValueError(
                f"node class {self.node_class!r}: cpu_interval_ms_per_record does not ascend"
            )
        return self


class Background(Frozen):
    """Cores that each TaskManager of a node class uses without records, by regression.

    Plans do not count it: it is a part of what `cpu_target` leaves free.
    """

    node_class: Id
    cores: NonNegative
    interval_cores: tuple[NonNegative, NonNegative]
    """Where it lies with a probability of 90 %."""


_Rates = Annotated[tuple[NonNegative, ...], Field(min_length=1)]


class SourceDemand(Frozen):
    """Records per second that a source emits, for each of its subtasks."""

    rates_per_s: Annotated[_Rates, BeforeValidator(one_or_more, _Rates | NonNegative)]
    """One figure stands for each of them."""
    throttled: bool = False
    """True if back pressure held the source back: the rates are a lower bound of demand."""
    back_pressured_share: float | None = Field(default=None, ge=0, le=1)
    origin: Literal["measured", "stated"] = "measured"


class OperatorCost(Frozen):
    """Cost of one operator, over all its subtasks unless stated otherwise."""

    operator: Id
    """Id of the operator, or its name if the name is unique in the job."""
    name: str = ""
    """Its name, for people."""
    classes: tuple[ClassCost, ...] = ()
    selectivity: NonNegative | None = None
    """Records out per record in, over all outputs; None for sources and where unknown."""
    demand: SourceDemand | None = None
    """For sources only."""
    state_bytes: NonNegative | None = None
    """Largest full state over recent checkpoints."""
    checkpointed_bytes: NonNegative | None = None
    """Mean bytes written by a checkpoint (less than the state if incremental); of the last one, if
    they still grew or shrank. With `state_law`, what checkpoints write of `state_bytes`."""
    state_law: StateLaw | None = None
    """The state at any rate. It replaces `state_bytes`, and what a checkpoint writes is as large a
    part of it as measured."""
    not_in_log: tuple[str, ...] = ()
    """Figures that the log does not have."""
    notes: tuple[str, ...] = ()
    """Warnings on the figures."""

    @model_validator(mode="after")
    def _classes_differ(self) -> Self:
        names = [c.node_class for c in self.classes]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"operator {self.operator!r}: node class {name!r} is given twice")
        return self

    def on(self, node_class: str) -> ClassCost | None:
        """Return the cost on a node class, or None if that pair was never seen."""
        return next((c for c in self.classes if c.node_class == node_class), None)


class PartialAggregate(Frozen):
    """What a partial aggregate before a HASH stream would send, which the job does not have yet."""

    law: FlushLaw
    """Its records out, for one subtask of the source operator: keys, skew, and when it flushes."""
    bytes_per_record: Positive
    """Of one accumulator with its key."""


class StreamCost(Frozen):
    """The traffic of one stream."""

    source: Id
    target: Id
    selectivity: NonNegative | None = None
    """Records on this stream per record into the source operator (per record emitted, for
    sources). None: the operator's selectivity, allowed where it has this one output only."""
    bytes_per_record: NonNegative | None = None
    flushes_per_s: Positive | None = None
    """How often a second a channel of the stream has something to send, records or watermarks: at
    that many ticks of the buffer timeout, at most, it sends a buffer that is not full. A window
    that sends its results at once every 10 s: 0.1. It does not change with the rate. None: records
    are spread evenly over time."""
    by_rate: tuple[AtRate, ...] = ()
    """Measurements at several ascending rates. They replace `selectivity` and `bytes_per_record`.
    Between two rates, records and bytes are interpolated as powers of the rate; beyond the ends
    they are proportional to it. With a `flush_law`, measured selectivity over the
    law's is interpolated, and constant beyond the ends.
    """
    flush_law: FlushLaw | None = None
    """What the source operator puts out at any rate; it needs `by_rate`, which sets the level."""
    shares: tuple[NonNegative, ...] | None = None
    """Measured share of the records that each consumer subtask gets (sums to 1); None: by key
    groups (HASH) or even."""
    shares_by_producer: tuple[tuple[NonNegative, ...], ...] | None = None
    """The same for each producer subtask, where a router sends by weights: one row for each, that
    sums to 1. It replaces `shares`."""
    partial: PartialAggregate | None = None
    """Of a HASH stream: for advice. Plans do not depend on it."""
    local_bytes_per_s: NonNegative | None = None
    """Measured bytes per second that stayed inside a TaskManager."""
    remote_bytes_per_s: NonNegative | None = None
    """Measured bytes per second that came from another TaskManager."""
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _rates_ascend(self) -> Self:
        rates = [seen.rate_per_s for seen in self.by_rate]
        if any(b <= a for a, b in itertools.pairwise(rates)):
            raise ValueError(
                f"stream {self.source!r} -> {self.target!r}: the rates of by_rate do not ascend"
            )
        if self.flush_law and not rates:
            raise ValueError(
                f"stream {self.source!r} -> {self.target!r}: flush_law without by_rate; give at "
                "least one measurement, which sets the level of the law"
            )
        return self


class Costs(Frozen):
    """All measurements of one job over one window."""

    format: Literal["edgeplace/costs"] = "edgeplace/costs"
    version: Literal[1] = 1
    job: str
    """Name of the job."""
    from_ms: Whole | None = None
    to_ms: Whole | None = None
    operators: tuple[OperatorCost, ...]
    streams: tuple[StreamCost, ...] = ()
    placement: dict[str, tuple[str | None, ...]] = {}
    """Operator id -> last known TaskManager of each subtask; None if it was not seen."""
    background: tuple[Background, ...] = ()
    """Of each node class where the log tells it; elsewhere it is in the costs of the operators."""
    checkpoint_interval_ms: Positive | None = None
    state_backend: Literal["heap", "rocksdb"] | None = None
    notes: tuple[str, ...] = ()
