"""NebulaStream's top-down strategy: operators run at their consumer if it has room.

Zeuch et al., "The NebulaStream Platform for Data and Application Management in the Internet of
Things", CIDR 2020; source: https://github.com/nebulastream/nebulastream, nes-optimizer,
QueryPlacementAddition/TopDownStrategy.cpp. From the sinks down: an operator with one input and one
consumer runs on its consumer's node; another on the lowest node above the sources it
depends on. If a node has no free slot, the next one on the way down to
those sources takes it. Slots are all that is counted.
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.ascent import Ascent, first_with_room, place_sources
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.baselines.order import downstream, neighbours
from edgeplace.solver.problem import Problem


def nes_top_down(problem: Problem) -> Ints:
    """Return the assignment of the top-down strategy; pins hold, other sinks go to the root."""
    p = problem
    up = Ascent.of(p)
    filler = Filler(p)
    sources = place_sources(p, filler)
    producers, consumers = neighbours(p)
    for k in reversed(downstream(p).tolist()):
        if not len(producers[k]):
            continue
        outputs = filler.assignment[consumers[k]]
        first = None
        if not len(outputs):
            start = up.root
        elif len(producers[k]) == 1 and len(np.unique(outputs)) == 1:
            first = int(outputs[0])
            start = int(p.tms.site[first])
        else:
            start = up.common(sources[k])[0]
        first_with_room(filler, k, up.task_managers(up.down(start, sources[k]), first))
    return filler.assignment
