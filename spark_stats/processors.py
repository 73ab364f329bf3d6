"""Processor time of each TaskManager, its division among operators, and the time in which threads
waited for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from edgeplace.model.cost import Background
from edgeplace.spark_stats.cpu.choice import CpuChoice
from edgeplace.spark_stats.cpu.slices import Slices
from edgeplace.spark_stats.cpu.starved import FullMinutes, StarvedMinute
from edgeplace.spark_stats.totals import QuarterTotals, Total

_LEAST_SHARE = 0.01
"""Least share of its busy time in which a thread is said to have had a core."""


@dataclass(frozen=True)
class CpuCost:
    """The CPU time of a record of one operator on one node class; fields as in `ClassCost`."""

    ms_per_record: float
    by: Literal["regression", "busy time"]
    interval_ms_per_record: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True)
class CpuTime:
    """Process CPU time of each TaskManager, and the busy time of the subtasks of all jobs on it.

    TaskManagers are named as in the log.
    """

    cpu_ms: Mapping[str, float]
    busy_ms: Mapping[str, float]
    full: Mapping[str, FullMinutes] = field(default_factory=dict)
    """TaskManager -> when its node had no free core."""
    starved: Mapping[tuple[str, str], Sequence[StarvedMinute]] = field(default_factory=dict)
    """Operator, TaskManager -> its minutes without a free core. Flink counts a thread that waits
    for a processor as busy, so busy time is a poor measure of work then, in particular for a
    thread that wakes up often.
    """
    regressed: Mapping[tuple[str, str], CpuCost] = field(default_factory=dict)
    """Operator, node class -> cost by a regression that holds."""
    dealt: Mapping[tuple[str, str], CpuCost] = field(default_factory=dict)
    """Operator, node class -> cost by busy time in minutes with a free core, where there is no
    regression, and some minutes had none."""
    dealt_when_free: frozenset[str] = frozenset()
    """Node classes whose CPU time is divided by minutes with a free core only."""
    background: tuple[Background, ...] = ()
    """Cores that TaskManagers use without records, by the same regressions."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Node class -> why its CPU time is divided by busy time."""

    @classmethod
    def of(
        cls,
        task_managers: Sequence[QuarterTotals],
        tasks: Sequence[QuarterTotals],
        full: Mapping[str, FullMinutes],
        starved: Mapping[tuple[str, str], Sequence[StarvedMinute]],
        others_ms: Mapping[str, float],
    ) -> "CpuTime":
        """Add up both times by TaskManager, with the names of the log.

        Parameters
        ----------
        task_managers, tasks
            The totals of TaskManagers and of subtasks.
        full, starved
            What `full_minutes` and `starved_minutes` return.
        others_ms
            TaskManager -> busy time of other jobs in that time.
        """
        # In one order on every run, because the last digits of a sum depend on it.
        places = sorted({t.vertex for t in task_managers if "cpu_ns" in t.sums})
        return cls(
            {p: Total(t for t in task_managers if t.vertex == p)["cpu_ns"] / 1e6 for p in places},
            {
                p: Total(t for t in tasks if t.location == p)["busy_ms"] + others_ms.get(p, 0.0)
                for p in places
            },
            full,
            starved,
        )

    def with_choices(
        self, choices: Mapping[str, tuple[Slices, CpuChoice]], names: Mapping[str, str]
    ) -> "CpuTime":
        """Return it with the regressions that hold, and the division by minutes with a free core.

        Parameters
        ----------
        choices
            Node class -> the rows, and what was found.
        names
            Name of each operator, for the reasons.
        """
        regressed: dict[tuple[str, str], CpuCost] = {}
        dealt: dict[tuple[str, str], CpuCost] = {}
        for node_class, (slices, choice) in choices.items():
            for operator, cost in _regressed(slices, choice, names).items():
                regressed[operator, node_class] = cost
            if choice.fit is None and slices.enough_free:
                for operator, cost_s in zip(slices.operators, slices.dealt_s(), strict=True):
                    if cost_s > 0:
                        dealt[operator, node_class] = CpuCost(
                            1000.0 * float(cost_s), "busy time", reason=choice.reason
                        )
        return replace(
            self,
            regressed=regressed,
            dealt=dealt,
            dealt_when_free=frozenset(c for c, (own, _) in choices.items() if own.enough_free),
            background=tuple(
                Background(
                    node_class=name,
                    cores=choice.fit.background,
                    interval_cores=(float(choice.ends[0, 0]), float(choice.ends[0, 1])),
                )
                for name, (_, choice) in choices.items()
                if choice.fit
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
        if by_minutes := self._by_minutes(operator, node_class):
            return by_minutes
        cpu = count = 0.0
        for place in self.cpu_ms:
            here = Total(t for t in measured if t.location == place and records in t.sums)
            if self.busy_ms[place] > 0 and here[records] > 0:
                cpu += self.cpu_ms[place] * here["busy_ms"] / self.busy_ms[place]
                count += here[records]
        if cpu <= 0 or count <= 0:
            return None
        return CpuCost(cpu / count, "busy time", reason=self.reasons.get(node_class, ""))

    def working_share(
        self, operator: str, node_class: str, measured: Sequence[QuarterTotals]
    ) -> float:
        """Return the share of its busy time in which an operator had a core; 1 if there were
        enough cores. Parameters as in `cost`.
        """
        busy = Total(measured)["busy_ms"]
        told = self._by_minutes(operator, node_class)
        waited = 0.0
        for place in sorted({t.location for t in measured if t.location is not None}):
            for minute in self.starved.get((operator, place), ()):
                # A window may be busy in a minute without records.
                if told and minute.records > 0:
                    worked = told.ms_per_record * minute.records
                else:
                    worked = minute.dealt_ms
                waited += max(0.0, minute.busy_ms - worked)
        # Clocks of threads and of processes differ a little.
        return max(_LEAST_SHARE, 1 - waited / busy) if busy > 0 else 1.0

    def full_minutes(self, measured: Sequence[QuarterTotals]) -> tuple[int, int]:
        """Return the number of minutes without a free core, and of all, on the TaskManagers of
        some subtasks; both are 0 where it is not known.
        """
        places = {t.location for t in measured}
        known = [full for place, full in self.full.items() if place in places]
        return sum(len(k.full) for k in known), sum(k.observed for k in known)

    def _by_minutes(self, operator: str, node_class: str) -> CpuCost | None:
        key = operator, node_class
        return self.regressed.get(key) or self.dealt.get(key)


def _regressed(slices: Slices, choice: CpuChoice, names: Mapping[str, str]) -> dict[str, CpuCost]:
    """Return operator -> cost, where a regression holds."""
    if choice.fit is None:
        return {}
    known = choice.identified
    costs_ms = (1000.0 * choice.fit.cost_s).tolist()
    ends_ms = (1000.0 * choice.ends[1:]).tolist()
    seen = [i for i, cost in enumerate(costs_ms) if cost > 0]
    unclear = [names[slices.operators[i]] for i in seen if not known[i]]
    them = f"{', '.join(unclear[:-1])} and {unclear[-1]}" if unclear[1:] else "".join(unclear)
    reason = (
        f"not identifiable: the rates in this log do not tell the CPU time of {them} better than "
        "busy time does; what all have together is by regression"
    )
    return {
        slices.operators[i]: (
            CpuCost(costs_ms[i], "regression", (ends_ms[i][0], ends_ms[i][1]))
            if known[i]
            else CpuCost(costs_ms[i], "busy time", reason=reason)
        )
        for i in seen
    }
