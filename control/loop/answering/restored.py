"""State that crosses the WAN when a job starts: part of the price of a change."""

from dataclasses import dataclass

import numpy as np

from edgeplace.control.loop.events import Places
from edgeplace.model import Cluster, JobGraph
from edgeplace.solver.problem.network import Network


@dataclass(frozen=True)
class Restored:
    """State that crosses the WAN when a job starts.

    Parameters
    ----------
    bytes
        Each once for every link on its way, as bytes of `wan` are counted.
    cost
        The same at the prices of these links.
    """

    bytes: float = 0.0
    cost: float = 0.0


def restored_by(job: JobGraph, cluster: Cluster, places: Places) -> Restored:
    """Return what crosses the WAN when the job starts as a plan says.

    Flink reads all state back from the checkpoint storage, moved or not.
    """
    if cluster.checkpoint_storage is None:
        return Restored()
    network = Network.of(cluster)
    of_site = {s.id: i for i, s in enumerate(cluster.sites)}
    of_node = {n.id: of_site[n.site] for n in cluster.nodes}
    of_tm = {t.id: of_node[t.node] for t in cluster.task_managers}
    to, state = [], []
    for op in job.operators:
        row = places.get(op.id, ())
        to += [of_tm[tm] for tm in row]
        state += [((op.cost.state_bytes if op.cost else None) or 0.0) / len(row)] * len(row)
    ends = np.full(len(to), of_site[cluster.checkpoint_storage]), np.array(to, np.intp)
    crossed = np.ones(len(network.names))
    read = np.array(state)
    return Restored(
        float(read @ network.along(crossed, *ends)),
        float(read @ network.along(network.price, *ends)),
    )
