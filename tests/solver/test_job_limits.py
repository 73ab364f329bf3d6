"""Limits on single jobs: two jobs share a cluster, and one of them has less time."""

import numpy as np
import pytest

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Link,
    Node,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
    parse,
)
from edgeplace.solver import evaluate, limits_in_use, solve
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.problem import build
from tests.support.seeds import cost, operator, stream

WAN_MS = 40
BACKENDS = ("milp", "cp-sat")


def job(name, record_bytes=100):
    """A sensor at the edge, a filter that halves its records, and a sink wherever it fits."""
    demand = SourceDemand(rates_per_s=(100.0,))
    return JobGraph(
        name=name,
        operators=(
            operator("sensor", 1, cost("sensor", 1e6, 1e6, demand=demand), born_at=("pi",)),
            operator("filter", 1, cost("filter", 1e4, 1e4, selectivity=0.5)),
            operator("sink", 1, cost("sink", 1e4, 1e4, selectivity=0.0)),
        ),
        streams=(
            stream("sensor", "filter", ShipStrategy.FORWARD, record_bytes),
            stream("filter", "sink", ShipStrategy.FORWARD, record_bytes),
        ),
        buffer_timeout_ms=0,
    )


JOBS = (job("alarms"), job("reports", 900))


def cluster(cores=4.0):
    """A Pi with some cores, and a server behind 40 ms."""
    return Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pi", site="edge", node_class="pi", cores=cores),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=8),
            TaskManager(id="server", node="server", slots=8),
        ),
        links=(Link(source="edge", target="cloud", delay_ms=WAN_MS, both_ways=True),),
    )


def stated(**rules):
    """Rules as a file states them."""
    return parse(rules, Rules, "rules.yaml")


def rules(**of_alarms):
    """What is required of the job alarms."""
    return stated(jobs=[{"job": "alarms", **of_alarms}])


