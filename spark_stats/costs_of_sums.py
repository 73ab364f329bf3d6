"""From the sums of a log to its costs."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Costs, OperatorCost
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.combiners import gatherings, with_laws
from edgeplace.spark_stats.cpu.choice import learn
from edgeplace.spark_stats.cpu.slicing import busy_of_others, slices_by_class
from edgeplace.spark_stats.cpu.starved import full_minutes, starved_minutes
from edgeplace.spark_stats.emitted import emitted_minutes, emitted_totals, with_own_sink
from edgeplace.spark_stats.estimates import with_estimates
from edgeplace.spark_stats.job_facts import LogFacts, read_facts
from edgeplace.spark_stats.log_notes import notes_on_content, notes_on_jobs
from edgeplace.spark_stats.matching import (
    by_operator,
    find_operator,
    in_terms_of,
    job_of_log,
    operator_ids,
    other_names,
)
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.operators import is_source, operator_cost
from edgeplace.spark_stats.placing import Placement, last_placement, placed
from edgeplace.spark_stats.processors import CpuTime
from edgeplace.spark_stats.rescaling import (
    OneTime,
    last_rescaling,
    note_on,
    of_one_time,
)
from edgeplace.spark_stats.sample_counts import SampleCounts, counts_of
from edgeplace.spark_stats.state_at_rates import HeldState, with_state_laws
from edgeplace.spark_stats.streams import BUFFER_BYTES, stream_costs
from edgeplace.spark_stats.sums_table import BIN_MS, is_of_subtask
from edgeplace.spark_stats.totals import QuarterTotals, Total, quarter_totals
from edgeplace.spark_stats.weak import mark_weak


@contextmanager
def _within_reach() -> Iterator[None]:
    """Raise an error in clear words for values that are too large for a cost."""
    try:
        # Infinity is refused at the end, whatever arrays say of it on the way.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (OverflowError, ValidationError) as e:
        what = "numbers that are too large to add"
        if isinstance(e, ValidationError):
            fault = e.errors()[0]
            what = f"{'.'.join(map(str, fault['loc']))} = {fault['input']}: {fault['msg']}"
        raise InvalidInputError(
            f"the log gives {what}",
            "no machine reaches this: look for counters or times in the log that are damaged",
        ) from None


@_within_reach()
def costs_of(
    rows: Sequence[Any],
    minutes: Sequence[SubtaskMinutes],
    states: Sequence[HeldState],
    cluster: Cluster | None,
    job: JobGraph | None,
    placement: Placement | None,
    rates: Mapping[str, float] | None,
    flushes: Mapping[str, Gathering] | None,
    damage: tuple[int, Sequence[str]],
) -> tuple[Costs, SampleCounts]:
    """Return the costs that the sums of a log give, and the counts of what it has.

    Parameters
    ----------
    rows
        What `counter_deltas.sums` returns, collected.
    minutes
        What each subtask and TaskManager did in each minute.
    states
        The state of each vertex in each checkpoint.
    cluster, job, placement, rates, flushes
        As in `measure`.
    damage
        Number of bad lines, and notes on damaged files.

    Raises
    ------
    InvalidInputError
        As in `measure`, and if values are too large for a cost.
    """
    names = job_names(rows)
    times_ms = _times_ms(rows)
    job_id = job_of_log(names, times_ms, job)
    tasks = [quarter_totals(x) for x in rows if is_of_subtask(x) and x.job == job_id]
    # A TaskManager may be older than the job, and outlive it.
    task_managers = _in_time(minutes, times_ms[job_id])
    counts = counts_of(rows)
    log_facts, rescaling = last_rescaling(read_facts(rows, job_id), minutes, job_id)
    if rescaling and rescaling.at_ms <= times_ms[job_id][0]:
        # A ledger has it of the time before that which is asked for.
        rescaling = None
    ids = operator_ids(log_facts, job)
    facts = in_terms_of(log_facts, ids, job)
    by_id = by_operator(tasks, ids, facts)
    own_sink = with_own_sink(by_id, facts)
    by_id |= {op: emitted_totals(by_id[op]) for op in own_sink}
    minutes = emitted_minutes(minutes, job_id, ids, own_sink)
    measured = placed(by_id, facts, cluster, placement)
    sources = {op for op, ts in measured.items() if is_source(op, Total(ts), facts)}
    all_tasks = [t for ts in measured.values() for t in ts]
    full = full_minutes(minutes, all_tasks, cluster)
    starved = starved_minutes(minutes, job_id, ids, sources, full)
    cpu = CpuTime.of(
        *(task_managers, all_tasks, full, starved),
        others_ms=_busy_of_others(minutes, job_id, times_ms[job_id]),
    )
    slices = slices_by_class(
        minutes, job_id, ids, measured, sources, {place: f.full for place, f in full.items()}
    )
    cpu = cpu.with_choices({c: (own, learn(own)) for c, own in slices.items()}, facts.names)
    known = gatherings(flushes or {}, facts, sources)
    told = {ids[v]: log_facts.parallelism[v] for v in log_facts.told if v in ids}
    then = replace(facts, parallelism=facts.parallelism | told)
    time = OneTime(then, measured, minutes)
    if rescaling:
        time = of_one_time(rescaling, time, job_id, ids)
    costs = Costs(
        job=facts.job_name or "unnamed",
        from_ms=min(int(t.sums["from_ms"]) for t in tasks),
        to_ms=max(int(t.sums["to_ms"]) for t in tasks),
        operators=with_state_laws(
            _operators(facts, measured, time, sources, cpu, cluster, rates or {}),
            *(states, minutes, job_id, ids, sources),
        ),
        background=cpu.background,
        streams=with_laws(
            stream_costs(
                *(time.facts, measured, time.totals, facts.parallelism),
                cluster.buffer_bytes if cluster else BUFFER_BYTES,
            ),
            *(time.minutes, job_id, ids, known, time.facts),
        ),
        placement=last_placement(measured, facts),
        checkpoint_interval_ms=facts.checkpoint_interval_ms,
        state_backend=facts.state_backend,
        notes=(
            *notes_on_content(counts, damage, facts),
            *([note_on(rescaling, log_facts, time)] if rescaling else ()),
            *notes_on_jobs(rows, names, job_id),
            *other_names(log_facts, ids, job),
        ),
    )
    return costs, counts


def job_names(rows: Sequence[Any]) -> dict[str, str]:
    """Return id -> name of each job that the log has metrics of.

    Series that name no job are one job, unless others name theirs.
    """
    jobs = {x.job for x in rows if is_of_subtask(x) and x.samples}
    return {job: read_facts(rows, job).job_name or job for job in sorted(jobs - {None}) or jobs}


def _times_ms(rows: Sequence[Any]) -> dict[str, tuple[int, int]]:
    """Return id -> first and last time of each job that the log has metrics of."""
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        if is_of_subtask(row) and row.samples:
            first, last = found.get(row.job, (row.from_ms, row.to_ms))
            found[row.job] = min(first, row.from_ms), max(last, row.to_ms)
    return found


def _busy_of_others(
    minutes: Sequence[SubtaskMinutes], job: str, between_ms: tuple[int, int]
) -> dict[str, float]:
    """Return the busy ms of other jobs on each TaskManager in the minutes of a time."""
    found: dict[str, float] = {}
    for (place, minute), busy_ms in sorted(busy_of_others(minutes, job).items()):
        if between_ms[0] - BIN_MS < minute <= between_ms[1]:
            found[place] = found.get(place, 0.0) + busy_ms
    return found


def _in_time(minutes: Sequence[SubtaskMinutes], between_ms: tuple[int, int]) -> list[QuarterTotals]:
    """Return the CPU time of each TaskManager in the minutes of a time, at its mean where the log
    does not have it.
    """
    found = []
    for m in minutes:
        if m.kind == r.TASK_MANAGER:
            first, last = between_ms
            inside = m.only((first - BIN_MS < m.at_ms) & (m.at_ms <= last))
            known = inside.only(inside.knows("cpu_ns") & (inside.dt_ms > 0))
            if len(known.at_ms):
                share = math.fsum(known.dt_ms) / math.fsum(inside.dt_ms)
                sums = {"cpu_ns": math.fsum(known.sums["cpu_ns"]) / share}
                found.append(QuarterTotals(m.vertex, m.subtask, 0, sums, m.location))
    return found


def _operators(
    facts: LogFacts,
    measured: Mapping[str, Sequence[QuarterTotals]],
    time: OneTime,
    sources: Collection[str],
    cpu: CpuTime,
    cluster: Cluster | None,
    rates: Mapping[str, float],
) -> tuple[OperatorCost, ...]:
    stated = {find_operator(ref, facts, "a rate"): rate for ref, rate in rates.items()}
    for operator, rate in stated.items():
        if not 0 <= rate < math.inf:
            raise InvalidInputError(
                f"the rate of {facts.names[operator]!r} is {rate}", "give records/s, 0 or more"
            )
        if operator not in sources:
            raise InvalidInputError(
                f"a rate is given for {facts.names[operator]!r}, which has inputs",
                "give the rates of sources; other rates follow from them",
            )
    costs = [
        operator_cost(
            *(operator, ts, time.facts, cpu, stated.get(operator)),
            *(time.totals[operator], facts.parallelism[operator]),
        )
        for operator, ts in measured.items()
    ]
    return with_estimates(mark_weak(costs, cluster), cluster)
