"""What `solve --set` says that moves: only what has a reason to."""

import pytest

from edgeplace import solver
from edgeplace.model import Plan, write
from tests.support.depots import depots_cluster, parcels

SWAPPED = {"vm-0": "vm-3", "vm-3": "vm-0"}


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["throughput,wan", "wan,latency"])
def test_servers_that_are_alike_do_not_change_places(edgeplace, tmp_path, monkeypatch, objective):
    """Each search may name alike machines as it likes: the second one names them otherwise."""
    found = []

    def solve_case(case, **more):
        result = real(case, **more)
        found.append(result)
        if len(found) == 2:
            return result
        jobs = {
            job: {op: tuple(SWAPPED.get(t, t) for t in tms) for op, tms in places.items()}
            for job, places in result.plan.jobs.items()
        }
        return result.model_copy(update={"plan": Plan(jobs=jobs)})

    real = solver.solve_case
    monkeypatch.setattr(solver, "solve_case", solve_case)
    job, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    write(parcels(4), job)
    write(depots_cluster(4), cluster)
    ran = edgeplace("solve", job, cluster, "--set", "rate=x1.01", "--objective", objective)
    assert len(found) == 2, ran.err
    assert "vm-0" in str(found[0].plan) or "vm-3" in str(found[0].plan)
    assert "no subtask changes its TaskManager" in ran.out
