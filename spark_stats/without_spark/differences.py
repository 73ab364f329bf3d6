"""Counter differences between two samples of a subtask: `counter_deltas.deltas` in plain Python."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.samples import Sample
from edgeplace.spark_stats.sums_table import (
    BIN_MS,
    CLOCK_JITTER_MS,
    COUNTS_FELL,
    JUMPED_MS,
    JUMPED_RATIO,
    NOT_OF_METERS,
    QUARTERS,
    STATES_OF_A_TASK,
    SUMMED,
    TIMES_FELL,
    Key,
)

COLUMN = {name: i for i, name in enumerate(r.METRICS)}
_BUSY, _IDLE, _BUSY_GAUGE, _CHECKPOINTED, _SINCE = (
    COLUMN[c]
    for c in (
        "busy_ms",
        "idle_ms",
        "busy_ms_per_s",
        "checkpointed_bytes",
        "since_ms",
    )
)
_NOT_OF_METERS = tuple(COLUMN[c] for c in NOT_OF_METERS)
_COUNTERS = range(len(r.COUNTERS))
_SUMMED = tuple((COLUMN[c], COLUMN.get(f"{c}_per_s")) for c in SUMMED)
_FELL = tuple(COLUMN[c] for c in COUNTS_FELL)
_STATES = tuple(COLUMN[c] for c in STATES_OF_A_TASK)
_STEPPED_BACK = tuple(COLUMN[c] for c in TIMES_FELL)

Metrics = Sequence[float | None]


@dataclass(slots=True)
class Delta:
    """What happened between a sample and the one before; see `counter_deltas.deltas`."""

    sample: Sample
    task_manager: str | None
    quarter: int | None
    bin_ms: int | None
    good: bool
    dt_ms: int | None
    happened: Metrics
    """A difference for each of `SUMMED`."""
    gauged_ms: float | None
    metered: bool
    busy_gauged: bool
    recent: bool
    """Of a checkpoint: whether it is one of the last ones, which determine the sizes."""
    checkpoint_step: float | None
    reset: bool
    clock_jump: bool
    repeat: bool


@dataclass(slots=True)
class _Placed:
    """A sample, and where and as which attempt its subtask ran then."""

    sample: Sample
    ts_ms: int | None
    task_manager: str | None
    attempt: int | None
    metrics: Metrics
    state: Sequence[float]


def by_subtask(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples of each subtask, or other fact, in order of time."""
    found: dict[tuple[object, ...], list[Sample]] = {}
    for sample in samples:
        key = sample.key
        of = (key.kind, key.job, key.vertex, key.subtask)
        found.setdefault(of, []).append(sample)
    for own in found.values():
        own.sort(key=_in_time)
        yield own


def _in_time(sample: Sample) -> tuple[Any, ...]:
    """Return what samples are ordered by: `sums_table.IN_TIME`."""
    key = sample.key
    texts = (key.format, key.job_name, key.name, key.task_manager, key.document)
    ts_ms = -math.inf if key.ts_ms is None else key.ts_ms
    return (ts_ms, sample.values, *((text is not None, text or "") for text in texts))


def told(samples: Sequence[Sample]) -> Iterator[tuple[Sample, str | None, int | None]]:
    """Yield each sample with the TaskManager and the attempt that were told last.

    Answers about vertices say where a subtask runs from then on.
    """
    task_manager = attempt = None
    for sample in samples:
        if sample.key.task_manager is not None:
            task_manager = sample.key.task_manager
        if sample.attempt is not None:
            attempt = sample.attempt
        yield sample, task_manager, attempt


def deltas(samples: Iterable[Sample], recent_checkpoints: int | None) -> Iterator[Delta]:
    """Yield the differences of each subtask between one sample and the next.

    Parameters
    ----------
    samples
        Of one log; their order does not matter.
    recent_checkpoints
        Number of last checkpoints that determine the sizes; None: all.
    """
    for own in by_subtask(samples):
        kind = own[0].key.kind
        # Answers about vertices are not needed afterwards, and neither are checkpoints in progress.
        placed = [
            _placed(*each)
            for each in told(own)
            if each[0].values > 0 or kind not in (r.TASK, r.CHECKPOINT)
        ]
        times = [p.ts_ms for p in placed if p.ts_ms is not None]
        window = (min(times), max(times)) if times else (0, 0)
        recent_from = 0
        if kind == r.CHECKPOINT and recent_checkpoints is not None:
            recent_from = max(len(placed) - recent_checkpoints, 0)
        for i, after in enumerate(placed):
            if not after.sample.carried:
                before = placed[i - 1] if i else None
                next_ms = placed[i + 1].ts_ms if i + 1 < len(placed) else None
                yield _difference(kind, before, after, next_ms, window, i >= recent_from)


def _placed(sample: Sample, task_manager: str | None, attempt: int | None) -> _Placed:
    state = [x for x in sample.metrics[: len(_COUNTERS)] if x is not None]
    return _Placed(sample, sample.key.ts_ms, task_manager, attempt, sample.metrics, state)


