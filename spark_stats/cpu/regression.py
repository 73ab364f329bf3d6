"""CPU time of a TaskManager as background and costs of records, by regression.

.. math:: c = \\alpha + \\sum_i \\beta_i r_i, \\quad \\alpha, \\beta_i \\ge 0

with c used cores of a TaskManager in a minute and r_i records/s of operator i there. Operators
whose rates are always in one ratio have one coefficient: their CPU time is divided by busy time.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats.arrays import Floats
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares
from edgeplace.spark_stats.cpu.slices import Slices

BACKGROUND = -1
"""Stands for the background in a group, beside numbers of operators."""
MOST_COLLINEAR = 30.0
"""Condition index from which columns count as collinear (Belsley, Kuh, Welsch)."""
RESAMPLES = 200
LEVEL = 0.90
"""Probability that an interval holds its figure."""
_SEED = 20261123

Group = tuple[int, ...]
"""Numbers of operators with one coefficient; with `BACKGROUND`, they cannot be told from it."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of one node class.

    Attributes
    ----------
    groups
        What has a coefficient of its own.
    scales
        Coefficient of each group.
    weights_s
        Core-seconds a record by which the CPU time of a group is divided, shape (k,).
    """

    groups: tuple[Group, ...]
    scales: Floats
    weights_s: Floats

    @property
    def background(self) -> float:
        """Cores that a TaskManager uses without records; 0 if it is not known apart."""
        for group, scale in zip(self.groups, self.scales, strict=True):
            if BACKGROUND in group and not _divided(group, self.weights_s):
                return float(scale)
        return 0.0

    @property
    def cost_s(self) -> Floats:
        """Core-seconds a record, shape (k,); 0 where it is not known."""
        found = np.zeros(len(self.weights_s))
        for group, scale in zip(self.groups, self.scales, strict=True):
            members = [i for i in group if i != BACKGROUND]
            found[members] = scale * self.weights_s[members]
        return found

    def cores(self, slices: Slices) -> Floats:
        """Return the predicted cores, shape (n,)."""
        predicted: Floats = self.background + slices.per_s @ self.cost_s
        return predicted


def fit(slices: Slices, groups: tuple[Group, ...], dealt_s: Floats) -> Fit:
    """Return the coefficients with the least squares of cores.

    Parameters
    ----------
    slices
        Of one node class.
    groups
        What has a coefficient of its own.
    dealt_s
        Core-seconds a record by busy time, shape (k,).
    """
    weights = _weights(groups, dealt_s)
    columns = _columns(slices, groups, weights)
    scales = _solved(columns.T @ columns, columns.T @ slices.cores)
    return Fit(groups, scales, weights)


def groups_of(slices: Slices, dealt_s: Floats) -> tuple[Group, ...]:
    """Return the groups that the rates in a log can tell apart.

    First, columns that are collinear are merged: the condition index of the columns, scaled to one
    length, is above `MOST_COLLINEAR`, and they have the most of the variance of the smallest
    singular value. Then groups whose interval reaches 0 are merged with the one most like them.

    References
    ----------
    D. A. Belsley, E. Kuh, R. E. Welsch: Regression Diagnostics. Wiley 1980, chapter 3.
    """
    seen = [i for i in range(len(slices.operators)) if slices.per_s[:, i].any()]
    groups: tuple[Group, ...] = ((BACKGROUND,), *((i,) for i in seen))
    while len(groups) > 1:
        columns = _columns(slices, groups, _weights(groups, dealt_s))
        merged = _collinear(columns)
        if not merged:
            merged = _unresolved(slices, groups, columns)
        if not merged:
            break
        joined = tuple(sorted(i for g in merged for i in groups[g]))
        kept = (group for g, group in enumerate(groups) if g not in merged)
        groups = tuple(sorted((*kept, joined)))
    return groups


def intervals(slices: Slices, groups: tuple[Group, ...], dealt_s: Floats) -> Floats:
    """Return the lower and upper end of the scale of each group, shape (groups, 2).

    n minutes are cut into blocks of the cube root of n consecutive ones, which are drawn with
    replacement (fixed seed): a block keeps what the minutes in it have in common.

    References
    ----------
    E. Carlstein: The use of subseries values for estimating the variance of a general statistic
    from a stationary sequence. Annals of Statistics 14, 1986.
    P. Hall, J. L. Horowitz, B.-Y. Jing: On blocking rules for the bootstrap with dependent data.
    Biometrika 82, 1995 (length of blocks).
    """
    return _intervals(slices, _columns(slices, groups, _weights(groups, dealt_s)))


def _intervals(slices: Slices, columns: Floats) -> Floats:
    minutes = len(np.unique(slices.minute))
    count = max(1, round(minutes / max(1, round(minutes ** (1 / 3)))))
    block = slices.time_blocks(count)
    grams = np.array([columns[block == b].T @ columns[block == b] for b in range(count)])
    moments = np.array([columns[block == b].T @ slices.cores[block == b] for b in range(count)])
    draws = np.random.default_rng(_SEED).multinomial(
        count, np.full(count, 1 / count), size=RESAMPLES
    )
    found = np.array(
        [
            _solved(np.tensordot(times, grams, 1), np.tensordot(times, moments, 1))
            for times in draws.astype(float)
        ]
    )
    outside = (1 - LEVEL) / 2
    ends: Floats = np.quantile(found, (outside, 1 - outside), axis=0).T
    return ends


def _solved(gram: Floats, moment: Floats) -> Floats:
    """Return the coefficients; columns are scaled to one length, as they differ by powers of 10."""
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    scaled: Floats = non_negative_least_squares(gram / np.outer(length, length), moment / length)
    return scaled / length


def _weights(groups: tuple[Group, ...], dealt_s: Floats) -> Floats:
    """Return the weight of each operator in its group; alone, it needs no busy time."""
    weights = dealt_s.copy()
    for group in groups:
        if len(group) == 1 and group[0] != BACKGROUND and weights[group[0]] <= 0:
            weights[group[0]] = 1.0
    return weights


def _columns(slices: Slices, groups: tuple[Group, ...], weights_s: Floats) -> Floats:
    """Return the column of each group, shape (n, groups)."""
    columns = np.ones((len(slices.cores), len(groups)))
    for g, group in enumerate(groups):
        members = [i for i in group if i != BACKGROUND]
        if BACKGROUND not in group or _divided(group, weights_s):
            columns[:, g] = slices.per_s[:, members] @ weights_s[members]
    return columns


def _divided(group: Group, weights_s: Floats) -> bool:
    """Return whether the CPU time of a group is divided among operators. Operators without busy
    time that are one with the background leave it as it is.
    """
    return bool(weights_s[[i for i in group if i != BACKGROUND]].any())


def _collinear(columns: Floats) -> set[int]:
    """Return the columns that are most collinear, an empty set if none are."""
    length = np.linalg.norm(columns, axis=0)
    if not length.all():
        # A group without busy time has no column, or one that underflows. It cannot be told from
        # the background, which is in the first group; if it is that one, any other goes with it.
        return {0, int(length.argmin()) or 1}
    _, sizes, across = np.linalg.svd(columns / length, full_matrices=False)
    if len(sizes) == columns.shape[1] and sizes[0] <= MOST_COLLINEAR * sizes[-1]:
        return set()
    if len(sizes) < columns.shape[1]:
        # Fewer rows than columns: those most like each other.
        return _most_alike(columns / length)
    sizes = np.maximum(sizes, np.finfo(float).eps * sizes[0])
    variance = (across / sizes[:, None]) ** 2
    share = variance[-1] / variance.sum(axis=0)
    parts = {int(i) for i in np.flatnonzero(share > 0.5)}
    return parts if len(parts) > 1 else {int(i) for i in np.argsort(-share, kind="stable")[:2]}


def _most_alike(unit: Floats) -> set[int]:
    alike = unit.T @ unit
    np.fill_diagonal(alike, -1.0)
    a, b = np.unravel_index(int(alike.argmax()), alike.shape)
    return {int(a), int(b)}


def _unresolved(slices: Slices, groups: tuple[Group, ...], columns: Floats) -> set[int]:
    """Return a group whose interval reaches 0 and the group most like it; empty if there is none.

    The background alone may be 0.
    """
    low, high = _intervals(slices, columns).T
    weak = [g for g, group in enumerate(groups) if low[g] <= 0 and group != (BACKGROUND,)]
    if not weak:
        return set()
    # The one that can be the least of the CPU time.
    least = min(weak, key=lambda g: high[g] * columns[:, g].sum())
    unit = columns / np.linalg.norm(columns, axis=0)
    alike = unit.T @ unit[:, least]
    alike[least] = -1.0
    if len(groups) > 2 and (BACKGROUND,) in groups:
        # An operator without a visible cost of its own goes with another operator.
        alike[groups.index((BACKGROUND,))] = -1.0
    return {least, int(alike.argmax())}
