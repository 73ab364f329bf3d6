"""The TaskManagers of a cluster as arrays, with the nodes that they run on."""

from dataclasses import dataclass

import numpy as np

from edgeplace.model import AMOUNTS, Cluster
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem.places import Places


@dataclass(frozen=True)
class TaskManagers:
    """The resources of TaskManagers; arrays of shape (n_task_managers,), but for those of nodes.

    Attributes
    ----------
    slots
        What subtasks may take of each.
    has
        What they may take of each amount of `AMOUNTS`, infinite where that is not stated, shape
        (n_task_managers, n_amounts).
    node, site, node_class
        Where each is, by index; node classes are numbered in the order of their names.
    is_server
        Whether it is at a cloud site.
    core_price
        Of an hour of a busy core, in the cluster's currency.
    node_cores
        Cores times target of each node, shape (n_nodes,). The TaskManagers of a node share them.
    node_price
        Of an hour of each node that holds a subtask, shape (n_nodes,).
    """

    slots: Ints
    has: Floats
    node: Ints
    site: Ints
    node_class: Ints
    is_server: Bools
    core_price: Floats
    node_cores: Floats
    node_price: Floats

    @classmethod
    def of(cls, cluster: Cluster, places: Places) -> "TaskManagers":
        """Return those of a cluster."""
        tms = cluster.task_managers
        class_index = {c: i for i, c in enumerate(node_classes(cluster))}
        node_class = np.array([class_index[n.node_class] for n in cluster.nodes], np.intp)
        core_price = np.array([n.price_per_core_hour for n in cluster.nodes], float)
        cloud = np.array([s.tier == "cloud" for s in cluster.sites])
        return cls(
            slots=np.array([t.slots for t in tms], np.intp),
            has=np.stack([_room([getattr(t, k.facts.has) for t in tms]) for k in AMOUNTS], 1),
            node=places.node,
            site=places.site,
            node_class=node_class[places.node],
            is_server=cloud[places.site],
            core_price=core_price[places.node],
            node_cores=np.array([n.cores * cluster.cpu_target for n in cluster.nodes]),
            node_price=np.array([n.price_per_node_hour for n in cluster.nodes], float),
        )


def node_classes(cluster: Cluster) -> list[str]:
    """Return the node classes of a cluster's nodes, in the order of their numbers."""
    return sorted({n.node_class for n in cluster.nodes})


def _room(stated: list[float | None]) -> Floats:
    return np.array([np.inf if b is None else b for b in stated])
