"""The nearest plan: what to break if something must be broken.

Limits may slip at a price (an elastic model: Chinneck, "Feasibility and Infeasibility in
Optimization", 2008, ch. 6): first as few rules as possible, then as few limits, then by as little
as possible. What a plan exceeds is read off by the evaluator, so the figures are exact.
"""

import dataclasses
from contextlib import suppress
from dataclasses import dataclass

from edgeplace.model import RATED, Evaluation, Limit, LimitKind, ObjectiveLevel
from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.clock import limited, look, running
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.formulation import Formulation
from edgeplace.solver.linear.backend import Backend, Outcome
from edgeplace.solver.linear.model import Affine, Kind, Limited, LinearModel, Row
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem
from edgeplace.solver.search import Search
from edgeplace.solver.search.stages import baselines
from edgeplace.solver.tolerances import AMOUNT_GAP, INTEGRALITY

_PATIENCE, _FEWEST_NODES = 2e8, 100
"""Nodes of the search for one answer times entries of its model, and nodes at least, where the call
has no limit. So the answer does not depend on how busy the machine is."""
_LARGEST = 1e6
"""Entries of a model of all limits, beyond which nothing is asked of it then."""
_SHARE = 1 / 3
"""Of the time left, for one question whether a plan exists."""


@dataclass(frozen=True)
class Nearest:
    """An assignment that breaks little, and whether no other one breaks less."""

    assignment: Ints
    proved: bool


def kept(found: Evaluation, soft: bool) -> tuple[Limit, ...]:
    """Return the violations that count."""
    return tuple(v for v in found.violations if not (soft and v.kind in RATED))


def any_plan(problem: Problem, soft: bool) -> tuple[Ints | None, bool]:
    """Return an assignment that holds, and whether it was proved that there is none."""
    p = problem
    if not p.candidates(soft).any(axis=1).all():
        return None, True
    levels = [ObjectiveLevel(name="throughput" if soft else "wan")]
    left = running().left()
    with limited(None if left is None else left * _SHARE) as clock:
        search = Search(p, levels, soft, clock, 1.0, 0, lambda text: None, patient)
        search.run()
        if search.best is None and not search.state.proof.infeasible and left is None:
            baselines.run_local_search(search.state)
    if search.best is not None:
        return search.best.assignment, False
    return None, search.state.proof.infeasible


def nearest(form: Formulation, soft: bool) -> Nearest | None:
    """Return the assignment that breaks the fewest rules, then limits, those by the least share.

    None if time ran out before any was found.
    """
    refuse_large(form.model.n_entries)
    model, count, amount = _elastic(form.model)
    best: Ints | None = None
    least: tuple[int, int] | None = None
    proved = False
    with suppress(OutOfTimeError):
        while True:
            look()
            loaded = patient(model)
            first = loaded.minimise(count, seconds=None, gap=0.0, start=None)
            if first.values is None:
                break
            few = round(sum(v * first.values[c] for c, v in count.terms.items()))
            loaded.add_rows([Row(count.terms, few + INTEGRALITY)])
            start = dict(enumerate(first.values.tolist()))
            values, second = first.values, None
            with suppress(OutOfTimeError):
                second = loaded.minimise(amount, seconds=None, gap=AMOUNT_GAP, start=start)
                values = first.values if second.values is None else second.values
            assignment = form.assignment(values)
            found = assess(form.problem, assignment)
            broken = _broken(form.problem, assignment, soft)
            if least is None or broken < least:
                best, least = assignment, broken
            # Credit windows are stated only where they are met: let the model know and try again.
            windows = tuple(v for v in found.violations if v.kind is LimitKind.CREDIT_WINDOW)
            if soft or not windows:
                outcomes = (first.outcome, second.outcome if second else Outcome.STOPPED)
                proved = outcomes == (Outcome.OPTIMAL, Outcome.OPTIMAL)
                break
            met = found.model_copy(update={"violations": windows})
            model.single.extend(form.missed(values, assignment, met) or ())
    return None if best is None else Nearest(best, proved)


def rule_of_thumb(problem: Problem, soft: bool) -> Ints | None:
    """Return what the rule of thumb does that breaks least, None if there is no time for any."""
    best: Ints | None = None
    least: tuple[int, int] | None = None
    with suppress(OutOfTimeError):
        for baseline in BASELINES.values():
            assignment = baseline(problem)
            broken = _broken(problem, assignment, soft)
            if least is None or broken < least:
                best, least = assignment, broken
    return best


def patient(model: LinearModel) -> Backend:
    """Load a model, to be given up after some work where the call has no limit."""
    from edgeplace.solver.linear.highs import Milp

    if running().limited:
        return Milp(model)
    return Milp(model, most_nodes=max(int(_PATIENCE / max(model.n_entries, 1)), _FEWEST_NODES))


def refuse_large(entries: int) -> None:
    """Raise `OutOfTimeError` for a model of more entries than is asked where there is no limit.

    Where there is one, the back end refuses it.
    """
    if not running().limited and entries > _LARGEST:
        raise OutOfTimeError("the model of all limits is too large")


def _broken(problem: Problem, assignment: Ints, soft: bool) -> tuple[int, int]:
    """Return how many rules an assignment breaks, and how many limits in all."""
    found = kept(assess(problem, assignment), soft)
    return sum(v.kind is LimitKind.RULE for v in found), len(found)


def _elastic(rigid: LinearModel) -> tuple[LinearModel, Affine, Affine]:
    """Return the model with slack in the rows of limits, a weighted count of it, and its amount."""
    model = LinearModel(list(rigid.upper), list(rigid.kinds))
    exceeded: dict[Limited, int] = {}
    amount = Affine()
    for row in rigid.rows:
        look()
        if row.limit is None:
            model.single.append(row)
            continue
        if row.limit not in exceeded:
            exceeded[row.limit] = model.column(Kind.BINARY)
        most = sum(abs(v) * model.upper[c] for c, v in row.terms.items()) + abs(row.bound)
        terms = dict(row.terms)
        for sign in (-1.0, 1.0) if row.equality else (-1.0,):
            slack = model.column(Kind.REAL, most)
            terms[slack] = sign
            amount.add_term(slack, 1 / max(abs(row.bound), 1.0))
            model.at_most(Affine({slack: 1.0, exceeded[row.limit]: -most}), 0.0)
        model.single.append(dataclasses.replace(row, terms=terms))
    # A rule states what users know of the world; capacity can be bought. So a rule weighs more
    # than all other limits together.
    others = sum(what != LimitKind.RULE for what, _ in exceeded)
    weight = {limit: others + 1.0 if limit[0] == LimitKind.RULE else 1.0 for limit in exceeded}
    count = Affine({c: weight[limit] for limit, c in exceeded.items()})
    return model, count, amount
