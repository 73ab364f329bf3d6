"""What a job costs to run: measured by `spark_stats`, stated by the user, or written by hand."""

import itertools
from typing import Literal, Self

from pydantic import Field, model_validator

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Whole

ENOUGH_BUSY_SHARE = 0.05
"""Share of the time that subtasks have to be busy for their rate to be taken as it was measured.

Flink counts busy time by a clock of whole milliseconds, and a thread without work wakes up for
every buffer, some ten times a second (`execution.buffer-timeout`: 100 ms). That is up to 10 ms of
each second, 1 % of the time, which is no work on records: a fifth of the busy time here, and all of
it at 1 %. Code that runs this seldom is often not compiled yet, either.
"""


class ClassCost(Frozen):
    """CPU cost of an operator on one class of nodes.

    Real ratios between two machine types differ by operator, so this is kept for each
    (operator, node class) pair that was seen.
    """

    node_class: Id
    true_rate_per_s: Positive
    """Records in (out, for sources) per busy second of one subtask thread (DS2, OSDI'18)."""
    cpu_ms_per_record: Positive | None = None
    """CPU time a record, from process CPU; None: one busy second is one core-second."""
    origin: Literal["measured", "stated", "estimated"] = "measured"
    busy_s: NonNegative = 0.0
    """Busy seconds that the figure rests on."""
    busy_share: NonNegative | None = None
    """These over the time in which its subtasks were watched; None: not measured."""
    weak: str = ""
    """Why the figure may be far off, such as `busy 0.40% of the time`; empty: nothing is known to
    speak against it. A plan that rests on it says so."""
    samples: Whole = Field(default=0, ge=0)
    """Counter differences that the figure rests on."""
    relative_spread: NonNegative | None = None
    """Standard deviation over mean of the rates of single samples, weighted by busy time."""
    stationary: bool = True
    """False if the rate drifts over the window; see `by_quarter_per_s`."""
    by_quarter_per_s: tuple[float | None, ...] = ()
    """The true rate in each quarter of the window; None where the subtasks were idle."""


class SourceDemand(Frozen):
    """Records per second that a source emits, for each of its subtasks."""

    rates_per_s: tuple[NonNegative, ...] = Field(min_length=1)
    throttled: bool = False
    """True if back pressure held the source back: the rates are a lower bound of demand."""
    back_pressured_share: float | None = Field(default=None, ge=0, le=1)
    origin: Literal["measured", "stated"] = "measured"


class OperatorCost(Frozen):
    """Cost of one operator, over all its subtasks unless said otherwise."""

    operator: Id
    """Id of the operator, or its name where that is unique in the job."""
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
    they still grew or shrank."""
    not_in_log: tuple[str, ...] = ()
    """Figures that the log cannot give."""
    notes: tuple[str, ...] = ()
    """Warnings that belong beside the figures."""

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


class AtRate(Frozen):
    """What flowed over a stream while its source operator had a certain rate.

    What combiners and windows put out does not grow in proportion to what comes in, and watermarks
    come however few records do.
    """

    rate_per_s: Positive
    """Records in (out, for sources) of one subtask of the source operator."""
    selectivity: Positive
    bytes_per_record: Positive


class StreamCost(Frozen):
    """What flows over one stream."""

    source: Id
    target: Id
    selectivity: NonNegative | None = None
    """Records on this stream per record into the source operator (per record emitted, for
    sources). None: the operator's selectivity, allowed where it has this one output only."""
    bytes_per_record: NonNegative | None = None
    by_rate: tuple[AtRate, ...] = ()
    """What was seen at several rates, which ascend; it counts instead of `selectivity` and
    `bytes_per_record`. In between, records and bytes go as powers of the rate; beyond the ends, in
    proportion to it."""
    shares: tuple[NonNegative, ...] | None = None
    """Measured share of the records that each consumer subtask gets (sums to 1); None: by key
    groups (HASH) or even."""
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
        return self


class Costs(Frozen):
    """Everything measured about one job over one window."""

    format: Literal["edgeplace/costs"] = "edgeplace/costs"
    version: Literal[1] = 1
    job: str
    """Name of the job."""
    from_ms: Whole | None = None
    to_ms: Whole | None = None
    operators: tuple[OperatorCost, ...]
    streams: tuple[StreamCost, ...] = ()
    placement: dict[str, tuple[str | None, ...]] = {}
    """Operator id -> TaskManager of each subtask, as seen last; None where it was not seen."""
    checkpoint_interval_ms: Positive | None = None
    state_backend: Literal["heap", "rocksdb"] | None = None
    notes: tuple[str, ...] = ()
