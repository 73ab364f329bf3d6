"""The answer of `solve_fleet`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import InvalidInputError, Plan, Status
from edgeplace.solver.evaluation.usage import Usage


@dataclass(frozen=True)
class FleetResult:
    """An answer about a fleet.

    Attributes
    ----------
    status
        As in `Result`.
    places
        Site -> where each subtask of each replica runs, as an index of `Cluster.task_managers`,
        shape (count, n_subtasks); empty without a plan. Subtasks are numbered as by `subtasks`.
    subtasks
        Site -> (job, operator's id) of each of them; those of one operator follow each other.
    wan, bound
        Bytes/s over links, weighted by price, and what no plan has less of.
    prices
        What one more unit of each shared limit would save of `wan` at the margin, in the
        relaxation; only of limits that bind.
    verdict
        The evaluator's, of the whole fleet.
    conflict
        Why there is no plan.
    runtime_s
        Wall time of the whole call, and of its parts.
    """

    status: Status
    places: Mapping[str, NDArray[np.integer]]
    subtasks: Mapping[str, tuple[tuple[str, str], ...]]
    task_managers: tuple[str, ...]
    wan: float
    bound: float
    prices: Mapping[str, float]
    verdict: Usage | None
    conflict: str | None
    runtime_s: Mapping[str, float]

    @property
    def gap(self) -> float:
        """Relative distance between value and bound, NaN without a plan."""
        return (self.wan - self.bound) / self.wan if self.wan else 0.0

    def plan(self, site: str, replica: int) -> Plan:
        """Return the plan of one replica, in the names that the fleet's cluster has.

        Raises
        ------
        InvalidInputError
            If there is no plan, or no such replica.
        """
        count = len(self.places.get(site, ()))
        if not 0 <= replica < count:
            known = ", ".join(f"{len(own)} replicas of {s!r}" for s, own in self.places.items())
            raise InvalidInputError(
                f"there is no plan of replica {replica} of site {site!r}",
                f"there is one of {known}, counted from 0" if known else "see status and conflict",
            )
        jobs: dict[str, dict[str, tuple[str, ...]]] = {}
        for (job, operator), t in zip(
            self.subtasks[site], self.places[site][replica].tolist(), strict=True
        ):
            own = jobs.setdefault(job, {})
            own[operator] = (*own.get(operator, ()), self.task_managers[t])
        return Plan(jobs=jobs)
