"""CPU time of a TaskManager as background and costs of records, by regression.

.. math:: c = \\alpha + \\sum_i \\beta_i r_i, \\quad \\alpha, \\beta_i \\ge 0

with c used cores of a TaskManager in a minute and r_i records/s of operator i there. Operators
whose rates go together cannot be told apart by their rates. So costs are pulled towards the
division of CPU time by busy time: where minutes say nothing, it stands, and where they say much,
it hardly counts.
"""

import math
from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats.arrays import Bools, Floats
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares
from edgeplace.spark_stats.cpu.slices import Slices

SHRINKAGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Weights of busy time that are tried; `choice` takes the one that predicts left-out minutes."""
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
    resolution
        How much of each cost the minutes say, from 0 (all of it is by busy time) to 1, shape (k,):
        the diagonal of the resolution matrix.
    """

    background: float
    cost_s: Floats
    resolution: Floats

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
class NormalEquations:
    """Sums over the minutes of one node class, from which its coefficients follow.

    .. math::
        \\min \\sum (c - \\alpha - \\sum_i \\beta_i r_i)^2
        + \\lambda \\sum (\\kappa \\sum_i d_i r_i)^2 \\sum_i (\\beta_i / \\kappa d_i - 1)^2

    with d_i the core-seconds a record by busy time, and their part :math:`\\kappa` that is not
    background, by least squares of the cores. Where d_i is 0, a cost is pulled nowhere.

    Attributes
    ----------
    unit_s
        Core-seconds a record that a coefficient of 1 stands for, shape (k,).
    pulled
        Which coefficients are pulled towards 1, shape (1 + k,), the background's first.
    work
        The square of the cores for records by busy time.
    gram, moment
        Products of the columns with each other and with the cores, shapes (1 + k, 1 + k), (1 + k,).

    References
    ----------
    H. Theil, A. S. Goldberger: On pure and mixed statistical estimation in economics.
    International Economic Review 2, 1961.
    A. E. Hoerl, R. W. Kennard: Ridge regression: biased estimation for nonorthogonal problems.
    Technometrics 12, 1970.
    """

    unit_s: Floats
    pulled: Bools
    work: float
    gram: Floats
    moment: Floats

    @classmethod
    def of(cls, slices: Slices, dealt_s: Floats) -> "NormalEquations":
        """Return the sums, given the core-seconds a record by busy time, shape (k,)."""
        work = slices.per_s @ dealt_s
        whole = np.column_stack([np.ones(len(work)), work])
        _, part = _least_squares(whole.T @ whole, whole.T @ slices.cores)
        pulled = part * dealt_s > 0
        unit_s = np.where(pulled, part * dealt_s, 1.0)
        columns = _columns(slices, unit_s)
        return cls(
            unit_s,
            np.concatenate([[False], pulled]),
            part**2 * float(work @ work),
            columns.T @ columns,
            columns.T @ slices.cores,
        )

    def fit(self, shrinkage: float) -> Fit:
        """Return the coefficients, with costs by busy time where they would not be positive.

        Parameters
        ----------
        shrinkage
            :math:`\\lambda`, the weight of busy time.
        """
        weight = self.weight(shrinkage)
        found = _least_squares(self.gram + np.diag(weight), self.moment + weight)
        units = np.where((found <= 0) & self.pulled, 1.0, found)[1:]
        resolution = self._resolution(weight, found > 0)[1:]
        return Fit(float(found[0]), units * self.unit_s, resolution)

    def weight(self, shrinkage: float) -> Floats:
        """Return the weight of the square of each coefficient's way from 1, shape (1 + k,)."""
        return np.where(self.pulled, shrinkage * self.work, 0.0)

    def _resolution(self, weight: Floats, free: Bools) -> Floats:
        """Return how much of each coefficient that is not 0 comes from the minutes, (1 + k,).

        References
        ----------
        W. Menke: Geophysical Data Analysis: Discrete Inverse Theory. Academic Press 1984 (ch. 4).
        """
        found = np.zeros(len(free))
        both = np.ix_(free, free)
        whole = (self.gram + np.diag(weight))[both]
        length = np.sqrt(np.diag(whole))
        scale = np.outer(length, length)
        inverse = np.linalg.pinv(whole / scale, hermitian=True)
        found[free] = np.diag(inverse @ (self.gram[both] / scale))
        return found


def intervals(slices: Slices, shrinkage: float, dealt_s: Floats) -> Floats:
    """Return the lower and upper end of the background and of each cost, shape (1 + k, 2).

    n minutes are cut into blocks of the cube root of n consecutive ones, which are drawn with
    replacement (fixed seed): a block keeps what the minutes in it have in common.

    References
    ----------
    E. Carlstein: The use of subseries values for estimating the variance of a general statistic
    from a stationary sequence. Annals of Statistics 14, 1986.
    P. Hall, J. L. Horowitz, B.-Y. Jing: On blocking rules for the bootstrap with dependent data.
    Biometrika 82, 1995 (length of blocks).
    """
    equations = NormalEquations.of(slices, dealt_s)
    columns, weight = _columns(slices, equations.unit_s), equations.weight(shrinkage)
    minutes = len(np.unique(slices.minute))
    count = max(1, round(minutes / max(1, round(minutes ** (1 / 3)))))
    block = slices.time_blocks(count)
    grams = np.array([columns[block == b].T @ columns[block == b] for b in range(count)])
    moments = np.array([columns[block == b].T @ slices.cores[block == b] for b in range(count)])
    draws = np.random.default_rng(_SEED).multinomial(
        count, np.full(count, 1 / count), size=RESAMPLES
    )
    found = [
        _least_squares(
            np.tensordot(times, grams, 1) + np.diag(weight),
            np.tensordot(times, moments, 1) + weight,
        )
        for times in draws.astype(float)
    ]
    outside = (1 - LEVEL) / 2
    low, high = np.quantile(found, (outside, 1 - outside), axis=0)
    ends: Floats = np.stack([low, high], axis=1)
    ends[1:] *= equations.unit_s[:, None]
    return ends


def _columns(slices: Slices, unit_s: Floats) -> Floats:
    """Return the cores of the background and of each operator at one unit, shape (n, 1 + k)."""
    return np.column_stack([np.ones(len(slices.cores)), slices.per_s * unit_s])


def _least_squares(gram: Floats, moment: Floats) -> Floats:
    """Return the coefficients; columns are scaled to one length, as they differ by powers of 10."""
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    scaled: Floats = non_negative_least_squares(gram / np.outer(length, length), moment / length)
    return scaled / length
