"""A range in place of a figure of `--set`: a setting for each of its values, and its cases."""

import re

from edgeplace.model import Case, InvalidInputError

_SWEEP = re.compile(
    r"(?P<what>.*=x?)(?P<low>[\d.eE+-]*?\d\.?)(?P<same>[x%]?)\.\.x?"
    r"(?P<high>[\d.eE+-]+)(?P<unit>[x%]| +\S+)?"
)
_MOST_STEPS, _STEPS = 12, 5
"""Whole numbers that are taken one by one at most, and the number of values of any other range."""


def is_sweep(setting: str) -> bool:
    """Return whether a setting has a range in place of a figure: `rate=x1..x5`."""
    return _SWEEP.fullmatch(setting) is not None


def steps(setting: str) -> list[str]:
    """Return a setting for each value of a range: whole numbers if they are few, else even steps.

    >>> steps("rate=x1..x3")
    ['rate=x1', 'rate=x2', 'rate=x3']
    >>> steps("price:a-b=1..2 EUR/GB")
    ['price:a-b=1 EUR/GB', 'price:a-b=2 EUR/GB']
    >>> steps("demand=80%..82%")
    ['demand=80%', 'demand=81%', 'demand=82%']

    Raises
    ------
    InvalidInputError
        If it does not go from a low to a high number.
    """
    found = _SWEEP.fullmatch(setting)
    try:
        low, high = (float(found[end]) for end in ("low", "high")) if found else (0.0, 0.0)
    except ValueError:
        low = high = 0.0
    unit = (found["unit"] or "") if found else ""
    if found is None or not low < high or found["same"] not in ("", unit):
        raise InvalidInputError(
            f"--set {setting!r} is no range", "write rate=x1..x5, from low to high"
        )
    whole = int(high - low) if low.is_integer() and high.is_integer() else 0
    n = whole if 0 < whole < _MOST_STEPS else _STEPS - 1
    return [f"{found['what']}{low + (high - low) * i / n:.12g}{unit}" for i in range(n + 1)]


def has_no_plan_either(case: Case, without: Case) -> bool:
    """Return whether a case has no plan as another one has none; False if that is not known.

    It is known if they differ in rates alone, and nothing takes less than in the other one. A bound
    on a delay, which is less at higher rates, and periods of a day are not compared.

    Parameters
    ----------
    without
        A case for which it is proved that there is no plan.
    """
    # They load the solver.
    from edgeplace.control.loop.answering.carried import RateLoads, may_carry
    from edgeplace.solver import build

    if any(
        getattr(case, of) != getattr(without, of) for of in ("cluster", "rules", "current", "lost")
    ):
        return False
    if case.rules and case.rules.demand:
        return False
    now, then = (build(c.jobs, c.cluster, c.rules, c.current) for c in (case, without))
    return may_carry(now) and RateLoads.of(now).no_less_than(RateLoads.of(then))
