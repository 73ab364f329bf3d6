"""The worst path of a plan, as a sentence and as rows of a table."""

from itertools import accumulate, groupby

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import milliseconds, milliseconds_or_less
from edgeplace.solver import PathStep, WorstPath

_PARTS = {
    "buffers": "buffers_ms",
    "links": "links_ms",
    "credit": "credit_ms",
    "processing": "processing_ms",
}
"""What a person calls each part of a step."""
_MOST_MACHINES = 5
"""Machines of a sentence; of a longer path, the first and the last ones."""


def worst_path_sentence(found: WorstPath) -> str:
    """Return the subtasks and machines of the path, and what its time consists of."""
    stays = [
        f"{', '.join(_short(found, step) for step in own)} on {tm}"
        for tm, own in groupby(found.steps, key=lambda step: step.task_manager)
    ]
    if len(stays) > _MOST_MACHINES:
        left = len(stays) - _MOST_MACHINES
        stays = [*stays[:2], f"{left} more machines", *stays[2 - _MOST_MACHINES :]]
    parts = [
        f"{name} {milliseconds_or_less(total)}"
        for name, part in _PARTS.items()
        if (total := found.total(part)) > 0
    ]
    of = f"{found.job}: " if found.job else ""
    return f"worst path {milliseconds(found.latency_ms)}: {of}{' -> '.join(stays)}; " + ", ".join(
        parts
    )


def show_worst_path(console: Console, found: WorstPath) -> None:
    """Print the subtasks of the path, and what each adds to it."""
    console.heading(worst_path_title(found))
    console.table(*worst_path_table(found))


def worst_path_title(found: WorstPath) -> str:
    """Return a title for the table: of which job, in which period."""
    of = f" of {found.job}" if found.job else ""
    when = f", in period {found.period}" if found.period else ""
    return f"the worst path{of}{when}, in ms"


def worst_path_table(found: WorstPath) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return columns and rows of the path: a row for each subtask, times in ms.

    What waits for credit has a column only if anything does.
    """
    parts = {n: p for n, p in _PARTS.items() if n != "credit" or found.total(p) > 0}
    until = accumulate(sum(getattr(s, p) for p in _PARTS.values()) for s in found.steps)
    rows = [
        (
            _short(found, step),
            step.task_manager,
            *(f"{getattr(step, part):,.1f}" for part in parts.values()),
            f"{total:,.1f}",
        )
        for step, total in zip(found.steps, until, strict=True)
    ]
    return ["subtask", "on", *(f">{name}" for name in parts), ">so far"], rows


def _short(found: WorstPath, step: PathStep) -> str:
    """Return a subtask without its job."""
    return step.subtask.removeprefix(f"{found.job}: ")
