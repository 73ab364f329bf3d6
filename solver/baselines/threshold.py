"""The seed project's rule: offload what filters strongly or runs fast."""

import numpy as np

from edgeplace.model import Operator
from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import SILENT_BYTES_PER_S

SELECTIVITY_BELOW = 0.5
TRUE_RATE_ABOVE_PER_S = 8000.0


def threshold(problem: Problem) -> Ints:
    """Return the assignment of the threshold rule of the BU CS551 flink-placement project.

    A subtask is offloaded if its operator's selectivity (records out over records in) is below
    0.5, or its true rate on a server above 8,000 records/s. Offloaded subtasks run at the edge
    site that sends them most bytes, if a slot is free there; all others on servers. Pins hold.
    """
    p = problem
    filler = Filler(p)
    order = list(range(p.n))
    depth = _depth(p)
    order.sort(key=lambda k: (depth[k], k))
    offloads = [_offloads(p, op) for _, op in p.subtasks.operators]
    for k in order:
        look()
        allowed = filler.allowed(k)
        servers = allowed[p.tms.is_server[allowed]]
        edge = allowed[~p.tms.is_server[allowed]]
        if len(edge) and (offloads[int(p.subtasks.operator_of[k])] or not len(servers)):
            near = edge[p.tms.site[edge] == _main_site(p, k, filler.assignment)]
            free = [t for t in near if filler.room(k, int(t))]
            if free or not len(servers):
                filler.place(k, free or edge)
                continue
        filler.place(k, servers if len(servers) else allowed)
    return filler.assignment


def _offloads(p: Problem, op: Operator) -> bool:
    cost = op.cost
    if cost is None:
        return False
    rates = [
        c.true_rate_per_s
        for c in cost.classes
        if c.node_class in {n.node_class for n in p.cluster.nodes}
    ]
    return (cost.selectivity is not None and cost.selectivity < SELECTIVITY_BELOW) or (
        bool(rates) and max(rates) > TRUE_RATE_ABOVE_PER_S
    )


def _depth(p: Problem) -> list[int]:
    depth = [0] * p.n
    source, target = p.channels.feeding
    for _ in p.subtasks.operators:
        look()
        for k, j in zip(source.tolist(), target.tolist(), strict=True):
            depth[j] = max(depth[j], depth[k] + 1)
    return depth


def _main_site(p: Problem, k: int, assignment: Ints) -> int:
    source, target = p.channels.feeding
    into = np.flatnonzero((target == k) & (assignment[source] >= 0))
    if not len(into):
        return -1
    sites = p.tms.site[assignment[p.channels.source[into]]]
    return int(
        np.bincount(sites, weights=p.channels.bytes_per_s[into] + SILENT_BYTES_PER_S).argmax()
    )
