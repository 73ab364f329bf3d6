"""A lost site: nothing runs there, and what it did not hold stays as it was."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import Case, Pin, Plan, Rules
from edgeplace.solver import evaluate, solve
from edgeplace.solver.problem import build
from tests.support.strategies import instances

few = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def built(case):
    return build(case.jobs, case.cluster, case.rules, case.current)


@pytest.mark.slow
@pytest.mark.parametrize("hold", ["born", "rules", "current"])
@few
@given(instance=instances(), data=st.data())
def test_sources_born_there_are_silent_and_free_all_else_stays_as_it_was(instance, data, hold):
    job, cluster, _, current = instance
    births = {
        op.id: op.born_at * (op.parallelism if len(op.born_at) == 1 else 1) for op in job.sources()
    }
    rules, now = Rules(), None
    if hold != "born":
        # Sources are held by rules, or where they run now, not by where their data is born.
        operators = tuple(op.model_copy(update={"born_at": ()}) for op in job.operators)
        job = job.revised(operators=operators)
    if hold == "rules":
        assume(all(place != "anywhere" for places in births.values() for place in places))
        rules = Rules(
            rules=tuple(
                Pin(operators=(op,), subtasks=(i,), to=place)
                for op, places in births.items()
                for i, place in enumerate(places)
            )
        )
    if hold == "current":
        assume(current)
        now = Plan(jobs={job.name: current})
        births = current
    case = Case((job,), cluster, rules, now)
    site = data.draw(st.sampled_from(cluster.sites)).id
    assume(site != cluster.checkpoint_storage)
    lost = case.without_site(site)
    before, after = built(case), built(lost)
    there = before.tms.site == [s.id for s in cluster.sites].index(site)
    assert (after.tms.slots == np.where(there, 0, before.tms.slots)).all()
    node_site = {n.id: n.site for n in cluster.nodes}
    gone = {t.id for t in cluster.task_managers if node_site[t.node] == site} | {site}
    silent = 0
    for o, (_, op) in enumerate(before.subtasks.operators):
        for i, k in enumerate(before.subtasks.range_of(o).tolist()):
            if op.id in {s.id for s in job.sources()} and births[op.id][i] in gone:
                assert after.work.rate_per_s[k] == 0
                assert after.allowed()[k].all()
                silent += 1
            else:
                assert (before.allowed()[k] == after.allowed()[k]).all()
                if op in job.sources():
                    assert after.work.rate_per_s[k] == before.work.rate_per_s[k]
    assert lost.notes[0] == f"site {site!r} is lost"
    assert bool(silent) == (len(lost.notes) > 1)


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_no_plan_uses_a_lost_site(instance, data):
    job, cluster, rules, current = instance
    site = data.draw(st.sampled_from(cluster.sites)).id
    assume(site != cluster.checkpoint_storage)
    now = Plan(jobs={job.name: current}) if current else None
    lost = Case((job,), cluster, rules, now).without_site(site)
    result = solve(lost.jobs, lost.cluster, lost.rules, current=lost.current, time_limit_s=20)
    if result.plan:
        node_site = {n.id: n.site for n in lost.cluster.nodes}
        tm_site = {t.id: node_site[t.node] for t in lost.cluster.task_managers}
        used = {tm_site[tm] for _, _, _, tm in result.plan.subtasks()}
        assert site not in used
        judged = evaluate(lost.jobs, lost.cluster, result.plan, lost.rules, lost.current)
        assert judged == result.evaluation
        assert np.isfinite(judged.wan_cost)
