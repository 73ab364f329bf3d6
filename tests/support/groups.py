"""Cases with TaskManagers that are alike."""

from hypothesis import strategies as st

from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
)
from tests.support.seeds import cost, operator, stream
from tests.support.strategies import clusters, jobs, rule_sets


def close(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 1e-6


def two_sites(pis=2, cores=1.0):
    """A site of equal Pis, and a cloud with a large server."""
    nodes = [Node(id=f"pi-{i}", site="edge", node_class="pi", cores=cores) for i in range(pis)]
    nodes.append(Node(id="server", site="cloud", node_class="server", cores=16))
    return Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=tuple(nodes),
        task_managers=tuple(TaskManager(id=n.id, node=n.id, slots=9) for n in nodes),
        links=(Link(source="edge", target="cloud", both_ways=True),),
        cpu_target=1.0,
    )


def heavy_job(share, parallelism):
    """A source at the edge, and a filter of which each subtask takes a share of a Pi's core."""
    demand = SourceDemand(rates_per_s=(100.0,) * parallelism)
    rate = 100.0 / share
    return JobGraph(
        name="heavy",
        operators=(
            operator(
                "source", parallelism, cost("source", 1e9, 1e9, demand=demand), born_at=("edge",)
            ),
            operator("filter", parallelism, cost("filter", rate, rate, selectivity=0.1)),
            operator("sink", 1, cost("sink", 1e9, 1e9, selectivity=0.0)),
        ),
        streams=(
            stream("source", "filter", ShipStrategy.FORWARD, 10),
            stream("filter", "sink", ShipStrategy.REBALANCE, 10),
        ),
    )


@st.composite
def twins(draw):
    """Instances in which every node stands twice."""
    base = draw(clusters(tms=2))
    double = base.model_copy(
        update={
            "nodes": tuple(
                n.model_copy(update={"id": n.id + x}) for n in base.nodes for x in ("", "-twin")
            ),
            "task_managers": tuple(
                t.model_copy(update={"id": t.id + x, "node": t.node + x})
                for t in base.task_managers
                for x in ("", "-twin")
            ),
        }
    )
    job = draw(jobs(base, most=40))
    return job, double, draw(rule_sets(job, base, None))
