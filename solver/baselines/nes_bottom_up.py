"""NebulaStream's bottom-up strategy: operators run at their input if it has room.

Zeuch et al., "The NebulaStream Platform for Data and Application Management in the Internet of
Things", CIDR 2020; source: https://github.com/nebulastream/nebulastream, nes-optimizer,
QueryPlacementAddition/BottomUpStrategy.cpp. From the sources up: an operator with one input runs
on its input's node; one with several, and a sink, on the lowest node above all of them. If a node
has no free slot, the next one on the way to the root takes it. Slots are all that is counted.
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.ascent import Ascent, first_with_room
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.baselines.order import downstream, neighbours
from edgeplace.solver.problem import Problem


def nes_bottom_up(problem: Problem) -> Ints:
    """Return the assignment of the bottom-up strategy; pins hold, other sinks go to the root."""
    p = problem
    up = Ascent.of(p)
    filler = Filler(p)
    producers, consumers = neighbours(p)
    for k in downstream(p).tolist():
        inputs = filler.assignment[producers[k]]
        if not len(inputs):
            filler.place(k, filler.allowed(k))
            continue
        if not len(consumers[k]):
            ladder = up.task_managers((up.root,))
        elif len(np.unique(inputs)) == 1:
            below = int(inputs[0])
            ladder = up.task_managers(up.paths[p.tms.site[below]], first=below)
        else:
            ladder = up.task_managers(up.common(p.tms.site[inputs]))
        first_with_room(filler, k, ladder)
    return filler.assignment
