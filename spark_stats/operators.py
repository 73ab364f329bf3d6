"""From totals to the cost of an operator."""

import math
import re
from collections.abc import Iterator, Sequence

from edgeplace.model.cost import ClassCost, OperatorCost, SourceDemand
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.processors import CpuTime
from edgeplace.spark_stats.sums_table import QUARTERS
from edgeplace.spark_stats.totals import QuarterTotals, Total, rates_per_s, subtasks_seen

LAST_IS_TAKEN = "and the last is taken"
"""In a note, where there is no state law."""
THROTTLED_SHARE = 0.05
"""Share of the window in back pressure above which a source counts as throttled."""
DRIFT_RATIO = 1.5
DRIFT_ERRORS = 2.0
"""A rate is not stationary if its fastest quarter is faster than the slowest by this factor, and
by this many standard errors of the two."""
DRIFT_BUSY_SHARE = 0.05
"""Least share of the busy time of a quarter that counts for this test."""

_FEWEST_OF_SPREAD = 3
"""Differences from which rates have a spread: of one it is always 0."""

_USED = (
    *("records_in", "records_out", "bytes_in", "bytes_out", "busy_ms"),
    *("bytes_in_local", "bytes_in_remote", "back_pressured_ms"),
)
"""Sums of which a note says that they are partly missing."""

_NOT_LINEAR = re.compile(r"window|aggregat|join|session|distinct|\bagg\b", re.IGNORECASE)


def operator_cost(
    operator: str,
    measured: Sequence[QuarterTotals],
    facts: LogFacts,
    cpu: CpuTime,
    rate: float | None,
    current: Sequence[QuarterTotals],
    subtasks: int,
) -> OperatorCost:
    """Return the cost of one operator.

    Parameters
    ----------
    operator
        Its id, as in the totals and the facts.
    measured
        The totals of its subtasks.
    facts
        The other facts of the log, with the parallelism of the time of `current`.
    cpu
        Process CPU time, for the CPU cost of a record.
    rate
        Demand in records/s that the caller states, if it is a source.
    current
        The totals of a time with one parallelism, for the demand.
    subtasks
        Its parallelism in the job, among which the demand is dealt if it is another one.
    """
    total = Total(measured)
    source = is_source(operator, total, facts)
    kind = "out" if source else "in"
    classes = tuple(
        cost
        for name in sorted({t.node_class for t in measured if t.node_class is not None})
        if (
            cost := _class_cost(
                operator, name, [t for t in measured if t.node_class == name], kind, cpu
            )
        )
    )
    has_output = facts.edges is None or any(e.source == operator for e in facts.edges)
    return OperatorCost(
        operator=operator,
        name=facts.names[operator],
        classes=classes,
        selectivity=None if source or not has_output else total.ratio("records_out", "records_in"),
        demand=_demand(operator, current, facts, rate, subtasks) if source else None,
        state_bytes=facts.state_bytes.get(operator),
        checkpointed_bytes=facts.checkpointed_bytes.get(operator),
        not_in_log=_not_in_log(operator, measured, facts, kind, classes),
        notes=_notes(operator, measured, facts, source, classes, cpu),
    )


def is_source(operator: str, total: Total, facts: LogFacts) -> bool:
    """Return whether an operator is a source, by the plan if the log has one, else by its name."""
    if facts.edges is not None:
        return all(e.target != operator for e in facts.edges)
    return facts.names.get(operator, operator).startswith("Source:") or (
        total["records_in"] == 0 and total["records_out"] > 0
    )


