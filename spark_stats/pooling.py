"""The cost of an operator on a node class on which it never ran, from the others in its log.

    log cost = operator + class + rest,  rest ~ N(0, tau^2)

Each measurement has an error of its own variance beside the rest. Operators and classes are fixed
effects, by generalised least squares; tau^2 is where the weighted squares of the residuals are as
many as the degrees of freedom (R. E. Fay, R. A. Herriot: Estimates of Income for Small Places.
Journal of the American Statistical Association 74, 1979).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats.student import students_t

CONFIDENCE = 0.9
"""Probability with which a cost lies in its interval."""
_MOST_REACH = math.log(1000.0)
"""Widest interval of an estimate, as the logarithm of its end over its middle."""
_STEPS = 60
_CLOCK_S = 0.02
"""Busy time is counted in whole milliseconds, some dozens of times in a measurement: the error of
busy seconds as a whole."""


@dataclass(frozen=True)
class MeasuredCost:
    """The cost of an operator on a node class.

    Attributes
    ----------
    cost
        Of a record, in any unit.
    variance
        Of the error of log(cost).
    busy_s
        Busy seconds behind it.
    """

    operator: str
    node_class: str
    cost: float
    variance: float
    busy_s: float = 0.0

    @classmethod
    def of_samples(
        cls,
        operator: str,
        node_class: str,
        cost: float,
        spread: float,
        samples: int,
        busy_s: float,
    ) -> "MeasuredCost":
        """Return it for the relative spread of single samples, their number, and busy seconds."""
        variance = spread**2 / max(samples, 1) + (_CLOCK_S / max(busy_s, _CLOCK_S)) ** 2
        return cls(operator, node_class, cost, variance, busy_s)


@dataclass(frozen=True)
class Estimate:
    """A cost that was not measured, and where it lies with a probability of `CONFIDENCE`."""

    cost: float
    low: float
    high: float


class Pool:
    """Costs of several operators on several node classes.

    Parameters
    ----------
    measured
        Each pair of operator and node class once.
    """

    def __init__(self, measured: Sequence[MeasuredCost]) -> None:
        operators = sorted({m.operator for m in measured})
        classes = sorted({m.node_class for m in measured})
        self._columns = {("operator", o): i for i, o in enumerate(operators)}
        self._columns |= {("class", c): len(operators) + i for i, c in enumerate(classes)}
        self._rows = np.zeros((len(measured), len(self._columns)))
        for row, m in zip(self._rows, measured, strict=True):
            row[self._of(m.operator, m.node_class)] = 1.0
        self._log_cost = np.array([math.log(m.cost) for m in measured])
        self._variance = np.array([m.variance for m in measured])
        self._freedom = len(measured) - int(np.linalg.matrix_rank(self._rows))
        self._operator, self._class = self._rows.nonzero()[1].reshape(-1, 2).T
        self._class = self._class - len(operators)
        self._tau2 = self._rest()
        weight = 1 / (self._tau2 + self._variance)
        gram = self._rows.T @ (weight[:, None] * self._rows)
        self._inverse = np.linalg.pinv(gram).astype(np.float64, copy=False)
        self._effects = self._inverse @ (self._rows.T @ (weight * self._log_cost))

    def estimate(self, operator: str, node_class: str) -> Estimate | None:
        """Return the cost of an operator on a node class.

        None if the measurements do not say it: one of both was not measured, nothing joins
        them, or there are too few for an interval.
        """
        if self._freedom < 1 or not {("operator", operator), ("class", node_class)} <= set(
            self._columns
        ):
            return None
        row = np.zeros(len(self._columns))
        row[self._of(operator, node_class)] = 1.0
        # What is not a combination of measured rows has no estimate.
        if not np.allclose(np.linalg.pinv(self._rows) @ self._rows @ row, row):
            return None
        log_cost = float(row @ self._effects)
        error = math.sqrt(float(row @ self._inverse @ row) + self._tau2)
        reach = students_t(self._freedom, CONFIDENCE) * error
        if reach > _MOST_REACH:
            return None
        return Estimate(math.exp(log_cost), math.exp(log_cost - reach), math.exp(log_cost + reach))

    def _of(self, operator: str, node_class: str) -> list[int]:
        return [self._columns["operator", operator], self._columns["class", node_class]]

    def _squares(self, tau2: float) -> float:
        """Return the weighted squares of the residuals.

        Operators are many and classes are few, so the effects of operators are eliminated first.
        """
        weight = 1 / (tau2 + self._variance)
        weighted = weight * self._log_cost
        of_operator = np.bincount(self._operator, weight)
        both = np.zeros((len(of_operator), len(self._columns) - len(of_operator)))
        both[self._operator, self._class] = weight
        mean = np.bincount(self._operator, weighted) / of_operator
        share = both / of_operator[:, None]
        left = np.diag(both.sum(axis=0)) - both.T @ share
        classes = np.linalg.pinv(left) @ (np.bincount(self._class, weighted) - both.T @ mean)
        operators = mean - share @ classes
        residual = self._log_cost - operators[self._operator] - classes[self._class]
        return float(weight @ residual**2)

    def _rest(self) -> float:
        """Return tau^2: the weighted squares of the residuals fall as it grows."""
        if self._freedom < 1 or self._squares(0.0) <= self._freedom:
            return 0.0
        low, high = 0.0, 1.0
        while self._squares(high) > self._freedom:
            high *= 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self._squares(middle) > self._freedom:
                low = middle
            else:
                high = middle
        return (low + high) / 2