def _difference(
    kind: str,
    before: _Placed | None,
    after: _Placed,
    next_ms: int | None,
    window: tuple[int, int],
    recent: bool,
) -> Delta:
    sample, now, ts_ms = after.sample, after.metrics, after.ts_ms
    then: Metrics = before.metrics if before else [None] * len(now)
    of_task = kind == r.TASK
    began = now[_SINCE]
    meters_only = all(now[c] is None for c in _NOT_OF_METERS)
    since = before.ts_ms if before else None
    dt_ms = None
    if ts_ms is not None and since is not None:
        dt_ms = ts_ms - since
    elif ts_ms is not None and next_ms is not None and of_task and meters_only:
        # A meter describes the time before its sample. The first sample has none before it, so it
        # gets the time to the next one.
        dt_ms = next_ms - ts_ms
    reset = clock_jump = repeat = False
    if before is not None:
        reset = (
            _fell(now, then)
            or (began is not None and before.ts_ms is not None and began != before.ts_ms)
            or _differs(after.attempt, before.attempt)
            or _differs(after.task_manager, before.task_manager)
        )
        # In one file, lines are in the order they were written.
        clock_jump = (
            ts_ms is not None
            and sample.file is not None
            and sample.file == before.sample.file
            and sample.pos < before.sample.pos
        ) or _jumped(now, then, dt_ms)
        repeat = now[_IDLE] is not None and after.state == before.state
    timed = kind in (r.TASK, r.TASK_MANAGER)
    good = timed and dt_ms is not None and dt_ms > 0 and not reset and not clock_jump
    happened: list[float | None] = [None] * len(_SUMMED)
    gauged_ms, gauge = None, now[_BUSY_GAUGE]
    if good and dt_ms is not None:
        seconds = dt_ms / 1000.0
        happened = [_happened(now, then, seconds, *columns) for columns in _SUMMED]
        # A negative rate is how some tools write "not known".
        if gauge is not None and gauge >= 0:
            gauged_ms = gauge * seconds
    middle = None if ts_ms is None else ts_ms - (dt_ms or 0) / 2
    return Delta(
        sample=sample,
        task_manager=after.task_manager,
        quarter=_quarter(middle, window) if of_task else None,
        bin_ms=ts_ms if kind == r.CHECKPOINT else _minute(middle),
        good=good,
        dt_ms=dt_ms if good else None,
        happened=happened,
        gauged_ms=gauged_ms,
        metered=good and meters_only and of_task,
        busy_gauged=gauged_ms is not None and now[_BUSY] is None,
        recent=recent,
        checkpoint_step=_step(now, then, _CHECKPOINTED) if recent else None,
        reset=reset,
        clock_jump=clock_jump,
        repeat=repeat,
    )


def _step(now: Metrics, then: Metrics, column: int) -> float | None:
    new, old = now[column], then[column]
    return None if new is None or old is None else new - old


def _fell(now: Metrics, then: Metrics) -> bool:
    """Return whether a counter began anew."""
    if any((step := _step(now, then, c)) is not None and step < 0 for c in _FELL):
        return True
    return any(
        (step := _step(now, then, c)) is not None and step < -CLOCK_JITTER_MS for c in _STEPPED_BACK
    )


def _jumped(now: Metrics, then: Metrics, dt_ms: int | None) -> bool:
    """Return whether far more time has passed by the clock of the log than by that of the task's
    machine, or far less.
    """
    steps = [step for c in _STATES if (step := _step(now, then, c)) is not None]
    if dt_ms is None or len(steps) < len(_STATES):
        return False
    passed = steps[0] + steps[1] + steps[2]
    ahead = passed > 0 and dt_ms > JUMPED_RATIO * passed + JUMPED_MS
    return ahead or passed > JUMPED_RATIO * dt_ms + JUMPED_MS


def _differs(new: object, old: object) -> bool:
    return new is not None and old is not None and new != old


def _happened(
    now: Metrics, then: Metrics, seconds: float, column: int, rate_column: int | None
) -> float | None:
    """Return how far a counter moved, by its rate where it is not there."""
    step = _step(now, then, column)
    if step is None and rate_column is not None:
        rate = now[rate_column]
        return rate * seconds if rate is not None and rate >= 0 else None
    return step


def _quarter(middle_ms: float | None, window: tuple[int, int]) -> int:
    """Return the quarter of the subtask's time that has the middle of a difference."""
    if middle_ms is None:
        return 0
    first, last = window
    quarter = math.floor(QUARTERS * (middle_ms - first) / max(last - first, 1))
    return min(max(quarter, 0), QUARTERS - 1)


def _minute(middle_ms: float | None) -> int | None:
    return None if middle_ms is None else math.floor(middle_ms / BIN_MS) * BIN_MS


def key_of(difference: Delta) -> Key:
    """Return the keys of a difference, with the TaskManager that was told."""
    return difference.sample.key._replace(task_manager=difference.task_manager)
