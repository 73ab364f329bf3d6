"""What a conflict says would help does help, applied as it is printed."""

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings

from edgeplace.model import (
    Change,
    Freed,
    JobGraph,
    LimitKind,
    Match,
    OwnData,
    Pin,
    Plan,
    RateUnit,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
)
from edgeplace.solver import solve
from edgeplace.solver.infeasibility.repair import describe
from tests.support.cures import with_changes
from tests.support.seeds import (
    cost,
    filter_cluster,
    filter_job,
    one_site,
    operator,
    stream,
    two_operators,
)
from tests.support.strategies import instances

some = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@some
@given(instance=instances())
def test_a_cure_made_to_the_inputs_gives_a_plan(instance):
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    result = solve(job, cluster, rules, current=plan)
    assume(result.status is Status.INFEASIBLE)
    conflict = result.conflict
    assert conflict.confirmed
    assert conflict.cure == describe(conflict.changes, [job], cluster.rates_in)
    mended = with_changes(job, cluster, rules or Rules(), conflict.changes, current)
    assert solve(*mended, objective=("wan",), current=plan).plan is not None


@pytest.mark.slow
@some
@given(instance=instances())
def test_a_cure_has_no_part_that_is_not_needed(instance):
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    result = solve(job, cluster, rules, current=plan)
    assume(result.status is Status.INFEASIBLE and result.conflict.minimal)
    changes = result.conflict.changes
    for out in changes:
        # `with_changes` makes all subtasks of an operator faster at once.
        operator = out.kind is LimitKind.SUBTASK_BUSY and out.subject[:2]
        rest = tuple(c for c in changes if c != out and c.subject[:2] != operator)
        without = with_changes(job, cluster, rules or Rules(), rest, current)
        again = solve(*without, objective=("wan",), current=plan)
        assert again.status is Status.INFEASIBLE, (out, changes)


@pytest.mark.parametrize("cores", [0.19999, 0.17, 0.1234567, 1e-3])
def test_the_printed_figure_of_cores_suffices(cores):
    said = solve(two_operators(), one_site(cores=cores)).conflict.cure
    more = float(re.fullmatch(r"([\d.e-]+) more cores on n", said).group(1))
    assert solve(two_operators(), one_site(cores=cores + more)).status is Status.OPTIMAL


@pytest.mark.parametrize("bandwidth", [1234.5, 33_333.3, 52_499.9])
def test_the_printed_figure_of_bandwidth_suffices(bandwidth):
    job = filter_job(50_000.0)
    cluster = filter_cluster(bandwidth)
    said = solve(job, cluster).conflict.cure
    told = re.findall(r"([\d.]+) (k?)B/s more bandwidth on link ([^;]+)", said)
    more = {name: float(x) * (1000 if k else 1) for x, k, name in told}
    assert more
    links = tuple(
        a.model_copy(
            update={
                "bandwidth_bytes_per_s": a.bandwidth_bytes_per_s
                + more.get(f"{a.source} -> {a.target}", 0.0)
            }
        )
        for a in cluster.links
    )
    wider = cluster.model_copy(update={"links": links})
    assert solve(job, wider).status is Status.OPTIMAL


@pytest.mark.parametrize(
    "rule",
    [Match(operators=("a",), labels={"gpu": "yes"}), Pin(operators=("a",), to="elsewhere")],
    ids=lambda rule: rule.kind,
)
def test_where_a_rule_of_a_source_is_dropped_the_source_is_let_go_too(rule):
    demand = SourceDemand(rates_per_s=(100.0,))
    job = JobGraph(
        name="j",
        operators=(
            operator("a", 1, cost("a", 1000, 1000, demand=demand)),
            operator("b", 1, cost("b", 1000, 1000, selectivity=1.0)),
        ),
        streams=(stream("a", "b", ShipStrategy.FORWARD, 10),),
    )
    # Where the source runs now there is no slot, and two rules want it at two places.
    here, there = one_site(slots=0), one_site(slots=2, memory=None)
    node = there.nodes[0].model_copy(update={"id": "elsewhere", "labels": {"gpu": "yes"}})
    tm = there.task_managers[0].model_copy(update={"id": "u", "node": "elsewhere"})
    free_node = there.nodes[0].model_copy(update={"id": "free"})
    free = tm.model_copy(update={"id": "v", "node": "free", "memory_bytes": None})
    cluster = here.model_copy(
        update={
            "nodes": (*here.nodes, node, free_node),
            "task_managers": (*here.task_managers, tm, free),
        }
    )
    now = Plan(jobs={"j": {"a": ("t",), "b": ("t",)}})
    rules = Rules(rules=(rule, Pin(operators=("a",), to="v")))
    result = solve(job, cluster, rules, current=now)
    assert result.status is Status.INFEASIBLE
    dropped = [c for c in result.conflict.changes if c.kind == "rule"]
    assert dropped
    assert all(c.frees for c in dropped)
    mended = with_changes(job, cluster, rules, result.conflict.changes, now.jobs["j"])
    assert solve(*mended, current=now).plan is not None


def test_whose_data_it_is_follows_what_is_said_of_sources():
    """The site of the source has no machine: then none may serve its data, until it is let go."""
    demand = SourceDemand(rates_per_s=(100.0,))
    job = JobGraph(
        name="j",
        operators=(
            operator("a", 2, cost("a", 1000, 1000, demand=demand), born_at=("empty", "s")),
            operator("b", 2, cost("b", 1000, 1000, selectivity=1.0)),
        ),
        streams=(stream("a", "b", ShipStrategy.FORWARD, 10),),
    )
    machines = one_site(slots=4)
    cluster = machines.model_copy(update={"sites": (Site(id="s"), Site(id="empty"))})
    rules = Rules(rules=(OwnData(operators=("a",)),))
    conflict = solve(job, cluster, rules).conflict
    assert conflict.minimal
    assert [c.where for c in conflict.changes] == ["source a is born at empty"]
    mended = with_changes(job, cluster, rules, conflict.changes)
    assert solve(*mended).plan is not None


def test_sources_that_a_cure_lets_go_are_told_by_name():
    """The id of an operator of SQL is a JobVertexID."""
    job = two_operators()
    a = job.operators[0].model_copy(update={"name": "Source: lines"})
    named = job.model_copy(update={"operators": (a, *job.operators[1:])})
    freed = tuple(Freed(job=job.name, operator=a.id, subtask=i) for i in (2, 0))
    dropped = Change(kind=LimitKind.RULE, where="pin x to y", subject=("pin x to y",), frees=freed)
    said = describe([dropped], [named], RateUnit.BYTES)
    assert said.endswith("say `anywhere` in born_at for source subtasks Source: lines 1, 3")
