"""Reasons for a parallelism: the best plans with the next smaller and the next larger one."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    InvalidInputError,
    JobGraph,
    Limit,
    ObjectiveName,
    Plan,
    Rules,
    Status,
)
from edgeplace.model.objective import objective_levels
from edgeplace.solver.clock import limited, running
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.parallelism.choice import choice_of
from edgeplace.solver.solve import solve
from edgeplace.solver.tolerances import SAME_VALUE


@dataclass(frozen=True)
class OtherParallelism:
    """The best plan if some operators had another parallelism, and all others theirs.

    Attributes
    ----------
    operators
        Names of those that change together.
    now, other
        Their parallelism in the plan, and the other one.
    status
        Of the best plan with the other one.
    breaks
        What the nearest plan exceeds, if there is none.
    term
        The first term of the objective that differs; None: no term does.
    value, was
        Of the term, with the other parallelism and in the plan.
    """

    operators: str
    now: int
    other: int
    status: Status
    breaks: tuple[Limit, ...] = ()
    term: ObjectiveName | None = None
    value: float = 0.0
    was: float = 0.0


def other_parallelism(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str] = DEFAULT_OBJECTIVE,
    time_limit_s: float | None = None,
    backend: str = "milp",
) -> tuple[OtherParallelism, ...]:
    """Return the best plans with the next smaller and the next larger parallelism of each operator.

    Parameters
    ----------
    jobs
        In the parallelism of the plan.
    time_limit_s
        Wall time of all searches together; each is given an equal share of what is left.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete.
    """
    rules = rules or Rules()
    found = evaluate(jobs, cluster, plan, rules, current)
    try:
        groups = choice_of(jobs, rules, "all").groups
    except InvalidInputError:
        return ()
    asked = [
        (g, n)
        for g in groups
        for n in (
            max((v for v in g.values if v < g.now), default=0),
            min((v for v in g.values if v > g.now), default=0),
        )
        if n
    ]
    answers = []
    with limited(time_limit_s):
        for left, (group, n) in zip(range(len(asked), 0, -1), asked, strict=True):
            seconds = running().left()
            result = solve(
                jobs,
                cluster,
                rules,
                objective,
                current,
                time_limit_s=None if seconds is None else seconds / left,
                backend=backend,
                # By its id, in the job that has it.
                parallelism={group.members[0][1]: (n,)},
            )
            breaks = result.conflict.shortfalls if result.conflict else ()
            term, value, was = None, 0.0, 0.0
            if result.evaluation:
                for level in objective_levels(objective):
                    value, was = result.evaluation.value(level.name), found.value(level.name)
                    if abs(value - was) > SAME_VALUE * max(abs(value), abs(was)):
                        term = level.name
                        break
            answers.append(
                OtherParallelism(group.title, group.now, n, result.status, breaks, term, value, was)
            )
    return tuple(answers)
