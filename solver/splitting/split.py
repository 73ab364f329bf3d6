"""`split`: the weights of the workers that routers deal to, for a plan with places."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import (
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    LimitKind,
    Plan,
    PlanMismatchError,
    Rules,
    refuse_demand,
    with_weights,
)
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.problem import with_jobs
from edgeplace.solver.splitting.effects import Effects, effects
from edgeplace.solver.splitting.operators import (
    SplitOperator,
    even_rows,
    split_operators,
    with_rows,
)
from edgeplace.solver.splitting.weights_model import Rooms, solve_weights
from edgeplace.solver.tolerances import CONTRADICTION, NO_WEIGHT, OPTIMAL_GAP, WEIGHTS_TIGHTER

_ROUNDS = 20
"""How often limits that the evaluator finds exceeded are tightened."""


@dataclass(frozen=True)
class Weighting:
    """The weights of a plan, and how good they are.

    Attributes
    ----------
    plan
        The places that were given, with weights.
    evaluation, even
        The evaluator's figures with these weights, and with even ones.
    bound
        No weights have a lower `wan` with these places; infinite if none hold.
    infeasible
        Proved: with these places no weights hold all limits. The weights are then those that
        sustain the most.
    """

    plan: Plan
    evaluation: Evaluation
    even: Evaluation
    bound: float
    infeasible: bool

    @property
    def gap(self) -> float:
        """How far `wan` may be above the least, relative to it."""
        wan = self.evaluation.wan_cost
        return 0.0 if wan == 0 else max(0.0, (wan - self.bound) / wan)

    @property
    def proved(self) -> bool:
        """Whether these weights are the best for these places, or none hold."""
        return self.infeasible or (self.evaluation.feasible and self.gap <= OPTIMAL_GAP)


def split(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    operators: Sequence[str],
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Weighting:
    """Return the weights of each site for the subtasks of some operators, with places given.

    They have the fewest WAN bytes (records that cross, and partials), weighted by price, within
    links, cores and task threads; of those the fullest limit is the least full. A linear program
    gives them and the bound. What combiners put out is concave in what they get, so the bound
    takes the least they may put out for each record; the weights are judged by the evaluator.

    Parameters
    ----------
    operators
        Ids or names of operators that CUSTOM streams feed.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, or an operator cannot be split.
    PlanMismatchError
        If the evaluator finds less than the bound: a bug of edgeplace.
    """
    refuse_demand(rules, "weights are chosen")
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    ops = split_operators(jobs, operators)
    if not ops:
        raise InvalidInputError("no operator is to be split", "name one")
    bare = plan.model_copy(update={"weights": {}})
    # Whatever weights the jobs came with.
    jobs = list(with_rows(jobs, even_rows(ops)))
    problem = build(jobs, cluster, rules, current)
    assignment = problem.assignment(bare)
    checkpoints = measure_usage(problem, assignment).checkpoint_bytes
    most = _most_per_s(problem, jobs, ops, assignment)

    def found(share: float) -> Effects:
        """Return the effects as of workers that get at most a share of what they may."""
        return effects(problem, jobs, ops, assignment, checkpoints, share * most)

    def judged(weighted: Plan) -> Evaluation:
        return evaluate(jobs, cluster, weighted, rules, current)

    rooms = {
        LimitKind.LINK_BANDWIDTH: problem.network.capacity_bytes_per_s,
        LimitKind.NODE_CPU: problem.tms.node_cores,
        LimitKind.SUBTASK_BUSY: np.ones(problem.n),
    }
    lowest = found(1.0)
    first = solve_weights(problem, lowest, rooms)
    shares = [1.0]
    if any(s.cost and s.cost.by_rate for op in ops for s in jobs[op.job].streams):
        shares += [1 / n for n in sorted({op.parallelism for op in ops})]
    tried = [
        (weighted, judged(weighted))
        for share in shares
        for weighted in _settled(problem, jobs, bare, ops, found(share), rooms)
    ]
    best = min(tried, key=lambda t: _rank(t[1]))
    if best[1].feasible and best[1].wan_cost < first.bound * (1 - CONTRADICTION):
        raise PlanMismatchError(
            f"the evaluator finds {best[1].wan_cost:g} bytes/s of WAN traffic, and the bound of "
            f"all weights is {first.bound:g}"
        )
    return Weighting(
        plan=best[0],
        evaluation=best[1],
        even=judged(bare),
        bound=min(first.bound, best[1].wan_cost) if best[1].feasible else first.bound,
        infeasible=not first.hold,
    )


def _rank(found: Evaluation) -> tuple[bool, float, float]:
    """Return what makes weights worse: limits that they break, WAN bytes, the fullest limit."""
    if found.feasible:
        return False, found.wan_cost, found.utilisation
    return True, found.utilisation, found.wan_cost


def _settled(
    problem: Problem,
    jobs: Sequence[JobGraph],
    bare: Plan,
    ops: Sequence[SplitOperator],
    found: Effects,
    rooms: Rooms,
) -> list[Plan]:
    """Return plans with weights, the last of which holds what the model knows, if any does.

    A limit that the evaluator finds exceeded is tightened by as much, and the model solved again.
    """
    assignment = problem.assignment(bare)
    rooms = {kind: room.copy() for kind, room in rooms.items()}
    plans: list[Plan] = []
    for _ in range(_ROUNDS):
        weights = solve_weights(problem, found, rooms)
        plans.append(_weighted(problem, jobs, bare, ops, found, weights.values))
        if not weights.hold:
            break
        now = with_jobs(problem, with_weights(jobs, problem.cluster, plans[-1]))
        over = False
        for use in measure_usage(now, assignment).rated:
            if use.kind in rooms and use.over.any():
                over = True
                less = use.room[use.over] / use.used[use.over] * (1 - WEIGHTS_TIGHTER)
                rooms[use.kind][use.over] *= less
        if not over:
            break
    return plans


def _weighted(
    problem: Problem,
    jobs: Sequence[JobGraph],
    bare: Plan,
    ops: Sequence[SplitOperator],
    found: Effects,
    values: Floats,
) -> Plan:
    weights: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    sites = [s.id for s in problem.cluster.sites]
    for o, op in enumerate(ops):
        rows = weights.setdefault(jobs[op.job].name, {}).setdefault(op.id, {})
        for s in np.unique(found.site[found.operator == o]).tolist():
            row = np.where(values > NO_WEIGHT, values, 0.0)[
                (found.operator == o) & (found.site == s)
            ]
            rows[sites[s]] = tuple((row / row.sum()).tolist())
    return bare.model_copy(update={"weights": weights})


def _most_per_s(
    problem: Problem, jobs: Sequence[JobGraph], ops: Sequence[SplitOperator], assignment: Ints
) -> Floats:
    """Return the records/s that each worker may get: all there are, or what its thread bears."""
    busy = problem.work.busy[np.arange(problem.n), problem.tms.node_class[assignment]]
    with np.errstate(divide="ignore", invalid="ignore"):
        most: Floats = np.where(busy > 0, problem.work.rate_per_s / busy, np.inf)
    for op in ops:
        own = problem.subtasks.of(op.id, jobs[op.job].name)
        most[own] = np.minimum(most[own], problem.work.rate_per_s[own].sum())
    return most
