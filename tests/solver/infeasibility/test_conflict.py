"""Why no plan exists: what clashes, by how much, and the cure."""

import time
from unittest.mock import patch

import pytest

from edgeplace.instances.families import generate
from edgeplace.model import (
    JobGraph,
    Link,
    Pin,
    Rules,
    ShipStrategy,
    SourceDemand,
    Status,
)
from edgeplace.solver import solve
from edgeplace.solver.clock import limited
from edgeplace.solver.infeasibility import conflict, nearest
from edgeplace.solver.infeasibility.conflict import find_conflict
from edgeplace.solver.infeasibility.shortages import Shortages
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import build
from tests.support.seeds import (
    cost,
    filter_cluster,
    filter_job,
    one_site,
    operator,
    stream,
    two_operators,
)


@pytest.mark.parametrize(
    ("cluster", "cure"),
    [
        (one_site(slots=1), "1 more slot on t"),
        (one_site(memory=1e9 - 1), "1 B more memory on t"),
        (one_site(cores=0.19), "0.01 more cores on n"),
    ],
)
def test_short_by_one_is_infeasible_and_the_cure_says_one(cluster, cure):
    result = solve(two_operators(), cluster)
    assert result.status is Status.INFEASIBLE
    assert result.conflict.cure == cure
    assert result.conflict.confirmed
    assert result.conflict.irreducible


def test_a_link_short_by_one_byte_per_second_is_named():
    job = filter_job(50_000.0)
    need = 600 * 0.7 * 100 / 0.8
    assert solve(job, filter_cluster(need)).status is Status.OPTIMAL
    result = solve(job, filter_cluster(need - 1))
    assert result.status is Status.INFEASIBLE
    assert "1 B/s more bandwidth on link pi-0 -> cloud" in result.conflict.cure


def test_rules_that_contradict_each_other_are_both_named():
    rules = Rules(
        rules=(Pin(operators=("filter",), to="server"), Pin(operators=("filter",), to="pi-1"))
    )
    result = solve(filter_job(50_000.0), filter_cluster(1e6), rules)
    assert result.status is Status.INFEASIBLE
    assert set(result.conflict.members) == {"pin filter to server", "pin filter to pi-1"}
    assert result.conflict.cure.startswith("drop or change the rule")


def test_what_there_is_no_time_to_state_is_not_begun_and_only_its_number_is_told():
    job, cluster = filter_job(50_000.0), filter_cluster(1000.0)
    problem = build([job], cluster)
    with (
        limited(60.0),
        patch("edgeplace.solver.infeasibility.conflict._PLACE_S", 61.0 / (problem.n * problem.m)),
        patch(
            "edgeplace.solver.infeasibility.conflict.formulate",
            side_effect=AssertionError("too large"),
        ),
    ):
        found = find_conflict(problem, Shortages(), False)
    assert found.members == ()
    assert not found.irreducible
    assert not found.nearest
    assert found.confirmed


def test_a_conflict_that_was_not_narrowed_down_is_a_number():
    job, cluster = filter_job(50_000.0), filter_cluster(1000.0)
    problem = build([job], cluster)
    with patch("edgeplace.solver.infeasibility.conflict._quick_xplain", side_effect=OutOfTimeError):
        found = find_conflict(problem, Shortages(), False)
    assert found.members == ()
    assert found.not_narrowed > 1
    assert found.confirmed


def test_no_task_managers_is_an_answer():
    cluster = filter_cluster()
    empty = cluster.model_copy(update={"nodes": (), "task_managers": ()})
    job = filter_job(50_000.0)
    free = tuple(
        o.model_copy(update={"born_at": ("anywhere",) * bool(o.born_at)}) for o in job.operators
    )
    result = solve(job.revised(operators=free), empty)
    assert result.status is Status.INFEASIBLE
    assert "no TaskManagers" in result.conflict.members[0]


def test_sites_without_a_route_are_a_conflict_with_a_link_as_cure():
    job = filter_job(50_000.0)
    cluster = filter_cluster()
    cut_off = cluster.model_copy(
        update={"links": tuple(a for a in cluster.links if a.source != "pi-3")}
    )
    result = solve(job, cut_off, Rules(rules=(Pin(operators=("sink",), to="cloud"),)))
    assert result.status is Status.INFEASIBLE
    assert "a link that joins pi-3 -> cloud" in result.conflict.cure


def test_a_link_that_cures_comes_with_the_buffers_that_it_needs():
    job = filter_job(50_000.0)
    cluster = filter_cluster()
    slow = cluster.model_copy(
        update={
            "buffers_per_channel": 1,
            "floating_buffers_per_gate": 0,
            "buffer_bytes": 1024,
            # Only from the cloud to the Pis.
            "links": tuple(
                Link(source="cloud", target=a.source, delay_ms=50.0) for a in cluster.links
            ),
        }
    )
    result = solve(job, slow, Rules(rules=(Pin(operators=("sink",), to="cloud"),)))
    assert result.status is Status.INFEASIBLE
    assert {v.kind for v in result.conflict.shortfalls} == {"route", "credit window"}
    assert result.conflict.confirmed


def test_operators_of_one_name_are_told_apart_and_their_cure_is_confirmed():
    demand = SourceDemand(rates_per_s=(100.0,))
    job = JobGraph(
        name="j",
        operators=(
            operator("a", 1, cost("a", 1000, 1000, demand=demand), born_at=("s",)),
            operator("b", 1, cost("b", 50, 50, selectivity=1.0)),
        ),
        streams=(stream("a", "b", ShipStrategy.FORWARD, 10),),
    )
    same = tuple(o.model_copy(update={"name": "same"}) for o in job.operators)
    result = solve(job.revised(operators=same), one_site(cores=8.0))
    assert result.status is Status.INFEASIBLE
    assert [v.where for v in result.conflict.shortfalls] == ["same [b] (1/1) on t"]
    assert result.conflict.confirmed


@pytest.mark.parametrize("name", ["infeasible-4-0", "infeasible-4-1", "infeasible-4-2"])
def test_without_a_limit_a_slow_machine_gives_the_same_answer(monkeypatch, name):
    it = generate(name)
    quick = solve(it.jobs, it.cluster, it.rules).conflict
    assert quick.nearest
    assert quick.minimal
    assert quick.irreducible
    now = iter(range(0, 10**9, 100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    assert solve(it.jobs, it.cluster, it.rules).conflict == quick


def test_a_large_model_is_not_asked_for_ever_without_a_limit(monkeypatch):
    it = generate("infeasible-4-0")
    full = solve(it.jobs, it.cluster, it.rules).conflict
    monkeypatch.setattr(conflict, "_QUESTIONS", 0)
    few = solve(it.jobs, it.cluster, it.rules).conflict
    assert few.not_narrowed > len(full.members)
    assert few.changes == full.changes
    monkeypatch.setattr(nearest, "_LARGEST", 0)
    none = solve(it.jobs, it.cluster, it.rules).conflict
    assert not none.nearest
    assert none.confirmed
