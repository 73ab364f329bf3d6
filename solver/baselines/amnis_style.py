"""In the style of Amnis: data locality first, within what machines and links bear.

Xu, Palanisamy, Wang, Ludwig and Gopisetty, "Amnis: Optimized stream processing for edge computing",
Journal of Parallel and Distributed Computing 160, 2022, place operators near their data by locality
and resource constraints. Their code is not public, and no pseudocode was at hand: this is the idea
and not the method. From the sources down, each subtask runs at the site from which most of its
bytes come, or else at the site to which these bytes have the least delay, where it fits and the
links bear it. What it sends on is not looked at.
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.order import downstream
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.problem import Problem


def amnis_style(problem: Problem) -> Ints:
    """Return the placement; what fits nowhere goes to the nearest place that rules allow."""
    p = problem
    state = State(p)
    allowed = p.allowed()
    inputs = [np.flatnonzero(p.channels.feeding[1] == k) for k in range(p.n)]
    for k in downstream(p).tolist():
        nearest = _nearest(p, state, inputs[k])
        last_resort = next((t for t in nearest if allowed[k, t]), nearest[0])
        fits = state.fits(k)
        state.put(k, next((t for t in nearest if fits[t] and state.carried(k, t)), last_resort))
    return state.assignment


def _nearest(p: Problem, state: State, channels: Ints) -> list[int]:
    """Return the TaskManagers: those at sites with most of the input first, then by its delay."""
    flow = p.channels.bytes_per_s[channels]
    site = p.tms.site[state.assignment[p.channels.source[channels]]]
    born = np.bincount(site, weights=flow, minlength=p.network.n_sites)
    cut_off = (born > 0) @ state.routes.missing > 0
    delay = born @ np.where(state.routes.missing, 0.0, state.routes.delay_ms)
    ranked: list[int] = np.lexsort([each[p.tms.site] for each in (delay, -born, cut_off)]).tolist()
    return ranked
