"""Wishes that a plan does not meet, and what meeting each would cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    JobGraph,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Rules,
    Status,
    Unmet,
    objective_levels,
)
from edgeplace.solver.clock import limited
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.solve import solve
from edgeplace.solver.tolerances import SAME_VALUE


@dataclass(frozen=True)
class WishPrice:
    """The price of a wish that is not met: of the best plan that breaks it least."""

    wish: Unmet
    least: int | None
    """How many subtasks break it at least, whatever it costs; None: no plan was found."""
    objective: ObjectiveName | None = None
    """The first term of the objective that would differ; None: none would."""
    before: float = 0.0
    after: float = 0.0
    proved: bool = False
    """Whether no plan that breaks it as little is better, and none breaks it less; where no plan
    was found, whether there is none, with or without the wish."""
    behind: ObjectiveName | None = None
    """The term that stays before the wish; None: none does."""


def wish_prices(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
    time_limit_s: float = 10.0,
    backend: str = "milp",
) -> tuple[WishPrice, ...]:
    """Return, of each wish that a plan does not meet, what meeting it would cost.

    Each is solved for alone: the wish first, then the other terms of the objective, without
    tolerances. The first of these that differs from the plan's is the price. `throughput` stays
    before the wish where it is first, as stated: limits that grow with the rates may be exceeded
    then.

    Parameters
    ----------
    time_limit_s
        Wall time of all searches together, an equal share of what is left for each.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, or the plan does not belong to them.
    """
    now = evaluate(job_graph, cluster, plan, rules, current)
    if rules is None or not now.unmet:
        return ()
    stated = objective_levels(objective, cluster)
    first = [v for v in stated[:1] if v.name == "throughput"]
    names = [v.name for v in stated[len(first) :] if v.name != "wishes"]
    rest = [ObjectiveLevel(name=name) for name in names]
    levels = [*first, ObjectiveLevel(name="wishes"), *rest]
    behind = first[0].name if first else None
    found: list[WishPrice] = []
    with limited(time_limit_s) as clock:
        for i, wish in enumerate(now.unmet):
            seconds = (clock.left() or 0.0) / (len(now.unmet) - i)
            alone = rules.model_copy(update={"wishes": (rules.wishes[wish.at],)})
            # The plan is no start: as one, its moves would count.
            result = solve(job_graph, cluster, alone, levels, current, seconds, backend=backend)
            if result.status is Status.INFEASIBLE:
                # Of the other wishes it is as true.
                return tuple(WishPrice(w, None, proved=True, behind=behind) for w in now.unmet)
            if result.evaluation is None:
                found.append(WishPrice(wish, None, behind=behind))
                continue
            least = sum(u.subtasks for u in result.evaluation.unmet)
            proved = result.status is Status.OPTIMAL
            price = WishPrice(wish, least, proved=proved, behind=behind)
            for level in rest:
                before, after = now.value(level.name), result.evaluation.value(level.name)
                if abs(after - before) > SAME_VALUE * max(abs(before), abs(after)):
                    price = WishPrice(wish, least, level.name, before, after, proved, behind)
                    break
            found.append(price)
    return tuple(found)
