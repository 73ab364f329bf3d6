"""CPU time of a TaskManager as background and costs of records, by regression.

.. math:: c = \\alpha + \\sum_i \\beta_i r_i, \\quad \\alpha, \\beta_i \\ge 0

with c used cores of a TaskManager in a minute and r_i records/s of operator i there. Operators
whose rates go together cannot be told apart by their rates. So costs are pulled towards the
division of CPU time by busy time: where minutes say nothing, it stands, and where they say much,
it hardly counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from edgeplace.spark_stats.arrays import Floats
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares
from edgeplace.spark_stats.cpu.slices import Slices
from edgeplace.spark_stats.student import students_t

SHRINKAGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Weights of busy time that are tried; `choice` takes the one that predicts left-out minutes."""
LEAST_UNIT = 0.1
"""Least unit of a cost, as a part of an even share of the cores' standard deviation: busy time may
say next to nothing of an operator that works in other threads."""
STEADY = 30.0
"""Condition index from which costs cannot be told from the background (Belsley, Kuh, Welsch)."""
RESAMPLES = 200
LEVEL = 0.90
"""Probability that an interval holds its figure."""
_SEED = 20261123


@dataclass(frozen=True)
class Fit:
    """Coefficients of one node class.

    Attributes
    ----------
    background
        Cores that a TaskManager uses without records.
    cost_s
        Core-seconds a record, shape (k,); 0 where it is not known.
    by_busy_time_s
        How much each cost changes if busy time is wrong, of each operator by itself, core-seconds a
        record, shape (k,).
    """

    background: float
    cost_s: Floats
    by_busy_time_s: Floats

    def cores(self, slices: Slices) -> Floats:
        """Return the predicted cores, shape (n,)."""
        predicted: Floats = self.background + slices.per_s @ self.cost_s
        return predicted

    def steady(self, slices: Slices) -> bool:
        """Return whether the cores for records hardly change, so that they may be background."""
        cores = slices.per_s @ self.cost_s
        length = float(np.linalg.norm(cores))
        if not length > 0:
            return True
        alike = float(cores.sum()) / (length * math.sqrt(len(cores)))
        return 1 + alike >= STEADY**2 * (1 - alike)


@dataclass(frozen=True)
class Sums:
    """Sums over minutes of one node class, from which its coefficients follow. They add up.

    Attributes
    ----------
    gram, moment, square
        Products of the columns with each other and with the cores, and of the cores, shapes
        (1 + k, 1 + k), (1 + k,) and (): a column of ones for the background, and records/s of each
        operator in its `unit_per_s`.
    """

    gram: Floats
    moment: Floats
    square: float

    @classmethod
    def of(cls, slices: Slices, unit_per_s: Floats) -> "Sums":
        """Return the sums over all rows."""
        columns = np.column_stack([np.ones(len(slices.cores)), slices.per_s / unit_per_s])
        cores = slices.cores
        return cls(columns.T @ columns, columns.T @ cores, float(cores @ cores))

    def fit(self, dealt: Floats, shrinkage: float) -> "Coefficients":
        """Return the coefficients.

        .. math::
            \\min \\sum (c - \\alpha - \\sum_i \\beta_i r_i)^2
            + \\lambda \\sum (c - \\bar c)^2 \\sum_i ((\\beta_i - \\kappa d_i) / u_i)^2

        with d_i the cost by busy time, and their part :math:`\\kappa` that is not background, by
        least squares of the cores. The unit u_i is :math:`\\kappa d_i`, or what makes `LEAST_UNIT`
        of an even share of the cores' standard deviation if that is more.

        Parameters
        ----------
        dealt
            Cost by busy time, cores for one unit of the rate, shape (k,).
        shrinkage
            :math:`\\lambda`, the weight of busy time.

        References
        ----------
        H. Theil, A. S. Goldberger: On pure and mixed statistical estimation in economics.
        International Economic Review 2, 1961.
        A. E. Hoerl, R. W. Kennard: Ridge regression: biased estimation for nonorthogonal problems.
        Technometrics 12, 1970.
        """
        of_busy_time = np.zeros((len(self.moment), 2))
        of_busy_time[0, 0], of_busy_time[1:, 1] = 1.0, dealt
        _, part = _least_squares(
            of_busy_time.T @ self.gram @ of_busy_time, of_busy_time.T @ self.moment
        )
        count = max(float(self.gram[0, 0]), 1.0)
        spread = max(self.square - float(self.moment[0]) ** 2 / count, 0.0)
        usual = np.sqrt(np.diag(self.gram)[1:] / count)
        seen = usual > 0
        share = LEAST_UNIT * math.sqrt(spread / count) / max(int(seen.sum()), 1)
        towards = part * dealt
        unit = np.maximum(towards, np.divide(share, usual, out=np.zeros_like(usual), where=seen))
        weight = np.zeros(len(self.moment))
        # The root first: a square of units may overflow.
        root = math.sqrt(shrinkage * spread)
        weight[1:] = np.divide(root, unit, out=np.zeros_like(unit), where=unit > 0) ** 2
        return Coefficients(self, np.concatenate([[0.0], towards]), weight, unit)


