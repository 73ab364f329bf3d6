"""Published methods: placements to compare with, and starts for the exact back ends.

`BASELINES` are the simple rules that `solve` starts from and `policies` shows. `PUBLISHED` are
all methods that edgeplace is measured against, by name; docs/baselines.md says where each comes
from. All of them need at least one TaskManager.
"""

from collections.abc import Callable

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.all_server import all_server
from edgeplace.solver.baselines.amnis_style import amnis_style
from edgeplace.solver.baselines.caps import caps
from edgeplace.solver.baselines.costream_style import costream_style
from edgeplace.solver.baselines.flatvec_style import flatvec_style
from edgeplace.solver.baselines.flink_spread import flink_spread
from edgeplace.solver.baselines.found import Budget, Found
from edgeplace.solver.baselines.greedy_first_fit import greedy_first_fit
from edgeplace.solver.baselines.local_search import local_search
from edgeplace.solver.baselines.nes_bottom_up import nes_bottom_up
from edgeplace.solver.baselines.nes_ilp import nes_ilp
from edgeplace.solver.baselines.nes_top_down import nes_top_down
from edgeplace.solver.baselines.odp import odp
from edgeplace.solver.baselines.random_k import random_k
from edgeplace.solver.baselines.span_edge import span_edge
from edgeplace.solver.baselines.tabu import tabu
from edgeplace.solver.baselines.textbook import textbook
from edgeplace.solver.baselines.threshold import threshold
from edgeplace.solver.problem import Problem

Rule = Callable[[Problem], Ints]
Method = Callable[[Problem, Budget], Found]


def _at_once(rule: Rule) -> Method:
    """Return a rule, which needs no budget, as a method."""
    return lambda problem, budget: Found(rule(problem))


BASELINES: dict[str, Rule] = {
    "all-server": all_server,
    "flink-spread": flink_spread,
    "threshold": threshold,
}

PUBLISHED: dict[str, Method] = {
    **{name: _at_once(rule) for name, rule in BASELINES.items()},
    "greedy-first-fit": _at_once(greedy_first_fit),
    "local-search": local_search,
    "tabu": tabu,
    "random-k": random_k,
    "costream-style": costream_style,
    "flatvec-style": flatvec_style,
    "amnis-style": _at_once(amnis_style),
    "span-edge": _at_once(span_edge),
    "nes-bottom-up": _at_once(nes_bottom_up),
    "nes-top-down": _at_once(nes_top_down),
    "nes-ilp": nes_ilp,
    "caps": caps,
    "odp": odp,
    "textbook": textbook,
}

__all__ = [
    "BASELINES",
    "PUBLISHED",
    "Budget",
    "Found",
    "Method",
    "Rule",
    "all_server",
    "flink_spread",
    "threshold",
]
