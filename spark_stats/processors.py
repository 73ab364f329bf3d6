"""Processor time of each TaskManager, its division among subtasks, and nodes that had too
little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeplace.model.cluster import Cluster
from edgeplace.spark_stats.totals import QuarterTotals, Total

STARVED_SHARE = 0.9
"""Share of a node's cores in use from which its threads count as waiting for a processor."""


@dataclass(frozen=True)
class CpuTime:
    """Process CPU time of each TaskManager, and the busy time of the subtasks on it.

    TaskManagers are named as in the log.
    """

    cpu_ms: Mapping[str, float]
    busy_ms: Mapping[str, float]
    starved: frozenset[str] = frozenset()
    """TaskManagers whose node had no free core. Flink counts a thread that waits for a processor
    as busy, so busy time is a poor measure of work there, in particular for a thread that wakes up
    often.
    """

    @classmethod
    def of(
        cls,
        task_managers: Sequence[QuarterTotals],
        tasks: Sequence[QuarterTotals],
        cluster: Cluster | None,
    ) -> "CpuTime":
        """Add up both times by TaskManager, with the names of the log.

        Parameters
        ----------
        task_managers, tasks
            The totals of TaskManagers and of subtasks.
        cluster
            Gives the cores of each node; None: no node counts as short of cores.
        """
        places = {t.vertex for t in task_managers if "cpu_ns" in t.sums}
        totals = {p: Total(t for t in task_managers if t.vertex == p) for p in places}
        return cls(
            {p: total["cpu_ns"] / 1e6 for p, total in totals.items()},
            {p: Total(t for t in tasks if t.location == p)["busy_ms"] for p in places},
            frozenset() if cluster is None else _starved(totals, tasks, cluster),
        )

    def per_record_ms(self, measured: Sequence[QuarterTotals], records: str) -> float | None:
        """Return CPU milliseconds per record. A TaskManager's CPU time is divided by busy time."""
        cpu = count = 0.0
        for place in self.cpu_ms:
            here = Total(t for t in measured if t.location == place)
            if self.busy_ms[place] > 0 and here[records] > 0:
                cpu += self._share_ms(place, here)
                count += here[records]
        return cpu / count if cpu > 0 and count > 0 else None

    def working_share(self, measured: Sequence[QuarterTotals]) -> float:
        """Return the share of its busy time in which an operator had a core; 1 if there were
        enough cores.
        """
        busy = Total(measured)["busy_ms"]
        waited = 0.0
        for place in self.starved:
            here = Total(t for t in measured if t.location == place)
            if self.busy_ms[place] > 0:
                waited += max(0.0, here["busy_ms"] - self._share_ms(place, here))
        return 1 - waited / busy if busy > 0 else 1.0

    def _share_ms(self, place: str, here: Total) -> float:
        return self.cpu_ms[place] * here["busy_ms"] / self.busy_ms[place]


def _starved(
    totals: Mapping[str, Total], tasks: Sequence[QuarterTotals], cluster: Cluster
) -> frozenset[str]:
    """Return the TaskManagers of nodes whose cores were all in use."""
    node_of = {tm.id: tm.node for tm in cluster.task_managers}
    node = {
        t.location: node_of[t.task_manager]
        for t in tasks
        if t.location in totals and t.task_manager is not None
    }
    used: dict[str, float] = {}
    for place, name in node.items():
        if place is not None and (cores := totals[place].ratio("cpu_ns", "dt_ms")) is not None:
            used[name] = used.get(name, 0.0) + cores / 1e6
    full = {n.id for n in cluster.nodes if used.get(n.id, 0.0) >= STARVED_SHARE * n.cores}
    return frozenset(place for place, name in node.items() if place is not None and name in full)
