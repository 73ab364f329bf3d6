"""The relaxed problem of a box bounds every plan of every vector in it."""

from functools import partial

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import Case, InvalidInputError, ObjectiveLevel
from edgeplace.solver import loader
from edgeplace.solver.parallelism.choice import choice_of
from edgeplace.solver.parallelism.relaxed import relaxed
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.parallelism.within import Means, search_within
from edgeplace.solver.problem import with_state_at_demand
from tests.support.parallelism import asked_of, at, optimum, plan_of
from tests.support.strategies import instances

TERMS = ("wan", "latency", "server_cores", "moves", "throughput")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data(), term=st.sampled_from(TERMS))
def test_no_plan_of_any_vector_is_below_its_bound(instance, data, term):
    job, cluster, rules, current = instance
    asked = asked_of(data.draw, job, cluster, rules)
    assume(at(job, rules, current, {}))
    try:
        choice = choice_of([job], rules, asked)
        box = tuple(g.values for g in choice.groups)
        # `solve` states the state at the demand before anything else.
        (stated,), _ = with_state_at_demand([job])
        case = Case((stated,), cluster, rules, plan_of(job, current))
        problem = relaxed(case, Splits([stated], choice), box)
    except InvalidInputError:
        assume(False)
    soft = term == "throughput"
    means = Means(soft, 0.0, 0, partial(str), loader("milp", 0, None), None)
    cores = term == "server_cores"
    answer = search_within(
        problem.for_cores if cores else problem.problem,
        [ObjectiveLevel(name=term)],
        (),
        means,
    )
    best = optimum(job, cluster, rules, current, asked, [(term, 0.0)], soft)
    if best is not None:
        bound = answer.bound(0) - (problem.moves if term == "moves" else 0)
        assert bound <= best[0] * (1 + 2e-6) + 1e-7
