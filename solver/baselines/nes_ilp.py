"""NebulaStream's ILP strategy: minimise bytes times distance, plus slots above the capacity.

Zeuch et al., "The NebulaStream Platform for Data and Application Management in the Internet of
Things", CIDR 2020; source: https://github.com/nebulastream/nebulastream, nes-optimizer,
QueryPlacementAddition/ILPStrategy.cpp. An operator runs on one of the nodes that the ways from its
sources to the root share, never below its inputs. The mileage of a node adds up 1/bandwidth on
its way. Minimised is the sum of output times mileage gone and of slots used beyond those
available, both weighted 1: no limit is hard.

There, output is a number of tuples that defaults to 100, and a link without a bandwidth is given
512; here output is bytes/s, and such a link 512 Mbit/s. Slots are counted as Flink does. It runs
on HiGHS in place of Z3: the optimum is the same.
"""

import time

import numpy as np

from edgeplace.solver.arrays import Floats
from edgeplace.solver.baselines.ascent import Ascent, place_sources
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.order import neighbours
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.problem import Problem

Columns = list[dict[int, int]]
"""Of each subtask: TaskManager -> column of "it runs there"."""

DEFAULT_BANDWIDTH_BYTES_PER_S = 512e6 / 8
NETWORK_WEIGHT = 1.0
OVER_UTILISATION_WEIGHT = 1.0


def nes_ilp(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the plan that is best by NebulaStream's objective.

    None if rules leave a subtask no place on the way up from its sources, or the time is up.
    """
    # A solver library is loaded only when it is asked for.
    from edgeplace.solver.linear.highs import Milp

    p = problem
    deadline = budget.deadline()
    up = Ascent.of(p)
    model = LinearModel()
    x: Columns = [{t: model.column(Kind.BINARY) for t in tms} for tms in _places(p, up)]
    if not all(x):
        return Found(None)
    for columns in x:
        model.equal(Affine(dict.fromkeys(columns.values(), 1.0)), 1.0)
    cost = Affine()
    _network(p, up, x, model, cost)
    _over_utilisation(p, x, model, cost)
    left = None if budget.time_limit_s is None else max(0.0, deadline - time.monotonic())
    values = Milp(model, budget.seed).minimise(cost, seconds=left, gap=0.0, start=None).values
    if values is None:
        return Found(None)
    chosen = [max(columns, key=lambda t: values[columns[t]]) for columns in x]
    return Found(np.array(chosen, np.intp))


def _places(p: Problem, up: Ascent) -> list[list[int]]:
    """Return the TaskManagers that each subtask may take: sources have one, sinks the root's."""
    producers, consumers = neighbours(p)
    filler = Filler(p)
    sources = place_sources(p, filler)
    allowed = p.allowed()
    places = []
    for k in range(p.n):
        if not len(producers[k]):
            places.append([int(filler.assignment[k])])
            continue
        sites = up.common(sources[k]) if len(consumers[k]) else (up.root,)
        places.append(np.flatnonzero(allowed[k] & np.isin(p.tms.site, sites)).tolist())
    return places


def _network(p: Problem, up: Ascent, x: Columns, model: LinearModel, cost: Affine) -> None:
    """Add bytes/s times mileage to the cost, and keep consumers from running below producers."""
    to_go = _mileage_to_go(p, up)
    for k, j, w in zip(
        p.channels.source.tolist(),
        p.channels.target.tolist(),
        p.channels.bytes_per_s.tolist(),
        strict=True,
    ):
        for t, column in x[k].items():
            cost.add_term(column, NETWORK_WEIGHT * w * to_go[p.tms.site[t]])
        for t, column in x[j].items():
            cost.add_term(column, -NETWORK_WEIGHT * w * to_go[p.tms.site[t]])
        for site in {int(p.tms.site[t]) for t in x[j]}:
            here = Affine({c: 1.0 for t, c in x[j].items() if p.tms.site[t] == site})
            for t, column in x[k].items():
                if site in up.paths[p.tms.site[t]]:
                    here.add_term(column, -1.0)
            model.at_most(here, 0.0)


def _mileage_to_go(p: Problem, up: Ascent) -> Floats:
    """Return 1/bandwidth, added up on the route from each site to the root."""
    bandwidth = p.network.bandwidth_bytes_per_s
    mileage = 1 / np.where(np.isfinite(bandwidth), bandwidth, DEFAULT_BANDWIDTH_BYTES_PER_S)
    routes = (p.network.route(site, up.root) or () for site in range(p.network.n_sites))
    return np.array([mileage[list(route)].sum() for route in routes])


def _over_utilisation(p: Problem, x: Columns, model: LinearModel, cost: Affine) -> None:
    """Add slots used beyond those of each TaskManager to the cost."""
    operator = p.subtasks.operator_of
    for t in range(p.m):
        here: dict[int, dict[int, Affine]] = {}
        for k, columns in enumerate(x):
            if t in columns:
                operators = here.setdefault(int(p.subtasks.group[operator[k]]), {})
                operators.setdefault(int(operator[k]), Affine()).add_term(columns[t], 1.0)
        used = Affine()
        for operators in here.values():
            most = model.column(Kind.IMPLIED, max(len(e.terms) for e in operators.values()))
            used.add_term(most, 1.0)
            for e in operators.values():
                model.at_most(e.add_term(most, -1.0), 0.0)
        if used.terms:
            over = model.column(Kind.IMPLIED, float(p.n))
            cost.add_term(over, OVER_UTILISATION_WEIGHT)
            model.at_most(used.add_term(over, -1.0), float(p.tms.slots[t]))