def _class_cost(
    operator: str, node_class: str, measured: Sequence[QuarterTotals], kind: str, cpu: CpuTime
) -> ClassCost | None:
    """Return the true processing rate on one class of nodes, None if it was never busy there.

    .. math:: \\lambda = \\sum r_i / \\sum b_i

    over differences i of records r and busy time b: a ratio of sums, so long and busy stretches
    weigh more than short and idle ones. In minutes in which a node had no free core, b is CPU
    time, because Flink counts a thread that waits for a processor as busy, and it would wait less
    elsewhere.

    References
    ----------
    V. Kalavri, J. Liagouris, M. Hoffmann, D. Dimitrova, M. Forshaw, T. Roscoe: Three steps is all
    you need: fast, accurate, automatic scaling decisions for distributed streaming dataflows.
    OSDI 2018 (true processing and output rates).
    """
    total = Total(measured)
    # Accumulated busy time is a difference of clocks. It may be 0 for a task that is almost idle,
    # whereas the gauge is not.
    busy = "busy_ms" if total["busy_ms"] > 0 else "gauged_ms"
    per_ms = total.ratio(f"timed_{kind}", busy)
    if not per_ms:
        return None
    quarters = [Total(t for t in measured if t.quarter == q) for q in range(QUARTERS)]
    by_quarter = [q.ratio(f"timed_{kind}", busy) for q in quarters]
    # Records without busy time make the spread meaningless.
    variance = (total.ratio(f"square_{kind}", busy) or 0.0) - per_ms**2
    steady = variance >= -1e-9 * per_ms**2
    working = cpu.working_share(operator, node_class, measured)
    faster = 1000.0 / working
    cpu_cost = cpu.cost(operator, node_class, measured, f"timed_{kind}")
    full, minutes = cpu.full_minutes(measured)
    return ClassCost(
        node_class=node_class,
        true_rate_per_s=faster * per_ms,
        cpu_ms_per_record=cpu_cost and cpu_cost.ms_per_record,
        cpu_by=cpu_cost and cpu_cost.by,
        cpu_interval_ms_per_record=cpu_cost and cpu_cost.interval_ms_per_record,
        cpu_by_reason=cpu_cost.reason if cpu_cost else "",
        busy_s=working * total[busy] / 1000.0,
        busy_share=total.ratio(busy, "dt_ms"),
        samples=int(total["busy_intervals"]),
        relative_spread=(
            math.sqrt(max(variance, 0.0)) / per_ms
            if steady and total["busy_intervals"] >= _FEWEST_OF_SPREAD
            else None
        ),
        # Busy time with and without waiting cannot be compared.
        stationary=0 < full < minutes or not _drifts(quarters, kind, total["busy_ms"]),
        by_quarter_per_s=tuple(None if x is None else faster * x for x in by_quarter),
    )


def _drifts(quarters: Sequence[Total], kind: str, busy_ms: float) -> bool:
    """Return whether the rates of two quarters differ significantly."""
    rates = []
    for q in quarters:
        rate = q.ratio(f"timed_{kind}", "busy_ms")
        if rate and q["busy_ms"] >= DRIFT_BUSY_SHARE * busy_ms and q["busy_intervals"] > 0:
            variance = max((q.ratio(f"square_{kind}", "busy_ms") or 0.0) - rate**2, 0.0)
            rates.append((rate, variance / q["busy_intervals"]))
    if len(rates) < 2:
        return False
    (slow, slow_variance), (fast, fast_variance) = min(rates), max(rates)
    error = math.sqrt(slow_variance + fast_variance)
    return fast > DRIFT_RATIO * slow and fast - slow > DRIFT_ERRORS * error


def _demand(
    operator: str,
    measured: Sequence[QuarterTotals],
    facts: LogFacts,
    rate: float | None,
    subtasks: int,
) -> SourceDemand | None:
    total = Total(measured)
    share = total.ratio("back_pressured_ms", "dt_ms")
    share = None if share is None else min(max(share, 0.0), 1.0)
    count = facts.parallelism[operator]
    known = rates_per_s(measured, "records_out")
    # The log of another TaskManager has the other subtasks; the notes say so.
    mean = sum(known.values()) / len(known) if known else 0.0
    emitted = [known.get(i, mean) for i in range(count)]
    if count != subtasks:
        emitted, count = [sum(emitted) / subtasks] * subtasks, subtasks
    if rate is not None:
        whole = sum(emitted)
        dealt = (rate * m / whole for m in emitted) if whole > 0 else [rate / count] * count
        return SourceDemand(rates_per_s=tuple(dealt), back_pressured_share=share, origin="stated")
    if "records_out" not in total:
        return None
    return SourceDemand(
        rates_per_s=tuple(emitted),
        throttled=share is not None and share > THROTTLED_SHARE,
        back_pressured_share=share,
    )


def _not_in_log(
    operator: str,
    measured: Sequence[QuarterTotals],
    facts: LogFacts,
    kind: str,
    classes: Sequence[ClassCost],
) -> tuple[str, ...]:
    total = Total(measured)
    missing = {
        "records": f"records_{kind}" not in total,
        "counters": total["metered_intervals"] > 0,
        "bytes": "bytes_in" not in total and "bytes_out" not in total,
        "local and remote bytes": "bytes_in_remote" not in total,
        "busy time": f"timed_{kind}" not in total or "busy_ms" not in total,
        "back pressure": "back_pressured_ms" not in total,
        "node class": any(t.node_class is None for t in measured),
        "state": operator not in facts.state_bytes,
        "checkpointed bytes": operator not in facts.checkpointed_bytes,
        "process CPU time": not any(c.cpu_ms_per_record for c in classes),
    }
    return tuple(name for name, absent in missing.items() if absent)


