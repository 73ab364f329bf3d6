"""The places of a cluster by name and by index."""

from collections.abc import Mapping

import numpy as np

from edgeplace.model import Cluster
from edgeplace.solver.arrays import Bools, Ints


class Places:
    """The places of TaskManagers, indexed once for all rules and sources.

    Attributes
    ----------
    node, site
        Of each TaskManager, shape (n_task_managers,).
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        nodes = {n.id: i for i, n in enumerate(cluster.nodes)}
        sites = {s.id: i for i, s in enumerate(cluster.sites)}
        site_of = np.array([sites[n.site] for n in cluster.nodes], np.intp)
        self.node: Ints = np.array([nodes[t.node] for t in cluster.task_managers], np.intp)
        self.site: Ints = site_of[self.node]
        self._index: dict[str, int] = {t.id: i for i, t in enumerate(cluster.task_managers)}
        by_node: dict[str, list[int]] = {n.id: [] for n in cluster.nodes}
        by_site: dict[str, list[int]] = {s.id: [] for s in cluster.sites}
        for i, t in enumerate(cluster.task_managers):
            by_node[t.node].append(i)
        for n in cluster.nodes:
            by_site[n.site] += by_node[n.id]
        self._labels: dict[tuple[str, str], Bools] = {}
        for n in cluster.nodes:
            for label in n.labels_and_class.items():
                if label not in self._labels:
                    self._labels[label] = np.zeros(len(self.node), bool)
                self._labels[label][by_node[n.id]] = True
        self._members = [{t: [i] for t, i in self._index.items()}, by_node, by_site]
        self._held: dict[str, Bools] = {}

    def level(self, name: str) -> Ints:
        """Return the index of the place of each TaskManager at a level, shape (n_tms,)."""
        match name:
            case "task_manager":
                return np.arange(len(self.node), dtype=np.intp)
            case "node":
                return self.node
            case _:
                return self.site

    def at(self, place: str) -> Bools:
        """Return which TaskManagers are at a place: a TaskManager, a node, a site, or a pattern.

        Raises
        ------
        InvalidInputError
            If no such place is known, or if the name means two different places.
        """
        if place not in self._held and "*" in place:
            self._held[place] = np.logical_or.reduce(
                [self.at(name) for name in self._cluster.places_like(place)[1]]
            )
        if place not in self._held:
            held = np.zeros(len(self.node), bool)
            known = [members[place] for members in self._members if place in members]
            if not known or any(other != known[0] for other in known):
                # No place, or several of one name: says so.
                known = [[self._index[t] for t in self._cluster.task_managers_at(place)]]
            held[known[0]] = True
            self._held[place] = held
        return self._held[place]

    def with_labels(self, labels: Mapping[str, str]) -> Bools:
        """Return which TaskManagers are on nodes that carry all these labels."""
        held = np.ones(len(self.node), bool)
        for label in labels.items():
            held &= self._labels.get(label, False)
        return held
