"""GPUs: a limit that is stated in two documents and in the table of limits, and nowhere else."""

import pytest

from edgeplace.model import Cluster, JobGraph, dump, parse
from edgeplace.solver import evaluate, solve
from edgeplace.solver.baselines import PUBLISHED, Budget
from edgeplace.solver.problem import build
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))


def job(gpus):
    """The filter job, whose filter needs GPUs."""
    model = filter_job(pi_rate_per_s=1200.0)
    operators = tuple(
        op.model_copy(update={"gpus": gpus}) if op.id == "filter" else op for op in model.operators
    )
    return model.revised(operators=operators)


def cluster(**gpus):
    """The filter cluster, with GPUs by the TaskManagers' ids."""
    own = filter_cluster(bandwidth_bytes_per_s=1e7)
    tms = tuple(
        t.model_copy(update={"gpus": gpus.get(t.id.replace("-", "_"), 0)})
        for t in own.task_managers
    )
    return own.model_copy(update={"task_managers": tms})


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_subtasks_run_where_their_gpus_are(backend):
    result = solve(job(1), cluster(pi_0=1, server=3), backend=backend)
    assert result.status == "optimal"
    assert sorted(result.plan.of("filter")["filter"]) == ["pi-0", "server", "server", "server"]


def test_too_few_are_a_conflict_with_its_cure():
    found = solve(job(1), cluster(server=3)).conflict
    assert found.confirmed
    assert found.cure.startswith("1 more GPU on ")
    assert "TaskManager server has 3 GPUs" in found.members
    (limit,) = found.shortfalls
    assert (limit.kind, limit.unit, limit.shortfall) == ("GPUs", "GPUs", 1)


def test_a_plan_that_takes_more_breaks_the_limit():
    plan = solve(job(0), cluster()).plan
    broken = evaluate(job(1), cluster(pi_0=1), plan).violations
    assert [(v.kind, v.where) for v in broken] == [("GPUs", pi) for pi in PIS[1:]]


def test_the_published_methods_keep_it():
    problem = build(job(1), cluster(pi_0=1, server=4))
    for name in ("greedy-first-fit", "local-search"):
        found = PUBLISHED[name](problem, Budget())
        places = found.assignment[problem.subtasks.range_of(1)]
        assert set(places.tolist()) <= {0, 4}, name


def test_a_node_may_carry_it_in_a_file():
    short = {
        "sites": [{"id": "a"}],
        "nodes": [{"id": "n", "site": "a", "cores": 1, "slots": 1, "gpus": 2}],
    }
    read = parse(short, Cluster, "here")
    assert read.task_managers[0].gpus == 2
    assert "gpus: 2" in dump(read, "yaml") or '"gpus": 2' in dump(read)
    assert isinstance(job(1), JobGraph)
