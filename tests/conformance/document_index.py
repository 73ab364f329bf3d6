"""An instance by number: subtasks, TaskManagers, sites, links, and the routes between sites.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.model.job import Operator


@dataclass(frozen=True)
class Subtask:
    job: int
    operator: Operator
    index: int
    is_source: bool


class Indexed:
    """One instance, and its routes."""

    def __init__(
        self,
        jobs: Sequence[JobGraph],
        cluster: Cluster,
        rules: Rules | None = None,
        current: Plan | None = None,
    ) -> None:
        self.jobs, self.cluster, self.rules = list(jobs), cluster, rules or Rules()
        self.current_plan = current
        self.tms = [t.id for t in cluster.task_managers]
        nodes = {n.id: n for n in cluster.nodes}
        self.node_ids = [n.id for n in cluster.nodes]
        self.site_ids = [s.id for s in cluster.sites]
        self.tm_node = np.array([self.node_ids.index(t.node) for t in cluster.task_managers])
        self.tm_site = np.array(
            [self.site_ids.index(nodes[t.node].site) for t in cluster.task_managers]
        )
        self.tm_class = [nodes[t.node].node_class for t in cluster.task_managers]
        self.subtasks = [
            Subtask(j, op, i, op.id in {s.id for s in job.sources()})
            for j, job in enumerate(self.jobs)
            for op in job.operators
            for i in range(op.parallelism)
        ]
        self.at = {(s.job, s.operator.id, s.index): k for k, s in enumerate(self.subtasks)}
        self._routes()
        self._traffic()
        self._routes()

    def _routes(self) -> None:
        """Find the routes: least delay to the nanosecond, then fewest links, then first ids.

        Of equal ones to site b it is the one whose last site before b has the first id.
        """
        self.links = list(self.cluster.directed_links())
        site = {s: i for i, s in enumerate(self.site_ids)}
        n = self.n_sites = len(site)
        ends = [(site[e.source], site[e.target]) for e in self.links]
        length = [(round(e.delay_ms * 1e6), 1) for e in self.links]
        self.route: dict[tuple[int, int], list[int]] = {}
        for a in range(n):
            best = {a: (0, 0)}
            for _ in range(n):
                for (u, v), (delay, one) in zip(ends, length, strict=True):
                    if u in best:
                        new = (best[u][0] + delay, best[u][1] + one)
                        best[v] = min(best.get(v, new), new)
            last = {
                v: min(
                    (
                        e
                        for e, (u, w) in enumerate(ends)
                        if w == v
                        and u in best
                        and (best[u][0] + length[e][0], best[u][1] + 1) == best[v]
                    ),
                    key=lambda e: self.site_ids[ends[e][0]],
                )
                for v in best
                if v != a
            }
            for v in best:
                path, at = [], v
                while at != a:
                    path.append(last[at])
                    at = ends[last[at]][0]
                self.route[a, v] = path[::-1]
