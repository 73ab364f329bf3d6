"""Links that every plan overloads: seen without a search, against all plans tried."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings

from edgeplace.model import (
    Cluster,
    JobGraph,
    LimitKind,
    Link,
    Node,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
)
from edgeplace.solver import evaluate, solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.infeasibility.thin_links import thin_links
from edgeplace.solver.problem import build
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream
from tests.support.strategies import instances

MOST_PLANS = 400


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(instance=instances(tree=True))
def test_no_plan_carries_less_over_a_link_than_is_said(instance):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    problem = build(job, cluster, rules, now)
    narrow = cluster.model_copy(
        update={
            "links": tuple(
                e.model_copy(update={"bandwidth_bytes_per_s": 1e-3, "background_bytes_per_s": 0.0})
                for e in cluster.links
            )
        }
    )
    narrow = build(job, narrow, rules, now)
    places = [np.flatnonzero(row) for row in problem.keeps_up]
    count = np.prod([len(p) for p in places], dtype=float)
    assume(0 < count <= MOST_PLANS)
    least = np.full(len(narrow.network.names), np.inf)
    for plan in itertools.product(*places):
        used = measure_usage(narrow, np.array(plan, np.intp)).least_bytes
        least = np.minimum(least, used)
    found = {link.limit.where: link.limit.used for link in thin_links(narrow)}
    for name, true in zip(narrow.network.names, least, strict=True):
        # The least that a link carries by itself is what a cut says: nothing else is at stake.
        said = found.get(name, 0.0)
        assert said <= true * (1 + 1e-9)
        assert said == pytest.approx(true, rel=1e-9, abs=2e-3)


def test_a_link_that_is_too_thin_is_the_answer_with_a_proved_cure():
    job, cluster = filter_job(50_000.0), filter_cluster()
    thin = {"bandwidth_bytes_per_s": 30_000.0}
    links = tuple(
        e.model_copy(update=thin) if e.source == "pi-1" else e for e in cluster.directed_links()
    )
    cluster = cluster.model_copy(update={"links": links})
    found = solve(job, cluster, Rules(rules=(Pin(operators=("sink",), to="cloud"),))).conflict
    (short,) = found.shortfalls
    assert short.kind is LimitKind.LINK_BANDWIDTH
    assert (found.nearest, found.minimal, found.confirmed) == (True, True, True)
    assert "at least, wherever the rest runs" in found.members[-1]
    assert not found.not_narrowed


def test_links_that_a_busy_thread_would_spare_are_not_called_the_nearest():
    """A filter that would be 10 % too busy before two links, each half as wide as what comes."""
    demand = SourceDemand(rates_per_s=(1000.0,))
    job = JobGraph(
        name="job",
        operators=(
            operator("source", 1, cost("source", 1e6, 1e6, demand=demand), born_at=("e",)),
            operator("filter", 1, cost("filter", 1000.0 / 1.1, 1e6, selectivity=0.1)),
            operator("sink", 1, cost("sink", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(
            stream("source", "filter", ShipStrategy.REBALANCE, 100),
            stream("filter", "sink", ShipStrategy.REBALANCE, 100),
        ),
    )
    cluster = Cluster(
        sites=(Site(id="e"), Site(id="h"), Site(id="c", tier="cloud")),
        nodes=(
            Node(id="pi", site="e", node_class="pi", cores=4),
            Node(id="vm", site="c", node_class="server", cores=4),
        ),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=4),
            TaskManager(id="vm", node="vm", slots=4),
        ),
        links=tuple(
            Link(source=a, target=b, bandwidth_bytes_per_s=50_000.0, both_ways=True)
            for a, b in ("eh", "hc")
        ),
        link_target=1.0,
    )
    rules = Rules(rules=(Pin(operators=("sink",), to="c"),))
    near = Plan(jobs={"job": {"source": ("pi",), "filter": ("pi",), "sink": ("vm",)}})
    (busy,) = evaluate(job, cluster, near, rules).violations
    assert (busy.kind, busy.used) == (LimitKind.SUBTASK_BUSY, pytest.approx(1.1))
    found = solve(job, cluster, rules).conflict
    assert len(found.shortfalls) == 2
    assert (found.nearest, found.minimal, found.confirmed) == (False, True, True)
