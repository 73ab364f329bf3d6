"""Prices that lie far apart, as where a link is to be avoided."""

from unittest.mock import patch

import pytest

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
from edgeplace.solver.search.marginals import Marginals
from tests.support.seeds import cost, operator, stream


def avoiding():
    """(job, cluster): a dear link leads to a site, and one leads one way only."""
    demand = SourceDemand(rates_per_s=(9.69293970667312, 11.894050908244388))

    def made(name, **more):
        return cost(name, 400.0, 4000.0, state_bytes=1e3, checkpointed_bytes=1e3, **more)

    shared = {"slot_sharing_group": "shared"}
    job = JobGraph(
        name="job",
        operators=(
            operator("source", 2, made("source", demand=demand), born_at=("n7", "n3"), **shared),
            operator("a", 2, made("a", selectivity=0.3), **shared),
            operator("b", 2, made("b", selectivity=0.7), **shared),
            operator("c", 1, made("c", selectivity=0.3), **shared),
        ),
        streams=(
            stream("source", "a", ShipStrategy.FORWARD, 200.0, selectivity=0.7),
            stream("a", "b", ShipStrategy.HASH, 200.0, selectivity=0.7),
            stream("b", "c", ShipStrategy.REBALANCE, 200.0, selectivity=1.0),
        ),
        checkpoint_interval_ms=10_000.0,
    )
    kinds = [("pi", 0.5) if i % 4 else ("server", 16.0) for i in range(8)]
    cluster = Cluster(
        sites=tuple(Site(id=f"s{i}", tier="edge" if i else "cloud") for i in range(4)),
        nodes=tuple(
            Node(id=f"n{i}", site=f"s{i % 4}", node_class=kind, cores=cores)
            for i, (kind, cores) in enumerate(kinds)
        ),
        task_managers=tuple(
            TaskManager(id=f"n{i}", node=f"n{i}", slots=3 if i % 4 else 16) for i in range(8)
        ),
        links=tuple(
            Link(
                source=a,
                target=b,
                bandwidth_bytes_per_s=bandwidth,
                delay_ms=delay,
                price_per_byte=price,
                both_ways=both,
            )
            for a, b, bandwidth, delay, price, both in (
                ("s1", "s0", 7308.058135146623, 10.530232635113235, 0.0, True),
                ("s2", "s1", 9174.593366544268, 10.53236626176145, 1e6, True),
                ("s3", "s1", 8290.198754141393, 12.707347823473652, 1.0, False),
            )
        ),
        checkpoint_storage="s0",
    )
    return job, cluster


@pytest.mark.parametrize("narrowed", [True, False])
def test_a_dear_link_does_not_mislead_the_later_levels(narrowed):
    job, cluster = avoiding()
    marginals = patch.object(Marginals, "of", wraps=Marginals.of) if narrowed else None
    with marginals or patch.object(Marginals, "of", return_value=None):
        result = solve(job, cluster, objective=("wan:5%", "latency"))
    other = solve(job, cluster, objective=("wan:5%", "latency"), backend="cp-sat")
    assert result.status is other.status is Status.OPTIMAL
    values, others = ([level.value for level in r.levels] for r in (result, other))
    assert values == pytest.approx(others, rel=1e-6)
