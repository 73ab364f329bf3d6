"""What rules and wishes say of a placement, by a naive reading of docs/job.md.

It shares no code with `edgeplace.solver`.
"""

import re
from collections import defaultdict
from fnmatch import fnmatchcase


class RulesOracle:
    """The rules of a case; `Oracle` has its job, cluster, rules and current placement."""

    def at(self, tm, where):
        places = (self.site_of[tm], self.tms[tm].node, tm)
        if "*" not in where:
            return where in places
        # A pattern is of sites if any site fits, else of nodes, else of TaskManagers.
        pattern = re.compile(".*".join(map(re.escape, where.split("*"))))
        levels = ([s.id for s in self.cluster.sites], self.node, self.tms)
        for name, known in zip(places, levels, strict=True):
            if any(pattern.fullmatch(other) for other in known):
                return bool(pattern.fullmatch(name))
        return False

    def level(self, tm, level):
        return {"task_manager": tm, "node": self.tms[tm].node, "site": self.site_of[tm]}[level]

    def obeys(self, r, place):
        members = [[(o, i) for i in range(self.ops[o].parallelism)] for o in r.operators]
        flat = [k for m in members for k in m]
        match r.kind:
            case "pin":
                return all(
                    self.at(place[k], r.to) for k in flat if not r.subtasks or k[1] in r.subtasks
                )
            case "match":
                return all(r.labels.items() <= self.labels(place[k]).items() for k in flat)
            case "never_move":
                return all(self.current[k[0]][k[1]] == place[k] for k in flat)
            case "colocate":
                return all(
                    len({self.level(place[m[i]], r.level) for m in members}) == 1
                    for i in range(len(members[0]))
                )
            case "exlocate" | "at_most":
                most = 1 if r.kind == "exlocate" else r.count
                return all(
                    sum(self.level(place[k], r.level) == q for k in flat) <= most
                    for q in {self.level(place[k], r.level) for k in flat}
                )
            case "stay_on_site":
                return all(
                    self.site_of[place[c[0]]] == self.site_of[place[c[1]]]
                    for c in self.channels
                    if c[1] in flat
                )
            case "own_data":
                return all(self.serves(r, k, self.site_of[place[k]]) for k in flat)
            case "exclusive":
                own = {self.level(place[k], r.level) for k in flat}
                return all(
                    self.level(place[k], r.level) not in own for k in self.subtasks if k not in flat
                )
        raise AssertionError(r.kind)

    def labels(self, tm):
        node = self.node[self.tms[tm].node]
        return {"node_class": node.node_class, **node.labels}

    def broken_by(self, w, place):
        """How many subtasks break a wish"""
        members = [[(o, i) for i in range(self.ops[o].parallelism)] for o in w.operators]
        flat = [k for m in members for k in m]
        match w.kind:
            case "pin":
                own = [k for k in flat if not w.subtasks or k[1] in w.subtasks]
                return sum(not self.at(place[k], w.to) for k in own)
            case "match":
                return sum(not w.labels.items() <= self.labels(place[k]).items() for k in flat)
            case "colocate":
                first = [self.level(place[k], w.level) for k in members[0]]
                return sum(
                    self.level(place[k], w.level) != here
                    for m in members[1:]
                    for k, here in zip(m, first, strict=True)
                )
            case "stay_on_site":
                return sum(
                    self.site_of[place[c[0]]] != self.site_of[place[c[1]]]
                    for c in self.channels
                    if c[1] in flat
                )
        together = defaultdict(int)
        for k in flat:
            together[self.level(place[k], w.level)] += 1
        if w.kind == "spread":
            known = {self.level(t, w.level) for t, tm in self.tms.items() if tm.slots > 0}
            fair = -(-len(flat) // max(len(known), 1))
            return max(max(together.values()) - fair, 0)
        most = 1 if w.kind == "exlocate" else w.count
        return sum(max(n - most, 0) for n in together.values())

    def serves(self, r, k, site):
        """Whether subtask k may run at a site, as all its data is born there or it is open."""
        (tier,) = (s.tier for s in self.cluster.sites if s.id == site)
        if tier != "edge" or any(fnmatchcase(site, pattern) for pattern in r.open_sites):
            return True
        before = {k}
        while more := {c[0] for c in self.channels if c[1] in before} - before:
            before |= more
        fed = {s.target for s in self.job.streams}
        births = [self.births(j) for j in before if j[0] not in fed]
        return bool(births) and all(sites == {site} for sites in births)

    def births(self, k):
        """The sites where a source subtask may run."""
        op = self.ops[k[0]]
        born = (op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at)[k[1]]
        place_rules = [
            r
            for r in self.rules.rules
            if r.kind in ("pin", "match", "never_move") and k[0] in r.operators
        ]
        return {
            self.site_of[t]
            for t in self.tms
            if born == "anywhere" or self.at(t, born)
            if all(self.obeys_alone(r, k, t) for r in place_rules)
        }

    def obeys_alone(self, r, k, t):
        """Whether a rule lets a subtask run on a TaskManager."""
        if r.kind == "pin":
            return (bool(r.subtasks) and k[1] not in r.subtasks) or self.at(t, r.to)
        if r.kind == "match":
            return r.labels.items() <= self.labels(t).items()
        return self.current[k[0]][k[1]] == t
