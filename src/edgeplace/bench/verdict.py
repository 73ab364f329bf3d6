"""Find wrong answers to one instance: against the evaluator, against each other, against the
record.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from edgeplace.bench.record import RunAnswer, RunOutcome
from edgeplace.instances.index import BestKnown
from edgeplace.views.terms import Terms

RECORD = "the record"


@dataclass(frozen=True)
class Verdict:
    """The judgement of all answers to one instance.

    Attributes
    ----------
    wrong
        The faults of each back end, and of the record (`RECORD`).
    best_wan
        Least `wan` of a valid plan; None without one.
    """

    wrong: dict[str, tuple[str, ...]]
    best_wan: float | None


def judge(
    answers: Mapping[str, RunAnswer], known: BestKnown | None, terms: Terms, least: float
) -> Verdict:
    """Compare the answers of back ends to one instance, by name.

    A valid plan is a fact, because the evaluator has recomputed it. So everything that contradicts
    it is wrong: a bound above its value, a claim that no plan exists, or the record.

    Parameters
    ----------
    least
        Figures of `wan` that differ by no more do not contradict each other (`negligible`).
    """
    wan = {name: a.wan for name, a in answers.items() if a.wan is not None}
    if known is not None and known.wan is not None:
        wan[RECORD] = known.wan
    best = min(wan, key=lambda name: wan[name], default=None)
    wrong = {
        name: (
            *_by_itself(a, terms, least),
            *_denies(a.outcome is RunOutcome.INFEASIBLE, a.bound, a.wan, best, wan, terms, least),
        )
        for name, a in answers.items()
    }
    for name, a in answers.items():
        if a.outcome is not RunOutcome.OPTIMAL or a.wan is None or best is None or wrong[name]:
            continue
        if a.bound is None and a.claimed_wan is None:
            continue  # What it minimised first is not `wan`.
        if _above(a.wan, wan[best], least):
            wrong[name] = (
                f"{terms.exactly('wan', a.wan)} is not optimal: {best} has "
                f"{terms.exactly('wan', wan[best])}",
            )
    if known is not None:
        wrong[RECORD] = _denies(known.infeasible, known.bound, None, best, wan, terms, least)
    return Verdict(
        {name: said for name, said in wrong.items() if said}, wan[best] if best else None
    )


def improves(answer: RunAnswer, known: BestKnown | None, terms: Terms, least: float) -> str | None:
    """Return how a correct answer improves the record; None if it does not."""
    if known is None:
        return None
    if answer.outcome is RunOutcome.INFEASIBLE and not known.infeasible:
        return "proved infeasible"
    if answer.wan is not None and (known.wan is None or _above(known.wan, answer.wan, least)):
        before = "none" if known.wan is None else terms.exactly("wan", known.wan)
        return f"a plan with {terms.exactly('wan', answer.wan)}, before: {before}"
    before_bound = known.bound or 0.0
    if (
        answer.bound is not None
        and not known.infeasible
        and _above(answer.bound, before_bound, least)
    ):
        now, before = (terms.exactly("wan", v) for v in (answer.bound, before_bound))
        return f"the bound {now}, before: {before}"
    return None


def _by_itself(answer: RunAnswer, terms: Terms, least: float) -> tuple[str, ...]:
    """Return the evaluator's objections to an answer."""
    found = []
    if answer.exact and answer.evaluation is not None and not answer.evaluation.feasible:
        broken = answer.evaluation.violations
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        found.append(f"its plan breaks {terms.limit(broken[0])}{more}")
    if answer.claimed_wan is not None and answer.evaluation is not None:
        actual = answer.evaluation.wan_cost
        if _above(actual, answer.claimed_wan, least) or _above(answer.claimed_wan, actual, least):
            said, known = (terms.exactly("wan", v) for v in (answer.claimed_wan, actual))
            found.append(f"it says {said}, the evaluator {known}")
    if (
        answer.exact
        and answer.outcome in (RunOutcome.OPTIMAL, RunOutcome.FEASIBLE)
        and not answer.plan
    ):
        found.append(f"it says {answer.outcome.value} without a plan")
    return tuple(found)


def _denies(
    infeasible: bool,
    bound: float | None,
    own_wan: float | None,
    best: str | None,
    wan: Mapping[str, float],
    terms: Terms,
    least: float,
) -> tuple[str, ...]:
    """Return how a claim contradicts the best valid plan."""
    if best is None:
        return ()
    if infeasible and own_wan is None:
        return (f"it says infeasible, but the plan of {best} holds",)
    if bound is not None and _above(bound, wan[best], least):
        own, other = (terms.exactly("wan", v) for v in (bound, wan[best]))
        return (f"its bound {own} is above the plan of {best}, {other}",)
    return ()


def _above(a: float, b: float, least: float) -> bool:
    # The help of the command imports this module, and the solver takes long to load.
    from edgeplace.solver.tolerances import CONTRADICTION

    return a - b > CONTRADICTION * max(abs(a), abs(b)) + least
