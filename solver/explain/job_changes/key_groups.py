"""How unevenly key groups fall to the subtasks of a keyed operator, and who would even it.

Key group g of K goes to subtask ⌊g n / K⌋ of n, so some subtask has ⌈K/n⌉ groups. With
groups of equal load the fullest of n subtasks has ⌈K/n⌉ n / K of the mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgeplace.model import JobGraph, ShipStrategy

_WORTH = 0.05
"""A subtask that has less than this above the mean is not worth another parallelism."""


@dataclass(frozen=True)
class Skew:
    """A keyed operator, of which one subtask gets more than the mean."""

    job: str
    operator: str
    parallelism: int
    fullest: float
    """Load of the fullest subtask over the mean, by measured shares where there are some."""
    of_groups: float
    """What of it the numbers of key groups explain: ⌈K/n⌉ n / K."""
    measured: bool
    better: int | None
    """The nearest parallelism whose groups divide best, up to twice this one; None: this one."""
    better_fullest: float | None
    """Load of the fullest of so many subtasks over their mean, as far as groups explain it."""


def skew_of(loads: ArrayLike, parallelism: int) -> float:
    """Return the load of the fullest subtask over the mean.

    Parameters
    ----------
    loads
        Of each key group, shape (max_parallelism,); any unit.
    """
    each = np.asarray(loads, float)
    owner = np.arange(len(each)) * parallelism // len(each)
    of_subtask = np.bincount(owner, weights=each, minlength=parallelism)
    total = float(of_subtask.sum())
    return float(of_subtask.max()) * parallelism / total if total > 0 else 1.0


def evenest(loads: ArrayLike, candidates: Sequence[int]) -> tuple[int, float]:
    """Return the parallelism whose fullest subtask has least above the mean; of equals the first.

    Parameters
    ----------
    loads
        As for `skew_of`: the answer is exact for them.
    candidates
        At least one; each from 1 to the number of key groups.
    """
    skews = [skew_of(loads, n) for n in candidates]
    least = int(np.argmin(np.round(skews, 12)))
    return candidates[least], skews[least]


def skews(job_graph: JobGraph | Sequence[JobGraph]) -> tuple[Skew, ...]:
    """Return the keyed operators of which a subtask gets 5 % more than the mean.

    The load of single key groups is not in the costs: groups count as equal. What measured shares
    have beyond that are hot keys, and no parallelism evens those.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    found = []
    for job in jobs:
        keyed: dict[str, float | None] = {}
        for s in job.streams:
            if s.ship_strategy is ShipStrategy.HASH:
                shares = s.cost.shares if s.cost else None
                measured = max(shares) * len(shares) if shares else None
                keyed[s.target] = max(filter(None, (keyed.get(s.target), measured)), default=None)
        for name, measured in keyed.items():
            op = job.operator(name)
            groups = np.ones(op.max_parallelism)
            now = skew_of(groups, op.parallelism)
            fullest = measured or now
            if fullest < 1 + _WORTH:
                continue
            most = min(2 * op.parallelism, op.max_parallelism)
            candidates = np.arange(op.parallelism // 2 + 1, most + 1)
            nearest = candidates[np.argsort(abs(candidates - op.parallelism), kind="stable")]
            better, then = evenest(groups, nearest.tolist())
            changed = then < now - _WORTH
            found.append(
                Skew(
                    job=job.name,
                    operator=op.name,
                    parallelism=op.parallelism,
                    fullest=fullest,
                    of_groups=now,
                    measured=measured is not None,
                    better=better if changed else None,
                    better_fullest=then if changed else None,
                )
            )
    return tuple(found)
