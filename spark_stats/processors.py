"""Processor time of each TaskManager, its division among operators, and nodes that had too
little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Background
from edgeplace.spark_stats.cpu.choice import CpuChoice
from edgeplace.spark_stats.cpu.regression import BACKGROUND
from edgeplace.spark_stats.cpu.slices import Slices
from edgeplace.spark_stats.totals import QuarterTotals, Total

STARVED_SHARE = 0.9
"""Share of a node's cores in use from which its threads count as waiting for a processor."""


@dataclass(frozen=True)
class CpuCost:
    """The CPU time of a record of one operator on one node class; fields as in `ClassCost`."""

    ms_per_record: float
    by: Literal["regression", "busy time"]
    interval_ms_per_record: tuple[float, float] | None = None
    reason: str = ""


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
    regressed: Mapping[tuple[str, str], CpuCost] = field(default_factory=dict)
    """Operator, node class -> cost by a regression that holds."""
    background: tuple[Background, ...] = ()
    """Cores that TaskManagers use without records, by the same regressions."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Node class -> why its CPU time is divided by busy time."""

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
        # In one order on every run, because the last digits of a sum depend on it.
        places = sorted({t.vertex for t in task_managers if "cpu_ns" in t.sums})
        totals = {p: Total(t for t in task_managers if t.vertex == p) for p in places}
        return cls(
            {p: total["cpu_ns"] / 1e6 for p, total in totals.items()},
            {p: Total(t for t in tasks if t.location == p)["busy_ms"] for p in places},
            frozenset() if cluster is None else _starved(totals, tasks, cluster),
        )

    def with_choices(
        self, choices: Mapping[str, tuple[Slices, CpuChoice]], names: Mapping[str, str]
    ) -> "CpuTime":
        """Return it with the regressions that hold.

        Parameters
        ----------
        choices
            Node class -> the rows, and what was found.
        names
            Name of each operator, for the reasons.
        """
        regressed: dict[tuple[str, str], CpuCost] = {}
        for node_class, (slices, choice) in choices.items():
            for operator, cost in _regressed(slices, choice, names).items():
                regressed[operator, node_class] = cost
        return replace(
            self,
            regressed=regressed,
            background=tuple(
                Background(node_class=name, cores=choice.fit.background, interval_cores=ends)
                for name, (_, choice) in choices.items()
                if choice.fit and (ends := _background_ends(choice))
            ),
            reasons={name: choice.reason for name, (_, choice) in choices.items() if choice.reason},
        )

    def cost(
        self, operator: str, node_class: str, measured: Sequence[QuarterTotals], records: str
    ) -> CpuCost | None:
        """Return the CPU time of a record, None if the log does not have it.

        Parameters
        ----------
        operator, node_class
            Whose cost it is.
        measured
            The totals of the operator there.
        records
            Name of the sum of its records.
        """
        if (operator, node_class) in self.regressed:
            return self.regressed[operator, node_class]
        cpu = count = 0.0
        for place in self.cpu_ms:
            here = Total(t for t in measured if t.location == place)
            if self.busy_ms[place] > 0 and here[records] > 0:
                cpu += self._share_ms(place, here)
                count += here[records]
        if cpu <= 0 or count <= 0:
            return None
        return CpuCost(cpu / count, "busy time", reason=self.reasons.get(node_class, ""))

    def working_share(
        self, operator: str, node_class: str, measured: Sequence[QuarterTotals], records: str
    ) -> float:
        """Return the share of its busy time in which an operator had a core; 1 if there were
        enough cores. Parameters as in `cost`.
        """
        busy = Total(measured)["busy_ms"]
        regressed = self.regressed.get((operator, node_class))
        waited = 0.0
        for place in sorted(self.starved):
            here = Total(t for t in measured if t.location == place)
            if self.busy_ms[place] > 0:
                worked = (
                    regressed.ms_per_record * here[records]
                    if regressed
                    else self._share_ms(place, here)
                )
                waited += max(0.0, here["busy_ms"] - worked)
        return 1 - waited / busy if busy > 0 else 1.0

    def _share_ms(self, place: str, here: Total) -> float:
        return self.cpu_ms[place] * here["busy_ms"] / self.busy_ms[place]


def _regressed(slices: Slices, choice: CpuChoice, names: Mapping[str, str]) -> dict[str, CpuCost]:
    """Return operator -> cost, where a regression holds."""
    if choice.fit is None:
        return {}
    found: dict[str, CpuCost] = {}
    cost_ms = (1000.0 * choice.fit.cost_s).tolist()
    weights_ms = 1000.0 * choice.fit.weights_s
    for group, ends in zip(choice.fit.groups, choice.ends, strict=True):
        members = [i for i in group if i != BACKGROUND]
        called = [names[slices.operators[i]] for i in members]
        if BACKGROUND in group:
            called.append("the background of the JVM")
        for i in members:
            if cost_ms[i] <= 0:
                continue
            if len(called) == 1:
                low, high = (float(end * weights_ms[i]) for end in ends)
                found[slices.operators[i]] = CpuCost(cost_ms[i], "regression", (low, high))
            else:
                reason = (
                    f"not identifiable: the rates in this log cannot tell {', '.join(called[:-1])} "
                    f"and {called[-1]} apart; what they have together is by regression"
                )
                found[slices.operators[i]] = CpuCost(cost_ms[i], "busy time", reason=reason)
    return found


def _background_ends(choice: CpuChoice) -> tuple[float, float] | None:
    """Return the interval of the background, None if it is not known apart."""
    if choice.fit is None or (BACKGROUND,) not in choice.fit.groups:
        return None
    low, high = choice.ends[choice.fit.groups.index((BACKGROUND,))]
    return float(low), float(high)


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
