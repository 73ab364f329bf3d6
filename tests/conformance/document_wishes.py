"""What plans leave of wishes, as docs/job.md says it."""

import math

import numpy as np

from tests.conformance.document_places import Plans, WithPlaces
from tests.conformance.document_traffic import Floats


class WithWishes(WithPlaces):
    """A case whose wishes are counted."""

    def _wishes(self, plans: Plans) -> Floats:
        """Return the subtasks that break wishes, times the weight of each wish."""
        total = np.zeros(len(plans))
        unit = {
            "site": self.tm_site,
            "node": self.tm_node,
            "task_manager": np.arange(len(self.tms)),
        }
        labels = self._labels()
        for w in self.rules.wishes:
            ops = self._of_rule(w)
            ks = [k for o in ops for k in o]
            bad = np.zeros(len(plans))
            if w.kind in ("pin", "match"):
                good = self._at(w.to) if w.kind == "pin" else set()
                for t in range(len(self.tms)) if w.kind == "match" else ():
                    own = labels[self.node_ids[self.tm_node[t]]]
                    if all(own.get(name) == value for name, value in w.labels.items()):
                        good.add(t)
                for k in ks:
                    if w.kind == "match" or not w.subtasks or self.subtasks[k].index in w.subtasks:
                        bad += ~np.isin(plans[:, k], sorted(good))
            elif w.kind == "colocate":
                at = unit[w.level][plans]
                for other in ops[1:]:
                    for x, y in zip(ops[0], other, strict=True):
                        bad += at[:, x] != at[:, y]
            elif w.kind == "stay_on_site":
                for c in self.channels:
                    if c.target in ks:
                        bad += self.tm_site[plans[:, c.source]] != self.tm_site[plans[:, c.target]]
            else:
                at = unit[w.level]
                counts = np.stack([(at[plans][:, ks] == q).sum(axis=1) for q in set(at.tolist())])
                if w.kind == "spread":
                    tms = enumerate(self.cluster.task_managers)
                    with_slots = {at[t] for t, tm in tms if tm.slots}
                    fair = math.ceil(len(ks) / max(len(with_slots), 1))
                    bad += np.maximum(counts.max(axis=0) - fair, 0)
                else:
                    most = 1 if w.kind == "exlocate" else w.count
                    bad += np.maximum(counts - most, 0).sum(axis=0)
            total += w.weight * bad
        return total
