"""The answer of a search: what its plan comes to, level by level, and how far that is proved."""

from collections.abc import Sequence

from edgeplace.model import Incumbent, LevelResult, ObjectiveLevel, Result, Status, StoppedBy
from edgeplace.solver.clock import running
from edgeplace.solver.evaluation.evaluate import with_headroom_in_time
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.tolerances import OPTIMAL_GAP


def with_plan(
    best: Usage,
    levels: Sequence[ObjectiveLevel],
    bounds: Sequence[float],
    finished: bool,
    stopped_by: StoppedBy,
    backend: str,
    incumbents: Sequence[Incumbent],
    notes: Sequence[str],
) -> Result:
    """Return the answer with a plan.

    Parameters
    ----------
    bounds
        Of the first levels; nothing is known of the others.
    finished
        Whether every level was searched to its end: without it, the plan is not proved.
    """
    found, more = with_headroom_in_time(best)
    known = (*bounds, *[0.0] * (len(levels) - len(bounds)))
    results = tuple(
        LevelResult(
            name=level.name,
            value=found.value(level.name),
            bound=min(bound, found.value(level.name)),
            tolerance=level.tolerance,
        )
        for level, bound in zip(levels, known, strict=True)
    )
    # A later level may have made an earlier one worse by its tolerance.
    proved = finished and all(
        r.value * (1 - OPTIMAL_GAP) <= r.bound * (1 + r.tolerance) for r in results
    )
    return Result(
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        stopped_by=StoppedBy.PROOF if proved else stopped_by,
        plan=best.problem.plan(best.assignment),
        evaluation=found,
        levels=results,
        incumbents=tuple(incumbents),
        runtime_s=running().elapsed_s(),
        backend=backend,
        notes=(*notes, *more),
    )
