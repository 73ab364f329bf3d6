"""Where the subtasks of an instance may run, and all plans that keep to it.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`.
"""

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from tests.conformance.document_traffic import WithTraffic

Plans = NDArray[np.int64]


class WithPlaces(WithTraffic):
    """An instance with the current and the allowed places of its subtasks."""

    def __init__(
        self,
        jobs: Sequence[JobGraph],
        cluster: Cluster,
        rules: Rules | None = None,
        current: Plan | None = None,
    ) -> None:
        super().__init__(jobs, cluster, rules, current)
        self._current()
        self._places()

    def _current(self) -> None:
        """Where each subtask runs now; -1 without a current place."""
        self.now = np.full(len(self.subtasks), -1)
        if self.current_plan is None:
            return
        for k, s in enumerate(self.subtasks):
            placed = self.current_plan.jobs.get(self.jobs[s.job].name, {}).get(s.operator.id)
            if placed is not None and s.index < len(placed) and placed[s.index] in self.tms:
                self.now[k] = self.tms.index(placed[s.index])

    def _of_rule(self, rule: Any) -> list[list[int]]:
        """Return the subtasks of each operator that a rule names."""
        jobs = [j for j, job in enumerate(self.jobs) if rule.job in ("", job.name)]
        out = []
        for ref in rule.operators:
            for j in jobs:
                op = self.jobs[j].operator(ref)
                out.append([self.at[j, op.id, i] for i in range(op.parallelism)])
        return out

    def _places(self) -> None:
        every = set(range(len(self.tms)))
        self.allowed: list[set[int]] = [set(every) for _ in self.subtasks]
        freed = {
            k
            for r in self.rules.rules
            if r.kind in ("pin", "match", "never_move")
            for ks in self._of_rule(r)
            for k in ks
            if r.kind != "pin" or not r.subtasks or self.subtasks[k].index in r.subtasks
        }
        for k, s in enumerate(self.subtasks):
            if not s.is_source:
                continue
            born = s.operator.born_at
            if born:
                home = born[s.index if len(born) > 1 else 0]
                if home != "anywhere":
                    self.allowed[k] &= self._at(home)
            elif k not in freed and self.now[k] >= 0:
                node = self.tm_node[self.now[k]]
                self.allowed[k] &= {int(t) for t in np.flatnonzero(self.tm_node == node)}
        labels = self._labels()
        for r in self.rules.rules:
            for ks in self._of_rule(r):
                for k in ks:
                    if r.kind == "pin":
                        if not r.subtasks or self.subtasks[k].index in r.subtasks:
                            self.allowed[k] &= self._at(r.to)
                    elif r.kind == "match":
                        self.allowed[k] &= {
                            t
                            for t in every
                            if all(
                                labels[self.node_ids[self.tm_node[t]]].get(a) == b
                                for a, b in r.labels.items()
                            )
                        }
                    elif r.kind == "never_move":
                        self.allowed[k] &= {int(self.now[k])}
        self._keep_to_own_data()

    def _labels(self) -> dict[str, dict[str, str]]:
        return {n.id: {"node_class": n.node_class, **n.labels} for n in self.cluster.nodes}

    def _keep_to_own_data(self) -> None:
        """Take the places of others' data from the subtasks that rules keep to their own."""
        sites = [[int(self.tm_site[t]) for t in places] for places in self.allowed]
        feeders: dict[int, set[int]] = {}
        for c in self.channels:
            feeders.setdefault(c.target, set()).add(c.source)
        for r in self.rules.rules:
            if r.kind != "own_data":
                continue
            for k in {k for ks in self._of_rule(r) for k in ks}:
                seen, ahead = {k}, [k]
                while ahead:
                    new = feeders.get(ahead.pop(), set()) - seen
                    seen |= new
                    ahead += new
                sources = [j for j in seen if self.subtasks[j].is_source]
                homes = {s for j in sources for s in sites[j]} if sources else set[int]()
                held = all(len(set(sites[j])) == 1 for j in sources)
                for t in list(self.allowed[k]):
                    site = self.cluster.sites[int(self.tm_site[t])]
                    is_open = site.tier == "cloud" or any(
                        fnmatchcase(site.id, pattern) for pattern in r.open_sites
                    )
                    if not is_open and not (held and homes == {int(self.tm_site[t])}):
                        self.allowed[k].discard(t)

    def _at(self, place: str) -> set[int]:
        names = [place]
        if "*" in place:
            begin, end = place.split("*")
            ids = [
                [x.id for x in places]
                for places in (self.cluster.sites, self.cluster.nodes, self.cluster.task_managers)
            ]
            fit = [[x for x in some if x.startswith(begin) and x.endswith(end)] for some in ids]
            names = next(filter(None, fit))
        return {self.tms.index(t) for x in names for t in self.cluster.task_managers_at(x)}

    def plans(self) -> Plans:
        """Return every plan that keeps to the allowed places."""
        columns = [sorted(a) for a in self.allowed]
        if not all(columns):
            return np.zeros((0, len(columns)), dtype=np.int64)
        grids = np.meshgrid(*[np.array(c) for c in columns], indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=1).astype(np.int64)

    def count(self) -> float:
        """Return how many plans there are."""
        return math.prod(float(len(a)) for a in self.allowed)

    def as_plan(self, row: NDArray[np.int64]) -> Plan:
        """Return a row of `plans` as a plan."""
        out: dict[str, dict[str, tuple[str, ...]]] = {}
        for j, job in enumerate(self.jobs):
            out[job.name] = {
                op.id: tuple(self.tms[row[self.at[j, op.id, i]]] for i in range(op.parallelism))
                for op in job.operators
            }
        return Plan(jobs=out)

    def as_row(self, plan: Plan) -> Plans:
        """Return a plan as a row of `plans`."""
        row = [
            self.tms.index(plan.jobs[self.jobs[s.job].name][s.operator.id][s.index])
            for s in self.subtasks
        ]
        return np.array([row], dtype=np.int64)
