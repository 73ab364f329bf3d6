"""The changes from one value of a sweep to the next, in a few words."""

from collections import Counter
from collections.abc import Sequence

from edgeplace.model import Case, Plan, some

_MOST_GROUPS = 2
NOTHING = "nothing"
ALIKE = "only among alike machines"


def step_change(before: tuple[Case, Plan], after: tuple[Case, Plan]) -> str:
    """Return which operators changed the class of their machines: `decode, detect: 9 mini -> vm`.

    Operators that change alike are named together, those with most subtasks first. Subtasks that
    change places are counted by class, so two that swap their places are no change.
    """
    classes = [_classes(case) for case, _ in (before, after)]
    counted: dict[tuple[tuple[str, int], ...], list[str]] = {}
    same = True
    names = Counter(op.name for job in after[0].jobs for op in job.operators)
    for job in after[0].jobs:
        for op in job.operators:
            was, now = (plan.of(job.name).get(op.id, ()) for _, plan in (before, after))
            same = same and was == now
            difference = Counter(classes[1][tm] for tm in now)
            difference.subtract(classes[0][tm] for tm in was)
            if changed := tuple(sorted((c, n) for c, n in difference.items() if n)):
                name = f"{job.name}: {op.name}" if names[op.name] > 1 else op.name
                counted.setdefault(changed, []).append(name)
    if not counted:
        return NOTHING if same else ALIKE
    largest = sorted(counted, key=lambda change: -sum(abs(n) for _, n in change))
    return some([f"{', '.join(counted[c])}: {_way(c)}" for c in largest], _MOST_GROUPS)


def _way(change: Sequence[tuple[str, int]]) -> str:
    """Return from where to where subtasks went: `9 mini -> vm`, or `-9 mini +6 pi5 +3 vm`."""
    fewer = [(c, -n) for c, n in change if n < 0]
    more = [(c, n) for c, n in change if n > 0]
    if len(fewer) == len(more) == 1 and fewer[0][1] == more[0][1]:
        return f"{more[0][1]:,} {fewer[0][0]} -> {more[0][0]}"
    return " ".join([*(f"-{n:,} {c}" for c, n in fewer), *(f"+{n:,} {c}" for c, n in more)])


def _classes(case: Case) -> dict[str, str]:
    """Return the class of the node of each TaskManager."""
    of_node = {n.id: n.node_class for n in case.cluster.nodes}
    return {t.id: of_node[t.node] for t in case.cluster.task_managers}
