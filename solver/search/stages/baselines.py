"""Stages: plans of others to start from. Nothing is proved."""

from edgeplace.solver.baselines import BASELINES, Budget
from edgeplace.solver.baselines.local_search import local_search
from edgeplace.solver.clock import running
from edgeplace.solver.search.state import SearchState


def run(state: SearchState) -> None:
    """Offer what the rules of thumb do."""
    if state.task.parameters.baselines:
        for baseline in BASELINES.values():
            if state.best is None or running().left() != 0.0:
                state.incumbent.offer(baseline(state.task.problem))


def run_local_search(state: SearchState) -> None:
    """Offer what a local search finds, where no model gave a plan."""
    task = state.task
    left = task.clock.left()
    found = local_search(task.problem, Budget(left and left / 2, task.seed))
    if found.assignment is not None:
        state.incumbent.offer(found.assignment)
