"""The options of a controller: configurations of known capacity and cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Plan,
    Rules,
    Status,
    refuse_demand,
)
from edgeplace.solver import evaluate, solve
from edgeplace.solver.arrays import Floats


@dataclass(frozen=True)
class Option:
    """One configuration of a job.

    Parameters
    ----------
    name
        Name in tables.
    capacity_per_s
        Records per second of all sources that it sustains: today's rate times the headroom.
    units
        Used units: TaskManagers of servers, or anything else that is counted and paid.
    wan_bytes_per_record
        WAN bytes for each record of a source.
    plan
        The place of each subtask; None if only figures are compared.
    """

    name: str
    capacity_per_s: float
    units: float
    wan_bytes_per_record: float = 0.0
    plan: Plan | None = None


@dataclass(frozen=True)
class Options:
    """Configurations by ascending capacity; the last one is for the peak."""

    members: tuple[Option, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise InvalidInputError("there is no configuration to choose", "give at least one")
        capacities = self.capacities
        if (capacities <= 0).any() or (np.diff(capacities) < 0).any():
            raise InvalidInputError(
                "configurations must stand by capacity, each above 0", "sort them by capacity"
            )

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: int) -> Option:
        return self.members[index]

    @property
    def capacities(self) -> Floats:
        """Records per second that each option sustains."""
        return np.array([o.capacity_per_s for o in self.members])

    @property
    def units(self) -> Floats:
        """Units that each option uses."""
        return np.array([o.units for o in self.members])

    def least(self, capacity_per_s: float) -> int:
        """Return the first option that sustains a rate, or the last one if none does."""
        index = int(np.searchsorted(self.capacities, capacity_per_s * (1 - 1e-12)))
        return min(index, len(self) - 1)


def equal_units(count: int, peak_per_s: float, target: float = 0.8) -> Options:
    """Return 1 to `count` equal units.

    At the peak, all of them together have the utilisation `target`.
    """
    if count < 1 or not peak_per_s > 0 or not 0 < target <= 1:
        raise InvalidInputError(
            f"{count} units, a peak of {peak_per_s:g} and a target of {target:g} make no choice",
            "give at least one unit, a peak above 0 and a target between 0 and 1",
        )
    each = peak_per_s / count / target
    return Options(tuple(Option(f"{n} units", n * each, float(n)) for n in range(1, count + 1)))


def proved_plans(
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    levels: Sequence[float],
    time_limit_s: float,
) -> Options:
    """Return the best plan at each of several levels of today's rates, by the evaluator.

    Parameters
    ----------
    levels
        Factors of today's rates; a level without a plan is left out.
    time_limit_s
        Wall time of each search.

    Raises
    ------
    InvalidInputError
        If there is no plan at any level.
    """
    refuse_demand(rules, "rates are varied")
    today = sum(_rate(job, s.id) for s in job.sources())
    server_nodes = {t.id: t.node for t in cluster.task_managers}
    cloud = {s.id for s in cluster.sites if s.tier == "cloud"}
    servers = {n.id for n in cluster.nodes if n.site in cloud}
    found: dict[float, Option] = {}
    for level in levels:
        at_level = job
        for source in job.sources():
            at_level = at_level.with_source_rate(source.id, level * _rate(job, source.id))
        result = solve(
            at_level, cluster, rules, ("wan", "server_cores", "latency"), time_limit_s=time_limit_s
        )
        if result.plan is None or result.status is Status.INFEASIBLE:
            continue
        judged = evaluate(job, cluster, result.plan, rules)
        used = {
            server_nodes[tm]
            for own in result.plan.jobs.values()
            for places in own.values()
            for tm in places
        }
        option = Option(
            f"x{level:g}",
            today * judged.headroom,
            float(len(used & servers)),
            judged.wan_bytes_per_s / today if today else 0.0,
            result.plan,
        )
        found.setdefault(option.capacity_per_s, option)
    if not found:
        raise InvalidInputError(
            f"no plan exists at any of the rates x{', x'.join(f'{v:g}' for v in levels)}",
            "ask `edgeplace solve` why, at the lowest of them",
        )
    return Options(tuple(found[c] for c in sorted(found)))


def _rate(job: JobGraph, source: str) -> float:
    op = job.operator(source)
    demand = op.cost.demand if op.cost else None
    if demand is None:
        raise InvalidInputError(
            f"source {op.name!r} has no demand", "measure its costs, or state `demand` in the job"
        )
    return sum(demand.rates_per_s) * (op.parallelism if len(demand.rates_per_s) == 1 else 1)
