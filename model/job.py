"""The job graph: operators, streams between them, and their costs."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from edgeplace.model.base import Frozen, Id, NonNegative, Positive, Whole, one_or_more, sums_to_one
from edgeplace.model.cost import Costs, OperatorCost, SourceDemand, StreamCost
from edgeplace.model.document import parse
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.text import did_you_mean, first_few

MOST_PARALLELISM = 32768


def default_max_parallelism(parallelism: int) -> int:
    """Return the key groups that Flink gives an operator whose maximum parallelism is not set.

    As `KeyGroupRangeAssignment.computeDefaultMaxParallelism` does.
    """
    half_more = parallelism + parallelism // 2
    power_of_two = 1 << max(half_more - 1, 0).bit_length()
    return min(max(power_of_two, 128), MOST_PARALLELISM)


class ShipStrategy(StrEnum):
    """The way in which Flink distributes records from the subtasks of one operator to the next."""

    FORWARD = "FORWARD"
    HASH = "HASH"
    REBALANCE = "REBALANCE"
    RESCALE = "RESCALE"
    SHUFFLE = "SHUFFLE"
    BROADCAST = "BROADCAST"
    GLOBAL = "GLOBAL"
    CUSTOM = "CUSTOM"


def _with_names(data: Any, **names: str) -> Any:
    """Return the data of a document with the keys added that its cost may omit: cost key -> own
    key.
    """
    if not isinstance(data, dict) or not isinstance(data.get("cost"), dict):
        return data
    # The check of the field itself reports a value that is not a text.
    known = {there: str(data[here]) for there, here in names.items() if here in data}
    return {**data, "cost": {**known, **data["cost"]}}


class Operator(Frozen):
    """A Flink job vertex: a chain of operators that run in one task thread."""

    id: Id
    name: Id
    parallelism: Whole = Field(ge=1, le=MOST_PARALLELISM)
    max_parallelism: Annotated[Whole, Field(ge=1, le=MOST_PARALLELISM)] = 0
    """Number of key groups, which a HASH stream distributes over the subtasks. By default Flink
    derives it from the parallelism.
    """
    slot_sharing_group: Id = "default"
    chained: tuple[str, ...] = ()
    """Operators chained into this vertex, with their names in Flink, also if it is one: `name` may
    be the user's own. A cut between them is hidden from placement."""
    born_at: Annotated[tuple[Id, ...], BeforeValidator(one_or_more, tuple[Id, ...] | Id)] = ()
    """For sources: where the data of each subtask is born (a site, node or TaskManager id);
    one entry stands for all subtasks. `anywhere` lets the source run on any node. In a file,
    patterns such as `depot-*` may stand for the places that fit, one subtask for each."""
    memory_bytes: NonNegative = 0.0
    """Memory of one subtask besides its state."""
    gpus: Annotated[Whole, Field(ge=0)] = 0
    """GPUs, or other accelerators, that one subtask needs."""
    cost: OperatorCost | None = None
    """Its `operator` may be omitted here."""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        data = _with_names(data, operator="id")
        if isinstance(data, dict) and "max_parallelism" not in data:
            try:
                p = int(data.get("parallelism", 1))
            except (TypeError, ValueError, OverflowError):
                # The check of the field itself reports the error.
                p = 1
            data = {**data, "max_parallelism": default_max_parallelism(p)}
        return data

    @model_serializer(mode="wrap")
    def _without_the_default(
        self, rest: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        data: dict[str, Any] = rest(self)
        derived = default_max_parallelism(self.parallelism)
        if info.exclude_defaults and self.max_parallelism == derived:
            data.pop("max_parallelism", None)
        return data

    @model_validator(mode="after")
    def _fits_parallelism(self) -> Self:
        if self.cost and self.cost.operator not in (self.id, self.name):
            raise ValueError(
                f"operator {self.name!r} ({self.id}) has the cost of {self.cost.operator!r}; leave "
                "its operator out, or name this one"
            )
        if self.parallelism > self.max_parallelism:
            raise ValueError(
                f"operator {self.name!r} ({self.id}): parallelism {self.parallelism} exceeds "
                f"max_parallelism {self.max_parallelism}; lower the one or raise the other"
            )
        # What patterns stand for is counted once the cluster is known.
        patterns = any("*" in place for place in self.born_at)
        if not patterns and len(self.born_at) not in (0, 1, self.parallelism):
            raise ValueError(
                f"operator {self.name!r} ({self.id}): born_at has {len(self.born_at)} entries for "
                f"{self.parallelism} subtasks; give one, or one for each subtask"
            )
        return self


class Stream(Frozen):
    """A directed edge of the job graph."""

    source: Id
    target: Id
    ship_strategy: ShipStrategy
    cost: StreamCost | None = None
    """Its `source` and `target` may be omitted here."""

    @model_validator(mode="before")
    @classmethod
    def _cost_is_its_own(cls, data: Any) -> Any:
        return _with_names(data, source="source", target="target")


class JobGraph(Frozen):
    """A Flink job: a directed acyclic graph of operators."""

    format: Literal["edgeplace/job-graph"] = "edgeplace/job-graph"
    version: Literal[1] = 1
    name: Id
    job_id: str = ""
    operators: tuple[Operator, ...] = Field(min_length=1)
    streams: tuple[Stream, ...] = ()
    buffer_timeout_ms: NonNegative = 100.0
    watermark_interval_ms: Positive | None = None
    """`pipeline.auto-watermark-interval` of a job in event time. If records are few, watermarks
    determine the number of buffers. None: watermarks are not counted.
    """
    checkpoint_interval_ms: Positive | None = None
    state_backend: Literal["heap", "rocksdb"] = "heap"
    """Heap state counts against a TaskManager's memory, RocksDB state against its disk."""
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_a_job(self) -> Self:
        by_id: dict[str, Operator] = {}
        for op in self.operators:
            if op.id in by_id:
                raise ValueError(
                    f"two operators have the id {op.id!r} ({by_id[op.id].name!r} and {op.name!r}); "
                    "names may repeat, ids may not"
                )
            by_id[op.id] = op
        for s in self.streams:
            _check_stream(s, by_id)
        self._check_acyclic(by_id)
        fed = {s.target for s in self.streams}
        for op in self.operators:
            _check_demand(op, op.id in fed)
        return self

    def _check_acyclic(self, by_id: Mapping[str, Operator]) -> None:
        order: TopologicalSorter[str] = TopologicalSorter()
        for s in self.streams:
            order.add(s.target, s.source)
        try:
            order.prepare()
        except CycleError as e:
            cycle = " -> ".join(by_id[op].name for op in e.args[1])
            raise ValueError(
                f"the streams form a cycle: {cycle}; iterations are not supported, remove one of "
                "these streams"
            ) from None

    def operator(self, ref: str) -> Operator:
        """Return the operator with this id, or with this name if only one has it.

        Raises
        ------
        InvalidInputError
            If there is none, or if several operators share the name.
        """
        for op in self.operators:
            if op.id == ref:
                return op
        named = [op for op in self.operators if op.name == ref]
        if len(named) == 1:
            return named[0]
        if named:
            raise InvalidInputError(
                f"{len(named)} operators of job {self.name!r} are named {ref!r}",
                f"use an id: {_some(op.id for op in named)}",
            )
        raise no_such_operator([self], ref)

    def sources(self) -> tuple[Operator, ...]:
        """Return the operators without inputs."""
        fed = {s.target for s in self.streams}
        return tuple(op for op in self.operators if op.id not in fed)

    def with_costs(self, costs: Costs) -> Self:
        """Return this job with measured costs attached.

        Raises
        ------
        InvalidInputError
            If `costs` names operators or streams that this job does not have, one operator twice,
            or figures that do not fit them.
        """
        try:
            by_op = {self.operator(c.operator).id: c for c in costs.operators}
            by_stream = {
                (self.operator(c.source).id, self.operator(c.target).id): c for c in costs.streams
            }
        except InvalidInputError as e:
            raise InvalidInputError(
                f"the costs of job {costs.job!r} do not fit job {self.name!r}: {e.what}",
                f"measure this job, or correct the operator names ({e.cure})",
            ) from e
        if len(by_op) < len(costs.operators):
            raise InvalidInputError(
                f"the costs of job {costs.job!r} give an operator twice (by its id and its name?): "
                f"{_some(c.operator for c in costs.operators)}",
                "keep one entry for each operator",
            )
        have = {(s.source, s.target) for s in self.streams}
        for pair in by_stream:
            if pair not in have:
                raise InvalidInputError(
                    f"the costs name a stream {pair[0]!r} -> {pair[1]!r} that job {self.name!r} "
                    "does not have",
                    "measure this job anew",
                )
        return self.revised(
            operators=tuple(
                op.model_copy(update={"cost": by_op.get(op.id, op.cost)}) for op in self.operators
            ),
            streams=tuple(
                s.model_copy(update={"cost": _as_stated(s, by_stream.get((s.source, s.target)))})
                for s in self.streams
            ),
            checkpoint_interval_ms=costs.checkpoint_interval_ms or self.checkpoint_interval_ms,
            state_backend=costs.state_backend or self.state_backend,
        )

    def with_source_rate(self, source: str, rate_per_s: float) -> Self:
        """Return this job with the demand of one source set to a total of `rate_per_s` records/s.

        The total is divided among the subtasks in the measured proportion, or evenly.

        Raises
        ------
        InvalidInputError
            If there is no such operator, or it is not a source.
        """
        op = self.operator(source)
        if op.id not in {o.id for o in self.sources()}:
            raise InvalidInputError(
                f"operator {op.name!r} has inputs, so its rate follows from its sources",
                f"set the rate of a source: {_some(o.name for o in self.sources())}",
            )
        if not 0 <= rate_per_s < float("inf"):
            raise InvalidInputError(f"the rate of {op.name!r} is {rate_per_s:g} records/s", "")
        old = op.cost.demand.rates_per_s if op.cost and op.cost.demand else ()
        total = sum(old)
        if len(old) == op.parallelism and total > 0:
            rates = tuple(rate_per_s * r / total for r in old)
        else:
            rates = (rate_per_s / op.parallelism,) * op.parallelism
        cost = (op.cost or OperatorCost(operator=op.id)).model_copy(
            update={"demand": SourceDemand(rates_per_s=rates, origin="stated")}
        )
        return self.revised(
            operators=tuple(
                o.model_copy(update={"cost": cost}) if o.id == op.id else o for o in self.operators
            )
        )

    def revised(self, **changes: object) -> Self:
        """Return a validated copy with some fields replaced.

        Raises
        ------
        InvalidInputError
            If the result is not a valid job.
        """
        return parse({**dict(self), **changes}, type(self), f"job {self.name!r}")


def _check_stream(s: Stream, by_id: Mapping[str, Operator]) -> None:
    for end in (s.source, s.target):
        if end not in by_id:
            raise ValueError(
                f"stream {s.source!r} -> {s.target!r}: there is no operator with the id "
                f"{end!r}; the job has {_some(by_id)}"
            )
    a, b = by_id[s.source], by_id[s.target]
    if s.ship_strategy is ShipStrategy.FORWARD and a.parallelism != b.parallelism:
        raise ValueError(
            f"stream {a.name!r} -> {b.name!r} is FORWARD between parallelisms "
            f"{a.parallelism} and {b.parallelism}; FORWARD needs equal ones (RESCALE is "
            "the local strategy for unequal ones)"
        )
    if s.cost and s.cost.shares_by_producer is not None:
        _check_shares_by_producer(s, s.cost.shares_by_producer, a, b)
    if s.cost and s.cost.partial and s.ship_strategy is not ShipStrategy.HASH:
        raise ValueError(
            f"stream {a.name!r} -> {b.name!r} is {s.ship_strategy.value} and has a partial: only "
            "what is grouped by key can be aggregated before it is sent, over a HASH stream"
        )
    shares = s.cost.shares if s.cost else None
    if shares is not None and (len(shares) != b.parallelism or not sums_to_one(shares)):
        raise ValueError(
            f"stream {a.name!r} -> {b.name!r}: {len(shares)} shares that sum to "
            f"{sum(shares):g}; expected {b.parallelism} that sum to 1"
        )


def _check_shares_by_producer(
    s: Stream, rows: tuple[tuple[float, ...], ...], a: Operator, b: Operator
) -> None:
    where = f"stream {a.name!r} -> {b.name!r}"
    if s.ship_strategy is not ShipStrategy.CUSTOM:
        raise ValueError(
            f"{where} is {s.ship_strategy.value} and has shares_by_producer: only a CUSTOM stream "
            "is routed by weights of its own; leave them out, or give shares"
        )
    if len(rows) != a.parallelism:
        raise ValueError(
            f"{where}: shares_by_producer has {len(rows)} rows for {a.parallelism} producers"
        )
    for i, row in enumerate(rows):
        if len(row) != b.parallelism or not sums_to_one(row):
            raise ValueError(
                f"{where}: row {i} of shares_by_producer has {len(row)} shares that sum to "
                f"{sum(row):g}; expected {b.parallelism} that sum to 1"
            )


def _check_demand(op: Operator, has_inputs: bool) -> None:
    demand = op.cost.demand if op.cost else None
    if has_inputs and (op.born_at or demand):
        raise ValueError(
            f"operator {op.name!r} ({op.id}) has inputs, so it can have neither born_at "
            "nor a demand: those are for sources; use a pin rule to hold it in a place"
        )
    if demand and len(demand.rates_per_s) not in (1, op.parallelism):
        raise ValueError(
            f"source {op.name!r} ({op.id}): {len(demand.rates_per_s)} rates for "
            f"{op.parallelism} subtasks; give one for each subtask"
        )


def _as_stated(stream: Stream, measured: StreamCost | None) -> StreamCost | None:
    """Return the measured cost of a stream with what no log tells: its partial aggregate."""
    if measured is None:
        return stream.cost
    stated = stream.cost.partial if stream.cost else None
    return measured.model_copy(update={"partial": measured.partial or stated})


def _some(names: Iterable[str], most: int = 6) -> str:
    return first_few([repr(n) for n in names], most) or "none"


def no_such_operator(jobs: Sequence[JobGraph], ref: str, otherwise: str = "") -> InvalidInputError:
    """Return the error of an operator that none of some jobs has, by id or by name.

    Parameters
    ----------
    otherwise
        The cure if no name is near; empty: the operators that there are.
    """
    what = f"job {jobs[0].name!r} has no operator {ref!r}"
    if len(jobs) > 1:
        of = ", ".join(repr(job.name) for job in jobs)
        what = f"none of the jobs {of} has an operator {ref!r}"
    operators = [op for job in jobs for op in job.operators]
    known = [*(op.name for op in operators), *(op.id for op in operators)]
    return InvalidInputError(what, did_you_mean(ref, known, otherwise or operators_of(jobs)))


def operators_of(jobs: Sequence[JobGraph]) -> str:
    """Return a sentence with the operators of some jobs, by name."""
    names = dict.fromkeys(op.name for job in jobs for op in job.operators)
    return f"{'its' if len(jobs) == 1 else 'their'} operators are {_some(names)}"