def _notes(
    operator: str,
    measured: Sequence[QuarterTotals],
    facts: LogFacts,
    source: bool,
    classes: Sequence[ClassCost],
    cpu: CpuTime,
) -> tuple[str, ...]:
    total = Total(measured)
    notes = []
    seen, count = len(subtasks_seen(measured)), facts.parallelism[operator]
    if seen < count:
        notes.append(
            f"{count - seen} of {count} subtasks are not in this log"
            + (": their rates are taken as the mean of the others" if source and seen else "")
        )
    name = facts.names.get(operator, operator)
    stateful = facts.state_bytes.get(operator, 0.0) > 0
    if not source and (stateful or _NOT_LINEAR.search(name)):
        notes.append("keeps state or windows: its output may not scale linearly with its input")
    if operator in facts.checkpoints_went:
        first, last = facts.checkpoints_went[operator]
        notes.append(
            f"its checkpoints went from {first:,.0f} to {last:,.0f} bytes, {LAST_IS_TAKEN}: "
            "measure when its state no longer changes, or state its final size"
        )
    for cost in classes:
        here = [t for t in measured if t.node_class == cost.node_class]
        regressed = (operator, cost.node_class) in cpu.regressed
        when_free = cost.node_class in cpu.dealt_when_free
        notes += _class_notes(cost, regressed, cpu.full_minutes(here), when_free)
    return (*notes, *_rate_notes(total, bool(classes))) if seen else tuple(notes)


def _class_notes(
    cost: ClassCost, regressed: bool, full: tuple[int, int], when_free: bool
) -> Iterator[str]:
    """Yield the notes on the cost of a node class.

    Parameters
    ----------
    regressed
        The background of the JVM is not in its CPU time.
    full
        Minutes without a free core, and minutes in all.
    when_free
        CPU time is divided among the operators by the other minutes.
    """
    where = f"on {cost.node_class}"
    if not cost.stationary:
        rates = ", ".join("idle" if x is None else f"{x:,.0f}" for x in cost.by_quarter_per_s)
        yield f"the rate {where} drifts: {rates} records per busy second by quarter"
    if cost.cpu_ms_per_record is not None and not regressed:
        yield (
            f"CPU time {where} is that of the TaskManager, divided by busy time: it contains "
            "the background work of the JVM"
        )
    starved, minutes = full
    if starved:
        when = "" if starved == minutes else f" in {starved} of {minutes} minutes"
        yield (
            f"all cores {where} were busy{when}: threads waited for them, so its rate"
            f"{' then' * bool(when)} comes from CPU time"
            + (
                ""
                if when_free or cost.cpu_by == "regression"
                else ", and the division of CPU time among the operators is uncertain; measure at "
                "two thirds of that load"
            )
        )


def _rate_notes(total: Total, rated: bool) -> Iterator[str]:
    """Yield the notes on how the rate was measured; rated: there is one."""
    if not rated and "busy_ms" not in total:
        yield "no rate: the log has no busy time (legacy sources report NaN)"
    elif not rated and total["busy_ms"] <= 0 < total["records_in"] + total["records_out"]:
        yield "no rate: records passed in less busy time than can be measured"
    elif not rated:
        yield "no rate: its subtasks were idle, or it is not known where they ran"
    if total["metered_intervals"] > 0:
        yield "rates come from per-second meters, which are 60 s averages, not counters"
    if any(map(total.is_partly_missing, _USED)):
        yield "some of its metrics are not in all samples: they are taken at their mean rates"
    if total["gauged_intervals"] > 0:
        yield "busy time comes from the busyTimeMsPerSecond gauge, not its accumulation"
    elif rated and total["busy_ms"] <= 0:
        yield "hardly ever busy: its rate comes from the busyTimeMsPerSecond gauge"
    if total["resets"] > 0:
        count = total["resets"]
        yield f"{count:.0f} differences across restarts, moves or lost reports passed over"
    if total["clock_jumps"] > 0:
        yield f"{total['clock_jumps']:.0f} differences across clock jumps passed over"
