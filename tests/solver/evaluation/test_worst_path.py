"""The worst path: its parts add up to the evaluator's latency, and each step follows a stream."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Period, Plan, Rules
from edgeplace.solver import evaluate, worst_path
from edgeplace.views.worst_path import worst_path_sentence, worst_path_table
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances

PARTS = ("buffers_ms", "links_ms", "credit_ms", "processing_ms")
PIS = ("pi-0", "pi-1", "pi-2", "pi-3")


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_its_parts_are_the_latency_along_streams(instance, data):
    job, cluster, _, _ = instance
    ids = st.sampled_from([t.id for t in cluster.task_managers])
    plan = Plan(
        jobs={
            job.name: {
                o.id: tuple(data.draw(ids) for _ in range(o.parallelism)) for o in job.operators
            }
        }
    )
    latency_ms = evaluate(job, cluster, plan).latency_ms
    found = worst_path(job, cluster, plan)
    if found is None:
        assert latency_ms == -1
        return
    assert found.latency_ms == latency_ms
    assert sum(found.total(part) for part in PARTS) == pytest.approx(latency_ms)
    names = {o.name: o for o in job.operators}
    at = []
    for step in found.steps:
        name, _, i = step.subtask.rpartition(" (")
        op = names[name] if name in names else next(o for o in job.operators if o.id in name)
        assert plan.of(job.name)[op.id][int(i.split("/")[0]) - 1] == step.task_manager
        at.append(op.id)
    assert {(s.source, s.target) for s in job.streams} >= set(pairwise(at))
    for one, other in pairwise(found.steps):
        if one.site == other.site:
            assert other.links_ms == other.credit_ms == 0


def test_a_wider_way_is_in_the_part_of_the_links():
    """The sensors' way to the server takes the delay of the link, and that alone changes."""
    cluster = filter_cluster(1e6)
    slow = cluster.model_copy(
        update={
            "links": tuple(
                link.model_copy(update={"delay_ms": link.delay_ms + 30}) for link in cluster.links
            )
        }
    )
    job = filter_job(1_000.0)
    plan = Plan(jobs={job.name: {"source": PIS, "filter": PIS, "sink": ("server",)}})
    now, then = (worst_path(job, c, plan) for c in (cluster, slow))
    assert then.total("links_ms") == pytest.approx(now.total("links_ms") + 30)
    assert then.total("processing_ms") == pytest.approx(now.total("processing_ms"))
    assert [s.task_manager for s in then.steps] == ["pi-0", "pi-0", "server"]


def test_of_several_jobs_it_says_which_and_over_a_day_when():
    jobs, cluster = (parcels(), forklifts()), depots_cluster()
    server = cluster.task_managers[-1].id
    plan = Plan(jobs={j.name: {o.id: (server,) * o.parallelism for o in j.operators} for j in jobs})
    rules = Rules(demand=(Period(name="night", share=8, factor=0.1), Period(name="day", share=16)))
    found = worst_path(jobs, cluster, plan, rules)
    assert found.job in {j.name for j in jobs}
    slowest = evaluate(jobs, cluster, plan, rules)
    own = {p.name: p.evaluation.latency_ms for p in slowest.periods}
    assert own[found.period] == max(own.values()) == slowest.latency_ms
    assert f"{found.job}: " in worst_path_sentence(found)
    columns, rows = worst_path_table(found)
    assert columns[-1] == ">so far"
    assert rows[-1][-1] == f"{found.latency_ms:,.1f}"
    assert not rows[0][0].startswith(found.job)
