"""Plans and bounds that were proved: what they say of a question is not searched again.

A question that comes again is answered as before. At other rates, what was proved gives a bound
(`control/loop/answering/carried.py`); a plan that was found before for the same terms of the
objective, or what runs, is the answer if it is near enough to the bound.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgeplace.control.loop.answering.carried import (
    PriceRanges,
    ProvedBound,
    RateLoads,
    carried,
    may_carry,
)
from edgeplace.control.loop.answering.rates import AtRates, Demand
from edgeplace.control.loop.events import Places
from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    ObjectiveName,
    Plan,
    Result,
    Status,
    objective_levels,
)

NEAR = 0.01
"""So far above the bound a plan may be that is not searched for again, relative to the bound. A
fifth of the least saving that counts unless somebody says otherwise."""
_MOST = 256
_MOST_SOLUTIONS = 24
_MOST_FAMILIES = 8
_PART = 0.25
"""Of the demand at which something is proved of sources alone, so that it holds at less, too."""
_PART_SHARE = 0.25
"""Of the time left for a question, for each search whose proof serves all rates."""
_DIGITS = 6
"""In which terms of two plans that count as equal do not differ."""
_NEAREST = 3
"""Solutions whose bounds are combined with what was proved of sources alone."""
Numbers = Mapping[str, tuple[int, ...]] | None
Terms = tuple[ObjectiveName, ...]


@dataclass(frozen=True)
class KnownBest:
    """The best plan of a case, and its WAN term."""

    plan: Plan | None
    wan: float | None
    wan_bound: float | None

    @property
    def unproved(self) -> float:
        """WAN cost per second that a better plan may save."""
        if self.wan is None or self.wan_bound is None:
            return 0.0
        return max(0.0, self.wan - self.wan_bound)


@dataclass(frozen=True)
class Solution:
    """What was proved at a demand, and the best plan there.

    Parameters
    ----------
    terms
        Of the objective, in the order in which the plan is the best.
    """

    demand: Demand
    proof: ProvedBound
    places: Places | None
    terms: Terms


@dataclass
class Family:
    """What was proved of one case at several rates, the oldest first.

    Parameters
    ----------
    alone
        Some sources -> what was proved of them without all others, and without checkpoints.
    """

    prices: PriceRanges
    solutions: list[Solution] = field(default_factory=list)
    alone: dict[frozenset[str], ProvedBound] = field(default_factory=dict)

    def below(self, now: RateLoads) -> list[Solution]:
        """Return those whose proofs say something at some loads."""
        return [s for s in self.solutions if now.no_less_than(s.proof.loads)]

    def bound(self, now: RateLoads) -> float:
        """Return the best bound that is known at some loads; 0 if none is."""
        proofs = [s.proof for s in self.solutions]
        single = [carried([p], [], now, self.prices) for p in proofs]
        nearest = sorted(range(len(proofs)), key=lambda i: -single[i])[:_NEAREST]
        others = sorted(self.alone, key=len, reverse=True)
        together = carried(
            [proofs[i] for i in nearest], [self.alone[o] for o in others], now, self.prices
        )
        return max(together, *single)


@dataclass
class Known:
    """What was proved so far, the oldest first; nothing else is kept."""

    found: dict[str, KnownBest] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)

    def best(
        self,
        at: AtRates,
        limit_s: float,
        numbers: Numbers,
        objective: Sequence[str] = DEFAULT_OBJECTIVE,
        near: float = NEAR,
    ) -> KnownBest:
        """Return the best plan, solved unless it is known.

        Parameters
        ----------
        numbers
            Of subtasks to choose from, by operator; None: as they are.
        near
            How near to its bound a plan has to be that was found at other rates, as a share; 0:
            no such plan is taken.
        """
        asked = json.dumps([at.family, at.demand, numbers, list(objective)])
        key = hashlib.sha256(asked.encode()).hexdigest()
        known = self.found.get(key)
        if known is not None:
            return known
        ends = time.monotonic() + limit_s
        may = numbers is None and objective[0] == "wan" and may_carry(at.problem)
        if may and near and at.family in self.families:
            terms = _terms(at, objective)
            found = self._near(at, near, terms) or self._near_by_parts(at, near, terms, ends)
            if found is not None:
                return found
        solved = _solved(at, objective, ends - time.monotonic(), numbers)
        wan = next((v for v in solved.levels if v.name == "wan"), None)
        found = KnownBest(solved.plan, wan.value if wan else None, wan.bound if wan else None)
        if solved.status in (Status.OPTIMAL, Status.INFEASIBLE):
            self.found[key] = found
            for old in list(self.found)[:-_MOST]:
                del self.found[old]
        if may:
            self._learn(at, objective, solved)
        return found

    def _near(self, at: AtRates, near: float, terms: Terms) -> KnownBest | None:
        """Return the best by the other terms of the plans that are near enough to the bound."""
        family = self.families[at.family]
        bound = family.bound(RateLoads.of(at.problem))
        if bound == np.inf:
            return KnownBest(None, None, None)
        (job,) = at.case.jobs
        best: tuple[tuple[float, ...], float, Places] | None = None
        for places in self._plans(at, family, terms):
            wan, fits = at.wan(places)
            if not fits or wan > (1 + near) * bound:
                continue
            rest = tuple(float(f"{v:.{_DIGITS}g}") for v in at.values(places, terms[1:]))
            if best is None or rest < best[0]:
                best = rest, wan, places
            if not rest:
                break
        if best is None:
            return None
        _, wan, places = best
        return KnownBest(Plan(jobs={job.name: places}), wan, bound)

    def _near_by_parts(
        self, at: AtRates, near: float, terms: Terms, ends: float
    ) -> KnownBest | None:
        """Return the same, after one search or two whose proofs serve all rates.

        That is of the job at low rates, if none so low are known, and of what the sources that have
        changed send, by themselves.
        """
        family, now = self.families[at.family], RateLoads.of(at.problem)
        if not family.below(now):
            low = at.at({op: _PART * sum(rates) for op, rates in at.demand.items()})
            self._learn(low, ("wan",), _solved(low, ("wan",), _part_of(ends), None))
        changes = [
            frozenset(op for op, rates in at.demand.items() if s.demand[op] != rates)
            for s in family.below(now)
        ]
        changed = min(changes, key=len, default=frozenset[str]())
        if changed and changed not in family.alone:
            alone = at.only(changed, _PART)
            proof = _proof(alone, _solved(alone, ("wan",), _part_of(ends), None))
            if proof is not None:
                family.alone[changed] = proof
        return self._near(at, near, terms)

    @staticmethod
    def _plans(at: AtRates, family: Family, terms: Terms) -> Iterator[Places]:
        """Yield each placement once: what runs, then what was found last for the same terms.

        What runs moves nothing; if it breaks a wish that counts, that is no reason to stay.
        """
        (job,) = at.case.jobs
        given: list[Places] = []
        current = at.case.current.of(job.name) if at.case.current else None
        # What does not fit is told apart later.
        if current and "wishes" in terms and at.wan(current)[1]:
            (broken,) = at.values(current, ["wishes"])
            current = None if broken else current
        found = (s.places for s in reversed(family.solutions) if s.terms[: len(terms)] == terms)
        for places in (current, *found):
            if places and places not in given:
                given.append(dict(places))
                yield given[-1]

    def _learn(self, at: AtRates, objective: Sequence[str], solved: Result) -> None:
        proof = _proof(at, solved)
        if proof is None:
            return
        if at.family not in self.families:
            self.families[at.family] = Family(PriceRanges.of(at.problem))
            for old in list(self.families)[:-_MOST_FAMILIES]:
                del self.families[old]
        (job,) = at.case.jobs
        places = dict(solved.plan.of(job.name)) if solved.plan else None
        solutions = self.families[at.family].solutions
        terms = _terms(at, objective) if solved.status is Status.OPTIMAL else ("wan",)
        solutions.append(Solution(at.demand, proof, places, terms))
        del solutions[:-_MOST_SOLUTIONS]


def _terms(at: AtRates, objective: Sequence[str]) -> Terms:
    """Return the terms that a search minimises: it adds the wishes of the rules."""
    terms = tuple(level.name for level in objective_levels(objective))
    wished = at.case.rules is not None and at.case.rules.wishes
    return (*terms, "wishes") if wished and "wishes" not in terms else terms


def _part_of(ends: float) -> float:
    return _PART_SHARE * max(0.0, ends - time.monotonic())


def _solved(at: AtRates, objective: Sequence[str], limit_s: float, numbers: Numbers) -> Result:
    # The loop itself keeps what is known, and needs no solver for that.
    from edgeplace.solver import solve_case

    return solve_case(
        at.case,
        objective=objective_levels(objective),
        time_limit_s=max(0.0, limit_s),
        parallelism=dict(numbers) if numbers else None,
    )


def _proof(at: AtRates, solved: Result) -> ProvedBound | None:
    """Return what a search has proved; None: nothing."""
    if solved.status is Status.INFEASIBLE:
        return ProvedBound(RateLoads.of(at.problem), np.inf)
    bound = next((v.bound for v in solved.levels if v.name == "wan"), None)
    return None if bound is None else ProvedBound(RateLoads.of(at.problem), bound)
