"""Who runs if not all jobs fit, from what docs/job.md says: a job never waits for a lower one."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from edgeplace.model import (
    Case,
    Cluster,
    JobGraph,
    JobRequirements,
    Link,
    Node,
    Pin,
    Plan,
    Result,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    StoppedBy,
    TaskManager,
)
from edgeplace.model.rules import WishedPin
from edgeplace.solver import by_priority, solve_case
from tests.support.seeds import cost, operator, stream

NAMES = "abcd"


def job(name, cores=0.5):
    """A job whose source takes some cores of the Pi, and whose sink takes none."""
    demand = SourceDemand(rates_per_s=(100.0,))
    speed = 100.0 / cores
    return JobGraph(
        name=name,
        operators=(
            operator("source", 1, cost("source", speed, speed, demand=demand), born_at=("pi",)),
            operator("sink", 1, cost("sink", 1e9, 1e9, selectivity=0.0)),
        ),
        streams=(stream("source", "sink", ShipStrategy.FORWARD, 100),),
    )


def case(cores, jobs, **priorities):
    """Jobs at a Pi with so many cores that plans may use."""
    cluster = Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pi", site="edge", node_class="pi", cores=cores),
            Node(id="server", site="cloud", node_class="server", cores=64),
        ),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=16),
            TaskManager(id="server", node="server", slots=16),
        ),
        links=(Link(source="edge", target="cloud", both_ways=True),),
        cpu_target=1.0,
    )
    required = tuple(JobRequirements(job=j, priority=p) for j, p in priorities.items())
    return Case(tuple(jobs), cluster, Rules(jobs=required))


def admitted(found):
    """Names of the jobs that run, and of those that wait."""
    return [j.name for j in found.case.jobs], [w.job for w in found.waiting]


def test_the_higher_ones_run_and_the_rest_waits_with_a_cure():
    asked = case(1.2, [job("a"), job("b"), job("c")], a=1, c=7)
    found = by_priority(asked, solve_case)
    assert admitted(found) == (["a", "c"], ["b"])
    assert found.result.status == "optimal"
    assert set(found.result.plan.jobs) == {"a", "c"}
    (waits,) = found.waiting
    assert (waits.priority, waits.beside) == (0, ("c", "a"))
    assert waits.result.conflict.confirmed
    assert "more cores on pi" in waits.result.conflict.cure


def test_a_small_job_runs_where_a_larger_one_of_higher_priority_has_no_room():
    asked = case(1.2, [job("a", 0.3), job("b", 0.9), job("c", 0.5)], a=0, b=1, c=2)
    assert admitted(by_priority(asked, solve_case)) == (["a", "c"], ["b"])


def test_without_priorities_all_run_or_none():
    asked = case(1.2, [job("a"), job("b"), job("c")])
    found = by_priority(asked, solve_case)
    assert found.result.status == "infeasible"
    assert not found.waiting
    assert len(found.case.jobs) == 3


def test_where_all_fit_nobody_waits():
    found = by_priority(case(4.0, [job("a"), job("b")], a=3), solve_case)
    assert admitted(found) == (["a", "b"], [])


def test_where_none_fits_the_answer_is_that_for_all():
    asked = case(0.2, [job("a"), job("b")], a=3)
    found = by_priority(asked, solve_case)
    assert found.result.status == "infeasible"
    assert len(found.case.jobs) == 2
    assert not found.waiting


@given(
    fits=st.sets(st.sampled_from([frozenset(c) for n in (1, 2, 3, 4)
                                  for c in itertools.combinations(NAMES, n)])),
    priority=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    order=st.permutations(NAMES),
)  # fmt: skip
def test_no_job_waits_for_a_lower_one(fits, priority, order):
    """Whatever sets of jobs fit. Fewer jobs fit where more do."""
    fits = {frozenset(s) for whole in fits for n in range(1, 5)
            for s in itertools.combinations(sorted(whole), n)}  # fmt: skip
    asked = case(1.0, [job(n) for n in order], **dict(zip(order, priority, strict=True)))
    seen = []

    def solved(of):
        names = frozenset(j.name for j in of.jobs)
        seen.append(names)
        plan = Plan(jobs={n: {} for n in sorted(names)}) if names in fits else None
        return Result(
            status=Status.OPTIMAL if plan else Status.INFEASIBLE,
            stopped_by=StoppedBy.PROOF,
            runtime_s=0.0,
            backend="milp",
            plan=plan,
        )

    found = by_priority(asked, solved)
    run, wait = admitted(found)
    assert sorted([*run, *wait]) == sorted(order)
    assert len(seen) <= len(order) + 1
    if frozenset(run) not in fits:
        assert not wait
        assert len(set(priority)) == 1 or not any(frozenset(n) in fits for n in NAMES)
        return
    assert found.result.plan and set(found.result.plan.jobs) == set(run)
    before = {n: (-p, i) for i, (n, p) in enumerate(zip(order, priority, strict=True))}
    for name in wait:
        ahead = {n for n in run if before[n] < before[name]}
        assert frozenset({*ahead, name}) not in fits, "it waits for a lower one"


def test_the_case_of_some_jobs_keeps_what_the_rules_say_of_them():
    asked = case(1.0, [job("a"), job("b")], a=1, b=2)
    rules = Rules(
        rules=(
            Pin(operators=("sink",), job="a", to="pi"),
            Pin(operators=("sink",), job="b", to="server"),
        ),
        wishes=(WishedPin(operators=("source",), job="b", to="pi"),),
        jobs=asked.rules.jobs,
    )
    now = {"source": ("pi",), "sink": ("pi",)}
    whole = Case(asked.jobs, asked.cluster, rules, Plan(jobs={"a": now, "b": now}))
    left = whole.without_jobs({"b"})
    assert [r.job for r in left.rules.rules] == ["a"]
    assert [r.job for r in left.rules.jobs] == ["a"]
    assert left.rules.wishes == ()
    assert set(left.current.jobs) == {"a"}
    assert whole.without_jobs({"a"}).rules.wishes == rules.wishes
    assert solve_case(left).plan.jobs["a"]["sink"] == ("pi",)