def at(plan, name):
    """The TaskManagers of a job's three subtasks."""
    return [plan.jobs[name][op][0] for op in ("sensor", "filter", "sink")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_job_with_the_limit_stays_and_the_heavier_one_crosses(backend):
    """The Pi has cores for the filter and the sink of one job."""
    small = cluster(cores=0.03)
    free = solve(JOBS, small, backend=backend)
    assert free.status == "optimal"
    assert at(free.plan, "reports") == ["pi", "pi", "pi"]
    held = solve(JOBS, small, rules(max_latency_ms=10), backend=backend)
    assert held.status == "optimal"
    assert at(held.plan, "alarms") == ["pi", "pi", "pi"]
    assert held.evaluation.wan_bytes_per_s > free.evaluation.wan_bytes_per_s
    assert held.evaluation.latency_ms > WAN_MS, "the other job crosses the WAN"
    (limit,) = held.evaluation.jobs
    assert (limit.kind, limit.where, limit.unit) == ("latency of a job", "alarms", "ms")
    assert 0 < limit.used <= 10 == limit.capacity


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_limit_that_no_plan_keeps_is_named_with_a_cure(backend):
    there = stated(
        rules=[{"kind": "pin", "operators": ["sink"], "job": "alarms", "to": "server"}],
        jobs=[{"job": "alarms", "max_latency_ms": 10}],
    )
    found = solve(JOBS, cluster(), there, backend=backend)
    assert found.status == "infeasible"
    conflict = found.conflict
    assert conflict.confirmed
    assert any("the worst path of job alarms takes at most 10 ms" in m for m in conflict.members)
    cured = there
    for change in conflict.changes:
        if change.kind == "latency of a job":
            assert change.where == "alarms"
            more = 10 + change.amount
            cured = cured.model_copy(
                update={"jobs": rules(max_latency_ms=more).jobs, "rules": there.rules}
            )
        else:
            assert change.kind == "rule"
            cured = cured.model_copy(update={"rules": ()})
    assert solve(JOBS, cluster(), cured, backend=backend).status == "optimal"


@pytest.mark.parametrize("backend", BACKENDS)
def test_moves_of_one_job_are_limited_and_those_of_the_other_are_not(backend):
    now = Plan(
        jobs={
            name: {"sensor": ("pi",), "filter": ("server",), "sink": ("server",)}
            for name in ("alarms", "reports")
        }
    )
    free = solve(JOBS, cluster(), None, current=now, backend=backend)
    assert free.evaluation.moves == 4
    held = solve(JOBS, cluster(), rules(max_moves=0), current=now, backend=backend)
    assert held.status == "optimal"
    assert at(held.plan, "alarms") == ["pi", "server", "server"]
    assert at(held.plan, "reports") == ["pi", "pi", "pi"]


def test_the_evaluator_says_which_job_breaks_its_limit():
    away = {"sensor": ("pi",), "filter": ("pi",), "sink": ("server",)}
    plan = Plan(jobs={"alarms": away, "reports": away})
    found = evaluate(JOBS, cluster(), plan, rules(max_latency_ms=10))
    (broken,) = found.violations
    assert (broken.kind, broken.where, broken.subject) == (
        "latency of a job",
        "alarms",
        ("alarms",),
    )
    assert broken.used == pytest.approx(found.latency_ms, rel=0.2)
    fullest = limits_in_use(found, rules(max_latency_ms=10))[0]
    assert fullest == broken


def test_it_holds_in_every_period_of_the_day():
    """With buffers that are held, a path takes longest when there is the least to send."""
    slow = tuple(j.revised(buffer_timeout_ms=100.0) for j in JOBS)
    away = {"sensor": ("pi",), "filter": ("pi",), "sink": ("server",)}
    plan = Plan(jobs={"alarms": away, "reports": away})
    jobs = [{"job": "alarms", "max_latency_ms": 1000}]
    day = [{"name": "night", "share": 1, "factor": 0.1}, {"name": "day", "share": 1}]
    whole = evaluate(slow, cluster(), plan, stated(jobs=jobs, demand=day))
    each = [
        evaluate(slow, cluster(), plan, stated(jobs=jobs, demand=[p])).jobs[0].used for p in day
    ]
    assert whole.jobs[0].used == pytest.approx(max(each))
    assert [p.evaluation.jobs[0].used for p in whole.periods] == pytest.approx(each)


def test_steps_of_the_baselines_keep_both_kinds():
    """Of subtask 2, the sink of alarms, and 5, that of reports."""
    here = np.zeros(6, np.intp)
    timed = State(build(JOBS, cluster(), rules(max_latency_ms=10)), here)
    assert [timed.carried(k, 1) for k in (2, 5)] == [False, True]
    stay = {"sensor": ("pi",), "filter": ("pi",), "sink": ("pi",)}
    now = Plan(jobs={"alarms": stay, "reports": stay})
    held = State(build(JOBS, cluster(), rules(max_moves=0), now), here)
    assert [held.fits(k).tolist() for k in (2, 5)] == [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("entries", "what", "cure"),
    [
        ([{"job": "alarm", "max_moves": 1}], "job 'alarm'", "alarms"),
        ([{"job": "alarms"}], "nothing is required of job 'alarms'", "max_latency_ms"),
        ([{"job": "alarms", "max_moves": 1}] * 2, "job 'alarms' has two entries", "one entry"),
        ([{"job": "alarms", "max_moves": -1}], "max_moves", ""),
        ([{"job": "alarms", "max_latency_ms": "soon"}], "max_latency_ms", ""),
        ([{"job": "alarms", "max_latency": 5}], "max_latency", "max_latency_ms"),
        ([{"job": "alarms", "max_moves": 1}], "max_moves needs a current placement", "--current"),
    ],
)
def test_entries_that_say_nothing_true_are_refused(entries, what, cure):
    with pytest.raises(InvalidInputError) as refused:
        solve(JOBS, cluster(), stated(jobs=entries))
    assert what in str(refused.value)
    assert cure in str(refused.value)
