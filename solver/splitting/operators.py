"""Operators that routers feed, and their jobs with other weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from edgeplace.model import InvalidInputError, JobGraph, Stream, no_such_operator, split_streams
from edgeplace.model.cost import StreamCost
from edgeplace.solver.arrays import Floats


@dataclass(frozen=True)
class SplitOperator:
    """An operator whose records a router deals out by weights."""

    job: int
    id: str
    name: str
    parallelism: int
    streams: tuple[int, ...]
    """The streams of the router, by their index in the job."""


def split_operators(jobs: Sequence[JobGraph], refs: Sequence[str]) -> tuple[SplitOperator, ...]:
    """Return the operators with these ids or names.

    Raises
    ------
    InvalidInputError
        If no or several jobs have one, no CUSTOM stream feeds it, another stream feeds it, too, it
        is named twice, or it is behind another one.
    """
    found: list[SplitOperator] = []
    for ref in refs:
        having = [
            (j, job)
            for j, job in enumerate(jobs)
            if any(ref in (o.id, o.name) for o in job.operators)
        ]
        if not having:
            raise no_such_operator(jobs, ref)
        if len(having) != 1:
            raise InvalidInputError(
                f"{len(having)} jobs have an operator {ref!r}, which is to be split",
                "name an operator of one job, by its id",
            )
        j, job = having[0]
        op = job.operator(ref)
        routed = split_streams(job, op.id)
        feeding = [i for i, s in enumerate(job.streams) if s.target == op.id]
        if not routed or len(feeding) > len(routed):
            raise InvalidInputError(
                f"operator {op.name!r} cannot be split: it is fed by "
                f"{', '.join(job.streams[i].ship_strategy.value for i in feeding) or 'nothing'}, "
                "and a router sends by CUSTOM",
                "split the combiner behind the router (docs/splitting.md); what is keyed, joined "
                "or kept in order stays whole",
            )
        if any((other.job, other.id) == (j, op.id) for other in found):
            raise InvalidInputError(
                f"operator {op.name!r} is to be split twice", "name each operator once"
            )
        for other in found:
            if other.job == j and (
                other.id in _behind(job, op.id) or op.id in _behind(job, other.id)
            ):
                raise InvalidInputError(
                    f"operators {other.name!r} and {op.name!r} are both to be split, and one is "
                    "behind the other",
                    "split one of them",
                )
        found.append(SplitOperator(j, op.id, op.name, op.parallelism, tuple(feeding)))
    return tuple(found)


def even_rows(ops: Sequence[SplitOperator]) -> dict[SplitOperator, Floats]:
    """Return the weights of a router that was given none, for `with_rows`."""
    return {op: np.full(op.parallelism, 1 / op.parallelism) for op in ops}


def with_rows(
    jobs: Sequence[JobGraph], rows: Mapping[SplitOperator, ArrayLike]
) -> tuple[JobGraph, ...]:
    """Return jobs with weights: the same row for all producers, or a row for each one.

    Parameters
    ----------
    rows
        Shape (parallelism,), or (n_producers, parallelism) where all streams have as many.
    """
    changed = list(jobs)
    for op, weights in rows.items():
        job = changed[op.job]
        streams = list(job.streams)
        for i in op.streams:
            p = job.operator(streams[i].source).parallelism
            each = np.broadcast_to(np.asarray(weights, float), (p, op.parallelism))
            shares = tuple(tuple(row) for row in each.tolist())
            streams[i] = _with_cost(streams[i], shares_by_producer=shares)
        changed[op.job] = job.model_copy(update={"streams": tuple(streams)})
    return tuple(changed)


def made_linear(
    jobs: Sequence[JobGraph],
    ops: Sequence[SplitOperator],
    most_per_s: Mapping[SplitOperator, float],
    delayed: bool = False,
) -> tuple[JobGraph, ...]:
    """Return jobs in which streams behind the operators are proportional to their input.

    Where selectivity or record size depends on the rate, they have the least that any weights give
    them: so jobs never send less than these.

    Parameters
    ----------
    most_per_s
        Records/s that one subtask of each operator may get at most. Operators without such a
        figure put out nothing.
    delayed
        Whether full links delay the timers of flush laws: what a link must have room for is less
        than what it carries where it has more. Streams that are not behind keep their law.
    """
    changed = list(jobs)
    for op in ops:
        job = changed[op.job]
        behind = _behind(job, op.id)
        streams = []
        for s in job.streams:
            if s.source == op.id and op not in most_per_s:
                seen = s.cost.by_rate if s.cost else ()
                size = min((at.bytes_per_record for at in seen), default=None)
                silent: dict[str, object] = {"by_rate": (), "flush_law": None, "selectivity": 0.0}
                silent |= {} if size is None else {"bytes_per_record": size}
                streams.append(_with_cost(s, **silent))
            elif s.source in behind | {op.id} and s.cost and s.cost.by_rate:
                most = most_per_s[op] if s.source == op.id else None
                streams.append(_linear(s, s.cost, most, delayed))
            else:
                streams.append(s)
        changed[op.job] = job.model_copy(update={"streams": tuple(streams)})
    return tuple(changed)


def _linear(s: Stream, cost: StreamCost, most_per_s: float | None, delayed: bool) -> Stream:
    law = cost.flush_law
    least = min(at.selectivity for at in cost.by_rate)
    if law is not None:
        lowest = law.least_selectivity()
        if most_per_s is not None and law.gathering.records is None:
            # Distinct keys are concave in what is gathered: more records, fewer keys in each.
            lowest = law.selectivity(most_per_s)
            lowest *= law.held_back_share(most_per_s) if delayed else 1.0
        least = lowest * min(at.selectivity / law.selectivity(at.rate_per_s) for at in cost.by_rate)
    return _with_cost(
        s,
        by_rate=(),
        flush_law=None,
        selectivity=least,
        bytes_per_record=min(at.bytes_per_record for at in cost.by_rate),
    )


def _with_cost(s: Stream, **changes: object) -> Stream:
    cost = s.cost or StreamCost(source=s.source, target=s.target)
    return s.model_copy(update={"cost": cost.model_copy(update=changes)})


def _behind(job: JobGraph, operator: str) -> set[str]:
    graph: nx.DiGraph[str] = nx.DiGraph((s.source, s.target) for s in job.streams)
    found: set[str] = nx.descendants(graph, operator) if operator in graph else set()
    return found
