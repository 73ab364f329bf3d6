"""Costs from a ledger. No log is read, and no Spark is started."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Costs
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.costs_of_sums import costs_of
from edgeplace.spark_stats.ledger.folder import LedgerFolder
from edgeplace.spark_stats.ledger.times import utc
from edgeplace.spark_stats.minutes import SubtaskMinutes, owner_of, put_together
from edgeplace.spark_stats.placing import Placement
from edgeplace.spark_stats.state_at_rates import HeldState, held_states
from edgeplace.spark_stats.sums_table import (
    BIN_KEYS,
    BIN_MS,
    MISSING,
    OF_CHECKPOINT,
    OF_MINUTE,
    OF_PART,
    QUARTERS,
    RECENT_CHECKPOINTS,
    SUM_KEYS,
    SumRow,
)

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

_ALWAYS_MS = 1 << 62
_OF_SUBTASK = ["job", "vertex", "subtask"]
_OF_OWNER = ["kind", *_OF_SUBTASK, "task_manager"]
_NOT_ADDED = {"state_bytes": "max", "from_ms": "min", "to_ms": "max"}


def costs_from_ledger(
    folder: str | Path,
    cluster: Cluster | None,
    *,
    last_s: float | None = None,
    between_ms: tuple[int, int] | None = None,
    job: JobGraph | None = None,
    placement: Placement | None = None,
    rates: Mapping[str, float] | None = None,
    flushes: Mapping[str, Gathering] | None = None,
) -> Costs:
    """Return the costs of a time, from the sums of a ledger.

    Parameters
    ----------
    folder
        The ledger.
    cluster, job, placement, rates, flushes
        As in `measure`.
    last_s
        Seconds before the last sample in the ledger.
    between_ms
        Start and end, ms since the epoch. With neither, all of the ledger counts. A difference
        counts if the start of the minute that has its middle is in the time.

    Raises
    ------
    InvalidInputError
        If the ledger is empty, damaged, or has nothing of that time, or as in `measure`.
    """
    import numpy as np
    import pyarrow as pa  # type: ignore[import-untyped]

    ledger = LedgerFolder(folder)
    manifest = ledger.manifest()
    if not manifest.batches:
        raise InvalidInputError(f"the ledger {folder} is empty", "add segments of a log to it")
    no_task = InvalidInputError(
        f"the ledger {folder} has no metrics of a task yet", "add segments with metrics to it"
    )
    times = ledger.times_ms(manifest)
    if times is None:
        raise no_task
    window = between_ms
    if last_s is not None:
        # Whole minutes, as the ledger has no others.
        window = int((times[1] - 1000 * last_s) // BIN_MS * BIN_MS), _ALWAYS_MS
    start, end = window or (0, _ALWAYS_MS)
    nothing = no_task
    if window:
        nothing = InvalidInputError(
            f"the ledger {folder} has nothing of that time from a task",
            f"it has {utc(times[0])} to {utc(times[1])}, TaskManagers included",
        )
    tables = ledger.sums(manifest, window)
    if not tables:
        raise nothing
    sums = pa.concat_tables(tables, promote_options="default").to_pandas()
    batch = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    timed = sums.kind.isin((r.TASK, r.TASK_MANAGER))
    inside = sums[timed & (sums.bin_ms >= start) & (sums.bin_ms < end)]
    if not (inside.kind == r.TASK).any():
        raise nothing
    others = sums[~timed & (sums.kind != r.CHECKPOINT)]
    if window:
        # Bad lines and lines of no use have no time.
        told = others[others.kind == r.DOCUMENT]
        before = told[told.from_ms.fillna(0) < end]
        others = before if len(before) else told
    # Checkpoints have numbers and no time: those added together with samples of the time count.
    sizes = sums[(sums.kind == r.CHECKPOINT) & np.isin(batch, batch[inside.index])]
    rows = [*_added(inside), *_added(others), *_checkpoints(sizes)]
    rows.sort(key=lambda row: [str(row[key]) for key in SUM_KEYS])
    damage = (0, []) if window else (sum(manifest.bad_lines().values()), manifest.damage())
    minutes, states = _minutes(inside), _states(sums[sums.kind == r.CHECKPOINT], start, end)
    case = (cluster, job, placement, rates, flushes)
    return costs_of(rows, minutes, states, *case, damage)[0]


def _added(sums: "pd.DataFrame") -> list[SumRow]:
    """Return the sums without their bins, by quarter of the time in which a subtask was seen."""
    if not len(sums):
        return []
    seen = sums.groupby(_OF_SUBTASK, dropna=False)
    first, last = seen.from_ms.transform("min"), seen.to_ms.transform("max")
    middle = sums.bin_ms + BIN_MS / 2 - first
    quarter = (QUARTERS * middle // (last - first).clip(lower=1)).clip(0, QUARTERS - 1)
    keyed = sums.assign(quarter=quarter.where(sums.kind == r.TASK))
    added = [c for c in sums.columns if c not in (*BIN_KEYS, *_NOT_ADDED)]
    grouped = keyed.groupby(list(SUM_KEYS), dropna=False, sort=False)
    parts = grouped[added].sum(min_count=1).join(grouped[list(_NOT_ADDED)].agg(_NOT_ADDED))
    return _rows(parts.reset_index())


def _minutes(sums: "pd.DataFrame") -> list[SubtaskMinutes]:
    """Return what each subtask and TaskManager did in each minute."""
    used = sums[sums.dt_ms.notna() | (sums.resets > 0)]
    which = used.groupby(_OF_OWNER, dropna=False, sort=False).ngroup()
    each = used.loc[~which.duplicated(), _OF_OWNER].astype(object)
    rows = each.where(each.notna(), None).itertuples(index=False)
    of_each = zip(which.drop_duplicates().tolist(), map(owner_of, rows), strict=True)
    owners = {number: owner for number, owner in of_each if owner is not None}
    whose = which.isin(owners.keys())
    return put_together(
        owners,
        which[whose].to_numpy(),
        used.bin_ms[whose].to_numpy("int64"),
        used.loc[whose, list(OF_MINUTE)].to_numpy("float64"),
        used.loc[whose, [MISSING[name] for name in OF_PART]].to_numpy("float64"),
    )


def _states(sizes: "pd.DataFrame", start_ms: int, end_ms: int) -> list[HeldState]:
    """Return the states of the checkpoints in a time."""
    timed = sizes[["kind", "job", "vertex", "bin_ms", *OF_CHECKPOINT]]
    inside = timed[(timed.acknowledged_ms >= start_ms) & (timed.acknowledged_ms < end_ms)]
    # Many polls, and segments, report the same checkpoint.
    each = inside.drop_duplicates(["job", "vertex", "bin_ms"], keep="last")
    return held_states((row, (row,)) for row in each.itertuples(index=False))


def _checkpoints(sizes: "pd.DataFrame") -> list[SumRow]:
    """Return the sums of the last checkpoints of each vertex, as `counter_deltas.sums` does."""
    import pandas as pd

    # Many polls report the same checkpoint, whose number is in the column of the bin.
    in_turn = sizes.sort_values("bin_ms", kind="stable")
    each = in_turn.drop_duplicates([*_OF_SUBTASK, "bin_ms"], keep="last")
    result = []
    for _, of_vertex in each.groupby(_OF_SUBTASK, dropna=False):
        steps = of_vertex.checkpointed_bytes.diff()
        recent, steps = of_vertex.tail(RECENT_CHECKPOINTS), steps.tail(RECENT_CHECKPOINTS)
        result.append(
            recent.tail(1).assign(
                quarter=float("nan"),
                state_bytes=recent.state_bytes.max(),
                checkpointed_bytes=recent.checkpointed_bytes.mean(),
                checkpointed_last=recent.checkpointed_bytes.iloc[-1],
                checkpoint_net=steps.sum(min_count=1),
                checkpoint_path=steps.abs().sum(min_count=1),
            )
        )
    return _rows(pd.concat(result)) if result else []


def _rows(sums: "pd.DataFrame") -> list[SumRow]:
    whole = {"subtask", "quarter", "from_ms", "to_ms", *_COUNTS}
    return [
        SumRow(
            (name, None if value != value else int(value) if name in whole else value)
            for name, value in row.items()
        )
        for row in sums.astype(object).where(sums.notna(), float("nan")).to_dict("records")
    ]


_COUNTS = (
    "values",
    "unused",
    "not_a_number",
    "infinite",
    "unreadable",
    "rows",
    "samples",
    "duplicates",
    "repeats",
    "resets",
    "clock_jumps",
)
