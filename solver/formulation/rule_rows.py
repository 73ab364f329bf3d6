"""Rules and moves as rows of a linear model."""

import numpy as np

from edgeplace.model import LimitKind
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Alone, Capped, Evened, Restriction, Together


def rules(p: Problem, model: LinearModel, c: PlacementColumns, explicit: bool) -> None:
    """Add rows for the four compiled forms of rules; for restrictions only if asked."""
    for r, rule in enumerate(p.constraints):
        match rule:
            case Restriction():
                if explicit:
                    own = c.x[np.ix_(c.units.of[rule.subtasks], np.flatnonzero(~rule.allowed))]
                    terms = dict.fromkeys(own[own >= 0].tolist(), 1.0)
                    model.at_most(Affine(terms), 0.0, (LimitKind.RULE, r))
            case Together():
                _together(model, c, rule, r)
            case Capped():
                _capped(model, c, rule, r)
            case Alone():
                _alone(model, c, rule, r)


def _together(model: LinearModel, c: PlacementColumns, rule: Together, r: int) -> None:
    pair, units = np.arange(len(rule.first)), c.units.of
    width = int(rule.place.max()) + 1
    row, column, value = [], [], []
    for ends, sign in ((rule.first, 1.0), (rule.second, -1.0)):
        own = c.x[units[ends]]
        at, tm = np.nonzero(own >= 0)
        row.append(pair[at] * width + rule.place[tm])
        column.append(own[at, tm])
        value.append(np.full(len(at), sign))
    numbers, number = np.unique(np.concatenate(row), return_inverse=True)
    model.all_equal(
        number,
        np.concatenate(column),
        np.concatenate(value),
        np.zeros(len(numbers)),
        LimitKind.RULE,
        np.full(len(numbers), r),
    )


def _capped(model: LinearModel, c: PlacementColumns, rule: Capped, r: int) -> None:
    own = c.x[np.unique(c.units.of[rule.subtasks])]
    at, tm = np.nonzero(own >= 0)
    n = int(rule.place.max()) + 1
    model.all_at_most(
        rule.place[tm],
        own[at, tm],
        np.ones(len(at)),
        np.full(n, float(rule.count)),
        LimitKind.RULE,
        np.full(n, r),
    )


def _alone(model: LinearModel, c: PlacementColumns, rule: Alone, r: int) -> None:
    n = int(rule.place.max()) + 1
    taken = model.columns(Kind.IMPLIED, np.ones(n))
    for subtasks, sign, bound in ((rule.subtasks, -1.0, 0.0), (rule.others, 1.0, 1.0)):
        own = c.x[c.units.of[subtasks]]
        at, tm = np.nonzero(own >= 0)
        numbers, number = np.unique(at * n + rule.place[tm], return_inverse=True)
        rows = np.arange(len(numbers))
        model.all_at_most(
            np.concatenate([number, rows]),
            np.concatenate([own[at, tm], taken[numbers % n]]),
            np.concatenate([np.ones(len(at)), np.full(len(rows), sign)]),
            np.full(len(rows), bound),
            LimitKind.RULE if bound else None,
            np.full(len(rows), r) if bound else None,
        )


def wishes(p: Problem, model: LinearModel, c: PlacementColumns) -> None:
    """Wishes: subtasks that break them, by weight. They are told apart here."""
    total = model.objectives["wishes"] = Affine()
    for wish in p.wishes:
        for part in wish.parts:
            match part:
                case Restriction():
                    own = c.x[np.ix_(c.units.of[part.subtasks], np.flatnonzero(~part.allowed))]
                    terms = dict.fromkeys(own[own >= 0].tolist(), 1.0)
                    total.add(Affine(terms), wish.weight)
                case Together():
                    total.add(_apart(model, c, part), wish.weight)
                case Capped() | Evened():
                    total.add(_too_many(model, c, part), wish.weight)
                case Alone():
                    raise TypeError(wish.title)


def _apart(model: LinearModel, c: PlacementColumns, rule: Together) -> Affine:
    """Return how many pairs are apart: a column each, 1 if one is at a place without the other."""
    apart = model.columns(Kind.IMPLIED, np.ones(len(rule.first)))
    width = int(rule.place.max()) + 1
    row, column, value = [], [], []
    for ends, sign in ((rule.first, 1.0), (rule.second, -1.0)):
        own = c.x[c.units.of[ends]]
        at, tm = np.nonzero(own >= 0)
        row.append(at * width + rule.place[tm])
        column.append(own[at, tm])
        value.append(np.full(len(at), sign))
    numbers, number = np.unique(np.concatenate(row), return_inverse=True)
    model.all_at_most(
        np.concatenate([number, np.arange(len(numbers))]),
        np.concatenate([*column, apart[numbers // width]]),
        np.concatenate([*value, -np.ones(len(numbers))]),
        np.zeros(len(numbers)),
    )
    return Affine.of(apart, np.ones(len(apart)))


def _too_many(model: LinearModel, c: PlacementColumns, rule: Capped | Evened) -> Affine:
    """Return how many subtasks are too many at a place, over all places or at the fullest one."""
    own = c.x[c.units.of[rule.subtasks]]
    at, tm = np.nonzero(own >= 0)
    places, place = np.unique(rule.place[tm], return_inverse=True)
    n, each = len(places), isinstance(rule, Capped)
    most = rule.count if isinstance(rule, Capped) else rule.fair
    beyond = model.columns(Kind.IMPLIED, np.full(n if each else 1, float(len(rule.subtasks))))
    model.all_at_most(
        np.concatenate([place, np.arange(n)]),
        np.concatenate([own[at, tm], np.broadcast_to(beyond, n)]),
        np.concatenate([np.ones(len(at)), -np.ones(n)]),
        np.full(n, float(most)),
    )
    return Affine.of(beyond, np.ones(len(beyond)))


def moves(p: Problem, model: LinearModel, c: PlacementColumns) -> None:
    """Moves: subtasks that are not on their current TaskManager. They are told apart here."""
    total = model.objectives["moves"] = Affine()
    if p.current is None:
        return
    known = np.flatnonzero(p.current >= 0)
    stays = c.x[c.units.of[known], p.current[known]]
    total.constant = float(p.n)
    total.terms = dict.fromkeys(stays[stays >= 0].tolist(), -1.0)
    kind, of = LimitKind.JOB_MOVES, p.subtasks
    most = kind.bounds_of_jobs(p.rules)
    for i, (job, limit) in enumerate(zip(of.job_numbers(most), most.values(), strict=True)):
        own = stays[(of.job_of[known] == job) & (stays >= 0)]
        size = int((of.job_of == job).sum())
        model.at_most(Affine(dict.fromkeys(own.tolist(), -1.0), size), limit, (kind, i))