@dataclass(frozen=True)
class Coefficients:
    """A background and costs that are pulled towards busy time.

    Attributes
    ----------
    towards, weight
        Where each coefficient is pulled, and the weight of the square of its way from there, shape
        (1 + k,), the background's first.
    unit
        By how much busy time is wrong at least, as far as known, shape (k,).
    """

    sums: Sums
    towards: Floats
    weight: Floats
    unit: Floats

    def values(self) -> Floats:
        """Return the coefficients, not negative, shape (1 + k,)."""
        gram, moment = self._pulled()
        return _least_squares(gram, moment)

    def positive(self) -> Floats:
        """Return them with costs by busy time where they would be 0, and the others given these."""
        gram, moment = self._pulled()
        fixed = np.zeros(len(moment), dtype=bool)
        found = _least_squares(gram, moment)
        while (more := (found <= 0) & (self.towards > 0) & ~fixed).any():
            fixed |= more
            found = np.where(fixed, self.towards, 0.0)
            left = moment - gram @ found
            found[~fixed] = _least_squares(gram[np.ix_(~fixed, ~fixed)], left[~fixed])
        return found

    def by_busy_time(self, found: Floats) -> Floats:
        """Return how much each cost changes if busy time is wrong, of each operator by itself,
        shape (k,): by a unit, or by as much as the cost found is away from it.
        """
        gram, _ = self._pulled()
        length = np.sqrt(np.diag(gram))
        length[length == 0] = 1.0
        inverse = np.linalg.pinv(gram / np.outer(length, length), rcond=1e-12, hermitian=True)
        change = inverse / np.outer(length, length) * self.weight
        wrong = np.maximum(self.unit, np.abs(found - self.towards)[1:])
        changes: Floats = np.sqrt(((change[1:, 1:] * wrong) ** 2).sum(axis=1))
        return changes

    def _pulled(self) -> tuple[Floats, Floats]:
        return (
            self.sums.gram + np.diag(self.weight),
            self.sums.moment + self.weight * self.towards,
        )


def fits(slices: Slices, dealt_s: Floats, shrinkages: Sequence[float]) -> list[Fit]:
    """Return the coefficients of one node class for each weight of busy time.

    Parameters
    ----------
    dealt_s
        Core-seconds a record by busy time, shape (k,).
    """
    unit_per_s = _units(slices)
    sums = Sums.of(slices, unit_per_s)
    found = []
    for shrinkage in shrinkages:
        pulled = sums.fit(dealt_s * unit_per_s, shrinkage)
        values = pulled.positive()
        found.append(
            Fit(float(values[0]), values[1:] / unit_per_s, pulled.by_busy_time(values) / unit_per_s)
        )
    return found


def intervals(slices: Slices, dealt_s: Floats, shrinkage: float, found: Fit) -> Floats:
    """Return the lower and upper end of the background and of each cost, shape (1 + k, 2).

    n minutes are cut into blocks of the cube root of n consecutive ones, which are drawn with
    replacement (fixed seed): a block keeps what the minutes in it have in common. The ends of the
    draws are moved away from the fit as Student's t of so many blocks is wider than a normal
    distribution.

    References
    ----------
    E. Carlstein: The use of subseries values for estimating the variance of a general statistic
    from a stationary sequence. Annals of Statistics 14, 1986.
    P. Hall, J. L. Horowitz, B.-Y. Jing: On blocking rules for the bootstrap with dependent data.
    Biometrika 82, 1995 (length of blocks).
    """
    minutes = len(np.unique(slices.minute))
    count = max(2, round(minutes / max(1, round(minutes ** (1 / 3)))))
    block = slices.time_blocks(count)
    unit_per_s = _units(slices)
    parts = [Sums.of(slices.only(block == b), unit_per_s) for b in range(count)]
    grams = np.array([part.gram for part in parts])
    moments = np.array([part.moment for part in parts])
    squares = np.array([part.square for part in parts])
    draws = np.random.default_rng(_SEED).multinomial(
        count, np.full(count, 1 / count), size=RESAMPLES
    )
    drawn = [
        Sums(np.tensordot(times, grams, 1), times @ moments, float(times @ squares))
        .fit(dealt_s * unit_per_s, shrinkage)
        .values()
        for times in draws.astype(float)
    ]
    outside = (1 - LEVEL) / 2
    ends = np.quantile(drawn, (outside, 1 - outside), axis=0).T
    ends[1:] /= unit_per_s[:, None]
    middle = np.concatenate([[found.background], found.cost_s])[:, None]
    normal = NormalDist().inv_cdf(1 - outside)
    wider = students_t(count - 1, LEVEL) / normal * math.sqrt(count / (count - 1))
    away = np.maximum(np.stack([middle[:, 0] - ends[:, 0], ends[:, 1] - middle[:, 0]]), 0.0)
    low, high = middle[:, 0] - wider * away[0], middle[:, 0] + wider * away[1]
    both: Floats = np.stack([np.maximum(low, 0.0), high], axis=1)
    return both


def _units(slices: Slices) -> Floats:
    """Return the highest rate of each operator, records/s, shape (k,); 1 if it has none."""
    top = slices.per_s.max(axis=0, initial=0.0)
    return np.where(top > 0, top, 1.0)


def _least_squares(gram: Floats, moment: Floats) -> Floats:
    """Return the coefficients; columns are scaled to one length, as they differ by powers of 10."""
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    scaled: Floats = non_negative_least_squares(gram / np.outer(length, length), moment / length)
    return scaled / length
