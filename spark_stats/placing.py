"""The machine of each subtask: the log gives its TaskManager, the cluster gives the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgeplace.model.cluster import Cluster
from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.matching import find_operator
from edgeplace.spark_stats.totals import QuarterTotals

Placement = Mapping[str, Sequence[str | None]]
"""Operator id or name -> TaskManager of each subtask."""


def placed(
    measured: Mapping[str, Sequence[QuarterTotals]],
    facts: LogFacts,
    cluster: Cluster | None,
    placement: Placement | None,
) -> dict[str, list[QuarterTotals]]:
    """Return the totals with the TaskManager and the node class that they belong to.

    The log takes precedence over `placement`. Without a cluster, all machines have the class
    `default`.

    Raises
    ------
    InvalidInputError
        If a TaskManager of the log or of `placement` is not in the cluster, or `placement` names
        an operator that the log does not have, or has too few entries for it.
    """
    given = {
        find_operator(ref, facts, "the placement"): tuple(tms)
        for ref, tms in (placement or {}).items()
    }
    for operator, tms in given.items():
        if len(tms) != facts.parallelism[operator]:
            raise InvalidInputError(
                f"the placement has {len(tms)} TaskManagers for the "
                f"{facts.parallelism[operator]} subtasks of {facts.names[operator]!r}",
                "give one for each subtask",
            )
    located = {op: _located(ts, given.get(op, ())) for op, ts in measured.items()}
    seen = {t.location for ts in located.values() for t in ts if t.location is not None}
    if cluster is None:
        return {
            op: [replace(t, task_manager=t.location, node_class="default") for t in ts]
            for op, ts in located.items()
        }
    homes = _resolved(seen, cluster)
    node_of = {tm.id: tm.node for tm in cluster.task_managers}
    class_of = {n.id: n.node_class for n in cluster.nodes}
    # With only one class, the place of a subtask does not matter.
    only = set(class_of.values())
    fallback = only.pop() if len(only) == 1 else None

    def home(t: QuarterTotals) -> QuarterTotals:
        if t.location is None:
            return replace(t, node_class=fallback)
        task_manager = homes[t.location]
        return replace(t, task_manager=task_manager, node_class=class_of[node_of[task_manager]])

    return {op: [home(t) for t in ts] for op, ts in located.items()}


def last_placement(
    measured: Mapping[str, Sequence[QuarterTotals]], facts: LogFacts
) -> dict[str, tuple[str | None, ...]]:
    """Return the last known TaskManager of each subtask, for all operators in the log."""
    result = {}
    for operator, ts in measured.items():
        latest: dict[int, tuple[float, str]] = {}
        for t in ts:
            when = t.sums.get("to_ms", 0.0)
            if t.task_manager is not None and when >= latest.get(t.subtask, (0.0, ""))[0]:
                latest[t.subtask] = (when, t.task_manager)
        if latest:
            result[operator] = tuple(
                latest[i][1] if i in latest else None for i in range(facts.parallelism[operator])
            )
    return result


def _located(measured: Sequence[QuarterTotals], given: Sequence[str | None]) -> list[QuarterTotals]:
    """Return the totals with a TaskManager if it is known."""
    known: dict[int, set[str]] = {}
    for t in measured:
        if t.location is not None:
            known.setdefault(t.subtask, set()).add(t.location)

    def location(t: QuarterTotals) -> str | None:
        if t.location is not None:
            return t.location
        # These metrics came before the first answer with the place of the subtask.
        seen = known.get(t.subtask, set())
        if len(seen) == 1:
            return next(iter(seen))
        return given[t.subtask] if not seen and t.subtask < len(given) else None

    return [replace(t, location=location(t)) for t in measured]


def _resolved(locations: set[str], cluster: Cluster) -> dict[str, str]:
    homes = {place: cluster.resolve_task_manager(place) for place in sorted(locations)}
    strange = [place for place, tm in homes.items() if tm is None]
    if strange:
        raise InvalidInputError(
            f"the cluster does not know {len(strange)} TaskManagers of the log: {strange[:6]}",
            "add them to the cluster file (their resource id, or their address as host); it has "
            f"{[t.id for t in cluster.task_managers][:12]}",
        )
    return {place: tm for place, tm in homes.items() if tm is not None}
