"""The decomposition by site against the MILP of the same relaxed problem."""

import dataclasses
import os
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan, Rules, Site, Status, StoppedBy
from edgeplace.solver import solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.formulation import formulate
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.problem import build
from edgeplace.solver.problem.constraints import Restriction
from edgeplace.solver.sites import decide, shared_plan
from edgeplace.solver.sites.far_hosts import Hub
from edgeplace.solver.sites.relaxation import Relaxation
from tests.support.seeds import one_site, two_operators
from tests.support.stars import star
from tests.support.strategies import instances

wide = settings(
    max_examples=int(os.environ.get("EDGEPLACE_PROOFS", "150")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def machines_only(problem):
    """The problem without all that the decomposition leaves out."""
    network = dataclasses.replace(
        problem.network,
        capacity_bytes_per_s=np.full(len(problem.network.names), np.inf),
    )
    return dataclasses.replace(
        problem,
        network=network,
        rules=Rules(),
        channels=dataclasses.replace(
            problem.channels, window_bytes=np.full(len(problem.channels.window_bytes), np.inf)
        ),
        constraints=tuple(c for c in problem.constraints if isinstance(c, Restriction)),
    )


def least_wan(problem, may=None):
    """(outcome, bytes/s of the best plan) of the MILP.

    Its bound is lowered by what HiGHS does not tell from 0, which is more the larger the figures.
    """
    if may is not None:
        names = {f"may {k}": row for k, row in enumerate(may)}
        held = [Restriction(n, np.array([k]), row) for k, (n, row) in enumerate(names.items())]
        problem = dataclasses.replace(problem, constraints=(*problem.constraints, *held))
    form = formulate(problem, ["wan"])
    objective = form.model.objectives["wan"]
    answer = Milp(form.model).minimise(objective, seconds=None, gap=0.0, start=None)
    if answer.outcome is not Outcome.OPTIMAL:
        return answer.outcome, answer.bound
    return answer.outcome, measure_usage(problem, form.assignment(answer.values)).value("wan")


def close(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 1e-6


@pytest.mark.slow
@wide
@given(instance=instances(tree=True))
def test_what_is_decided_is_the_optimum_of_the_relaxed_problem(instance):
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    problem = machines_only(build([job], cluster, rules, plan))
    found = decide(problem, problem.keeps_up)
    event(f"decided: {found is not None}, complete: {found is not None and found.complete}")
    if found is None:
        return
    outcome, bound = least_wan(problem)
    verdict = measure_usage(problem, found.assignment)
    assert close(verdict.value("wan"), found.bound)
    if found.complete or (verdict.fixed_hold and verdict.rated_hold):
        assert outcome is Outcome.OPTIMAL
        assert close(bound, found.bound)
        assert verdict.fixed_hold
        assert verdict.rated_hold
    elif outcome is Outcome.OPTIMAL:
        assert found.bound <= bound * (1 + 1e-6) + 1e-6


def short_of_cores(cluster, cores):
    """The cluster with a server that cannot take everything."""
    nodes = [
        n.model_copy(update={"cores": cores}) if n.id == "server" else n for n in cluster.nodes
    ]
    return cluster.model_copy(update={"nodes": tuple(nodes)})


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10_000),
    sites=st.integers(2, 6),
    fan_in=st.sampled_from([0.2, 1.0, 5.0]),
    cores=st.sampled_from([0.3, 1.0, 3.0]),
    slack=st.sampled_from([None, 0.0, 300.0]),
)
def test_a_server_that_all_share_may_be_short_of_cores(seed, sites, fan_in, cores, slack):
    job, cluster, rules = star(sites, seed, fan_in)
    problem = machines_only(build([job], short_of_cores(cluster, cores), rules))
    outcome, best = least_wan(problem)
    found = decide(problem, problem.keeps_up, slack)
    plan = shared_plan(problem, np.inf)
    event(f"decided: {found is not None}, shared: {plan is not None}, {outcome}")
    if outcome is Outcome.OPTIMAL and found is not None:
        assert found.bound <= best * (1 + 1e-6) + 1e-6
        if slack is not None:
            cap = found.bound + slack
            may = found.within(cap)
            gone = np.argwhere(problem.keeps_up & ~may)
            for k, t in gone[:: max(len(gone) // 3, 1)].tolist():
                held = problem.keeps_up.copy()
                held[k] = np.arange(problem.m) == t
                there, bound = least_wan(problem, held)
                assert there is Outcome.INFEASIBLE or bound > cap * (1 - 1e-6)
    if plan is not None:
        verdict = measure_usage(problem, plan)
        assert verdict.fixed_hold
        assert verdict.rated_hold
        assert verdict.value("wan") >= best * (1 - 1e-6) - 1e-6


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10_000),
    sites=st.integers(2, 6),
    fan_in=st.sampled_from([0.2, 1.0, 5.0]),
    slack=st.sampled_from([None, 0.0, 300.0]),
)
def test_strangers_are_not_needed(seed, sites, fan_in, slack):
    job, cluster, rules = star(sites, seed, fan_in)
    problem = machines_only(build([job], cluster, rules))
    relaxed = Relaxation.of(problem, problem.keeps_up)
    may = Hub.of(relaxed).without_unrelated_branches(slack)
    gone = np.argwhere(relaxed.may & ~may)
    event(f"ruled out: {len(gone) > 0}")
    _, best = least_wan(problem)
    assert close(least_wan(problem, may)[1], best)
    if slack is None:
        return
    for k, t in gone[:: max(len(gone) // 3, 1)].tolist():
        held = relaxed.may.copy()
        held[k] = np.arange(problem.m) == t
        outcome, bound = least_wan(problem, held)
        assert outcome is Outcome.INFEASIBLE or bound > best + slack * (1 - 1e-6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10_000),
    sites=st.integers(2, 8),
    fan_in=st.sampled_from([0.2, 1.0, 5.0]),
    slack=st.sampled_from([0.0, 10.0, 300.0]),
)
def test_no_plan_within_the_slack_has_a_subtask_where_it_was_ruled_out(seed, sites, fan_in, slack):
    job, cluster, rules = star(sites, seed, fan_in)
    problem = machines_only(build([job], cluster, rules))
    relaxed = Relaxation.of(problem, problem.keeps_up)
    hub = Hub.of(relaxed)
    _, best = least_wan(problem)
    may = hub.without_far_hosts(hub.at_home(), slack)
    gone = np.argwhere(relaxed.may & ~may)
    event(f"ruled out: {len(gone) > 0}")
    for k, t in gone[:: max(len(gone) // 4, 1)].tolist():
        held = relaxed.may.copy()
        held[k] = np.arange(problem.m) == t
        outcome, bound = least_wan(problem, held)
        assert outcome is Outcome.INFEASIBLE or bound > best + slack * (1 - 1e-6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10_000),
    sites=st.integers(2, 8),
    share=st.sampled_from([0.0, 0.01, 0.3]),
)
def test_no_plan_within_the_cap_is_lost(seed, sites, share):
    job, cluster, rules = star(sites, seed, 5.0)
    problem = machines_only(build([job], cluster, rules))
    found = decide(problem, problem.keeps_up)
    event(f"decided: {found is not None}")
    if found is None:
        return
    cap = found.bound * (1 + share)
    slack = cap - found.bound + 1e-6
    may = decide(problem, problem.keeps_up, slack).within(cap)
    assert may[np.arange(problem.n), found.assignment].all()
    gone = np.argwhere(problem.keeps_up & ~may)
    event(f"dropped: {len(gone) > 0}")
    for k, t in gone[:: max(len(gone) // 6, 1)].tolist():
        held = problem.keeps_up.copy()
        held[k] = np.arange(problem.m) == t
        outcome, bound = least_wan(problem, held)
        assert outcome is Outcome.INFEASIBLE or bound > cap


@pytest.mark.parametrize("sites", [32, 60])
def test_a_star_of_sites_is_decided_without_a_model(sites):
    job, cluster, rules = star(sites, seed=1)
    problem = build([job], cluster, rules)
    found = decide(problem, problem.keeps_up)
    assert found is not None
    _, bound = least_wan(problem)
    assert close(found.bound, bound)
    result = solve(job, cluster, rules, objective=("wan",))
    assert result.status is Status.OPTIMAL
    assert result.stopped_by is StoppedBy.PROOF
    assert close(result.levels[0].value, bound)


def thinned(job, cluster, rules):
    """The best plan's figures, and the cluster with a link a little too thin for that plan."""
    free = solve(job, cluster, rules, objective=("wan",))
    used = {v.where: v.used for v in free.evaluation.links}
    return free, cluster.model_copy(
        update={
            "links": tuple(
                a.model_copy(update={"bandwidth_bytes_per_s": used["site-3 -> hub"] * 0.99 / 0.8})
                if a.source == "site-3"
                else a
                for a in cluster.links
            )
        }
    )


def test_a_limit_that_is_left_out_is_not_forgotten():
    job, cluster, rules = star(12, seed=1)
    free, thin = thinned(job, cluster, rules)
    result = solve(job, thin, rules, objective=("wan",))
    assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    if result.evaluation:
        assert result.evaluation.feasible
        assert result.levels[0].value > free.levels[0].value


def test_later_levels_look_as_far_from_the_relaxed_optimum_as_the_cap_is():
    job, cluster, rules = star(4, seed=10)
    free, thin = thinned(job, cluster, rules)
    asked = []

    def noted(problem, may, slack=None):
        found = decide(problem, may, slack)
        asked.append((slack, found.bound))
        return found

    stages = "edgeplace.solver.search.stages"
    with patch(f"{stages}.by_site.decide", noted), patch(f"{stages}.later_levels.decide", noted):
        result = solve(job, thin, rules, objective=("wan:5%", "server_cores"))
    [(_, bound), (slack, _)] = asked
    # The thin link is no part of the relaxed problem, so its optimum is below the true one.
    assert bound == pytest.approx(free.levels[0].value)
    assert bound < result.levels[0].bound
    assert bound + slack >= 1.05 * result.levels[0].bound


def test_a_site_that_no_link_joins_to_others_is_no_hub():
    """A site without machines is no branch of it."""
    machines = one_site(slots=9)
    cluster = machines.model_copy(update={"sites": (*machines.sites, Site(id="empty"))})
    first, second = two_operators().operators
    anywhere = first.model_copy(update={"born_at": ("anywhere",)})
    job = two_operators().revised(operators=(anywhere, second))
    node, tm = cluster.nodes[0], cluster.task_managers[0]
    cluster = cluster.model_copy(
        update={
            "nodes": (node, node.model_copy(update={"id": "m"})),
            "task_managers": (tm, tm.model_copy(update={"id": "u", "node": "m"})),
        }
    )
    problem = build([job], cluster).without_idle_sites()
    assert problem.network.tree is not None
    assert Hub.of(Relaxation.of(problem, problem.keeps_up)) is None
