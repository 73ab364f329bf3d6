"""The flush law and the state law, fitted to what was measured at several rates.

A law is kept only if it predicts measurements that it has not seen better than the measurements
next to them do. The protocol is: leave one rate out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgeplace.model import AtRate
from edgeplace.model.laws.by_rate import selectivity_at
from edgeplace.model.laws.flush import FlushForm, FlushLaw, Gathering
from edgeplace.model.laws.state import StateLaw
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares

FEWEST_RATES = 3
"""A law has two parameters. They need two rates beside the one that is left out."""
WIN = 0.9
"""Largest error of a law that is kept, as a share of the error without a law: means of log q."""
HOLDS = 1.2
"""Largest q-error of a law that is kept, as a geometric mean."""
_GROWS = 1.1
"""Largest over least state from which it counts as a function of the rate."""
_MOST_KEYS = 1e6
_SHAPES: dict[FlushForm, float] = {"hot and cold": 0.999, "zipf": 3.0}
"""Largest shape of each form that is looked for."""
_GRID = 9
_ZOOMS = 11


@dataclass(frozen=True)
class HeldOut:
    """The prediction of a rate from the others.

    Attributes
    ----------
    rate_per_s
        The rate that was left out.
    between
        False if it is the lowest or the highest one.
    q
        q-error: the larger one of predicted / measured and measured / predicted; 1 is exact.
    """

    rate_per_s: float
    between: bool
    q: float


@dataclass(frozen=True)
class Choice:
    """What was found for one stream.

    Attributes
    ----------
    law
        None if no form was kept.
    reason
        Why not; empty if there is a law.
    without
        Errors without a law, one for each rate.
    errors
        Errors of each form, likewise.
    """

    law: FlushLaw | None
    reason: str
    without: tuple[HeldOut, ...]
    errors: dict[FlushForm, tuple[HeldOut, ...]]


def learn(gathering: Gathering, seen: Sequence[AtRate]) -> Choice:
    """Return the form of the flush law that predicts left-out rates best, fitted to all rates.

    Parameters
    ----------
    gathering
        When the source operator of the stream flushes.
    seen
        At ascending rates.
    """
    if len(seen) < FEWEST_RATES:
        rates = "1 rate" if len(seen) == 1 else f"{len(seen)} rates"
        return Choice(None, f"{rates}; the law needs {FEWEST_RATES}", (), {})
    without = held_out(seen, lambda others: None)
    errors = {form: held_out(seen, partial(fitted, gathering, form)) for form in _SHAPES}
    best = min(errors, key=lambda form: _mean_log(errors[form]))
    had, has = _mean_log(without), _mean_log(errors[best])
    if has > WIN * had or has > math.log(HOLDS):
        reason = (
            f"the flush law is off by a factor of {math.exp(has):.2f} at rates it has not seen, "
            f"measurements at the rates next to them by {math.exp(had):.2f}"
        )
        return Choice(None, reason, without, errors)
    return Choice(fitted(gathering, best, seen), "", without, errors)


def fitted(gathering: Gathering, form: FlushForm, seen: Sequence[AtRate]) -> FlushLaw:
    """Return the law with the least squares of log(predicted / measured).

    The search is a grid over keys (as powers) and shape, which narrows around its best point.
    """
    low = np.array([math.log(2.0), 0.0])
    high = np.array([math.log(_MOST_KEYS), _SHAPES[form]])
    centre, reach = (low + high) / 2, (high - low) / 2
    best, least = None, math.inf
    for _ in range(_ZOOMS):
        axes = [
            np.linspace(max(a, c - r), min(b, c + r), _GRID)
            for a, b, c, r in zip(low, high, centre, reach, strict=True)
        ]
        for log_keys in axes[0]:
            for shape in axes[1]:
                law = FlushLaw(
                    gathering=gathering, form=form, keys=math.exp(log_keys), shape=float(shape)
                )
                loss = sum(
                    math.log(law.selectivity(at.rate_per_s) / at.selectivity) ** 2 for at in seen
                )
                if loss < least:
                    best, least, centre = law, loss, np.array([log_keys, shape])
        reach = reach / 2.5
    assert best is not None  # noqa: S101 - any finite loss is less than infinity
    return best


def held_out(
    seen: Sequence[AtRate], law_of: Callable[[Sequence[AtRate]], FlushLaw | None]
) -> tuple[HeldOut, ...]:
    """Return the prediction of each rate by the law that the other rates give."""
    found = []
    for i, left_out in enumerate(seen):
        others = (*seen[:i], *seen[i + 1 :])
        said = selectivity_at(left_out.rate_per_s, others, law_of(others))
        q = math.exp(abs(math.log(said / left_out.selectivity)))
        found.append(HeldOut(left_out.rate_per_s, 0 < i < len(seen) - 1, q))
    return tuple(found)


def _mean_log(errors: Sequence[HeldOut]) -> float:
    return float(np.mean([math.log(e.q) for e in errors]))


def state_law(seen: Sequence[tuple[float, float]]) -> StateLaw | None:
    """Return the state law of an operator, or None if the state at the nearest rate says as much.

    The fit is least squares of predicted / measured - 1. Of each rate that is left out, the error
    of the law from the other rates is compared with that of the state at the nearest one.

    Parameters
    ----------
    seen
        Records/s into the operator and bytes of its state, both more than 0, at three rates or
        more.
    """
    states = [state for _, state in seen]
    if len(seen) < FEWEST_RATES or max(states) < _GROWS * min(states):
        return None
    law, nearest = 0.0, 0.0
    for i, (rate, state) in enumerate(seen):
        others = [*seen[:i], *seen[i + 1 :]]
        _, near = min(others, key=lambda at: abs(math.log(at[0] / rate)))
        law += abs(math.log(_state(others).state_bytes(rate) / state))
        nearest += abs(math.log(near / state))
    return _state(seen) if law < WIN * nearest else None


def _state(seen: Sequence[tuple[float, float]]) -> StateLaw:
    rate, state = np.array(seen).T
    # Columns of a similar length, as the method wants them.
    columns = np.stack([1 / state, rate / rate.max() / state], axis=1) * state.mean()
    fixed, held = non_negative_least_squares(columns.T @ columns, columns.sum(axis=0))
    return StateLaw(
        fixed_bytes=float(fixed * state.mean()),
        held_bytes_s=float(held * state.mean() / rate.max()),
    )
