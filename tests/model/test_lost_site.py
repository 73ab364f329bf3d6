"""A lost site: nothing runs there, and what it did not hold stays as it was."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import Case, Link, Pin, Plan, Rules, Status
from edgeplace.solver import evaluate, solve, solve_case
from edgeplace.solver.problem import build
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.strategies import instances

few = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def built(case):
    return build(case.jobs, case.cluster, case.rules, case.current)


def cut_off(cluster, site):
    """Return the sites that only a site joins to the checkpoint storage, or else to the cloud."""
    ends = [(a.source, a.target) for a in cluster.links]
    before = nx.Graph(ends)
    before.add_nodes_from(s.id for s in cluster.sites)
    clouds = {s.id: 0 for s in cluster.sites if s.tier == "cloud" and s.id != site}
    cores = {c: sum(n.cores for n in cluster.nodes if n.site == c) for c in clouds}
    main = cluster.checkpoint_storage or (max(clouds, key=cores.get) if clouds else None)
    if main is None or site == main:
        return set()
    after = before.subgraph(set(before) - {site})
    return (
        nx.node_connected_component(before, main)
        - nx.node_connected_component(after, main)
        - {site}
    )


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
    gone_sites = {site, *cut_off(cluster, site)}
    assert set(lost.lost) == gone_sites
    there = np.isin(before.tms.site, [i for i, s in enumerate(cluster.sites) if s.id in gone_sites])
    assert (after.tms.slots == np.where(there, 0, before.tms.slots)).all()
    node_site = {n.id: n.site for n in cluster.nodes}
    gone = {t.id for t in cluster.task_managers if node_site[t.node] in gone_sites} | gone_sites
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
    assert bool(silent) == any("records/s are lost with it" in note for note in lost.notes)
    assert "lost with" in lost.notes[1] if len(gone_sites) > 1 else True


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


def test_a_lost_hub_takes_along_what_only_it_joins_to_the_rest():
    """Every fifth depot hangs on region-north: tests/support/depots.py."""
    case = Case((parcels(10), forklifts(10)), depots_cluster(10)).without_site("region-north")
    assert case.lost == ("region-north", "depot-00", "depot-05")
    named, cameras, forks = case.notes[1:]
    assert "depot-00, depot-05" in named
    assert "2 links, one for each part," in named
    assert "of source 'camera'" in cameras
    assert "30 of 145 records/s" in cameras, "6 of the 29 cameras, 5 records/s each"
    assert "2 of the 10 subtasks of source 'canbus'" in forks
    result = solve_case(case)
    assert result.status is Status.OPTIMAL
    site = {t.id: case.cluster.node(t.node).site for t in case.cluster.task_managers}
    assert {site[tm] for _, _, _, tm in result.plan.subtasks()}.isdisjoint(case.lost)


def test_a_second_way_keeps_a_site_and_without_a_main_part_nothing_hangs_on_another():
    cluster = depots_cluster(10)
    spare = Link(source="depot-00", target="depot-01", both_ways=True)
    ring = cluster.model_copy(update={"links": (*cluster.links, spare)})
    assert Case((parcels(10),), ring).without_site("region-north").lost == (
        "region-north",
        "depot-05",
    )
    plain = cluster.model_copy(
        update={
            "checkpoint_storage": None,
            "sites": tuple(s.model_copy(update={"tier": "edge"}) for s in cluster.sites),
        }
    )
    assert Case((parcels(10),), plain).without_site("region-north").lost == ("region-north",)
