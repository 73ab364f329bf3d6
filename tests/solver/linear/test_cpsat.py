"""Models of which OR-Tools 9.15 said what is not so, and what CP-SAT is asked without."""

import pytest
from ortools.sat.python import cp_model

from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    TaskManager,
)
from edgeplace.solver import solve
from edgeplace.solver.linear.cpsat import run
from tests.support.seeds import cost, operator, stream


def halves():
    """(job, cluster) whose presolve, with inclusions looked for, gives 4/9 cores for 1/3."""
    demand = SourceDemand(rates_per_s=(100.0,))
    kept = {"checkpointed_bytes": 1e5}
    job = JobGraph(
        name="job",
        operators=(
            operator("a", 2, cost("a", 300.0, 300.0, demand=demand), born_at=("s1",)),
            operator("b", 2, cost("b", 600.0, 600.0)),
            operator("c", 2, cost("c", 300.0, 900.0, **kept)),
            operator("d", 2, cost("d", 600.0, 1800.0, **kept)),
        ),
        streams=(
            stream("a", "b", ShipStrategy.FORWARD, 10, selectivity=1.0),
            stream("b", "c", ShipStrategy.HASH, 10, selectivity=2.0),
            stream("c", "d", ShipStrategy.FORWARD, 10, selectivity=1.0),
        ),
        checkpoint_interval_ms=1000,
    )
    shared = {"a": "", "b": "", "c": "x", "d": ""}
    operators = tuple(
        o.model_copy(update={"slot_sharing_group": shared[o.id] or "default"})
        for o in job.operators
    )
    own = Cluster(
        sites=(Site(id="s0", tier="cloud"), Site(id="s1")),
        nodes=(
            Node(id="n0", site="s0", node_class="server", cores=1),
            Node(id="n1", site="s1", node_class="pi", cores=2.5000000024999998),
        ),
        task_managers=(
            TaskManager(id="n0", node="n0", slots=2),
            TaskManager(id="n1", node="n1", slots=3),
        ),
        links=(
            Link(
                source="s0",
                target="s1",
                delay_ms=11,
                both_ways=True,
                bandwidth_bytes_per_s=190_000.00019,
            ),
        ),
        checkpoint_storage="s0",
    )
    return job.model_copy(update={"operators": operators}), own


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_no_plan_is_lost_in_presolve(backend):
    job, own = halves()
    result = solve(job, own, objective=("server_cores",), backend=backend)
    assert result.status is Status.OPTIMAL
    assert result.levels[0].value == pytest.approx(1 / 3)


def test_what_loses_plans_is_switched_off():
    model = cp_model.CpModel()
    model.minimize(model.new_int_var(0, 1, "x"))
    solver = cp_model.CpSolver()
    assert run(solver, model) == (cp_model.OPTIMAL, True)
    assert not solver.parameters.cp_model_presolve
