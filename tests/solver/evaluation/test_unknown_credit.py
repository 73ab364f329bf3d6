"""The evaluator says what of flow control it does not know: credit over links that lead one way."""

import pytest

from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    Operator,
    Plan,
    ShipStrategy,
    Site,
    Stream,
    TaskManager,
)
from edgeplace.model.cost import ClassCost, OperatorCost, SourceDemand, StreamCost
from edgeplace.solver import evaluate


def operator(name, born_at=(), **more):
    cost = OperatorCost(
        operator=name, classes=(ClassCost(node_class="pi", true_rate_per_s=1000.0),), **more
    )
    return Operator(id=name, name=name, parallelism=1, cost=cost, born_at=born_at)


JOB = JobGraph(
    name="job",
    operators=(
        operator("out", ("anywhere",), demand=SourceDemand(rates_per_s=(10.0,))),
        operator("in"),
    ),
    streams=(
        Stream(
            source="out",
            target="in",
            ship_strategy=ShipStrategy.FORWARD,
            cost=StreamCost(source="out", target="in", selectivity=1.0, bytes_per_record=100.0),
        ),
    ),
)
APART = Plan(jobs={"job": {"out": ("a",), "in": ("b",)}})
TOGETHER = Plan(jobs={"job": {"out": ("b",), "in": ("b",)}})


def notes(plan, *links):
    sites = ("a", "b", "c")
    cluster = Cluster(
        sites=tuple(Site(id=s) for s in sites),
        nodes=tuple(Node(id=s, site=s, node_class="pi", cores=1) for s in sites),
        task_managers=tuple(TaskManager(id=s, node=s, slots=2) for s in sites),
        links=tuple(
            Link(source=x, target=y, delay_ms=10, bandwidth_bytes_per_s=1e6) for x, y in links
        ),
    )
    return evaluate(JOB, cluster, plan).notes


def test_a_route_without_a_way_back_is_named():
    (said,) = notes(APART, "ab")
    assert said.startswith("no route leads from b back to a: what credit lets through")


def test_a_link_that_is_answered_by_another_way_is_named():
    (said,) = notes(APART, "ab", "bc", "ca")
    assert said.startswith("no link leads straight back over a -> b: what buffers wait")


@pytest.mark.parametrize(
    ("plan", "links"),
    [(APART, ("ab", "ba")), (APART, ("ab", "ba", "bc")), (TOGETHER, ("ab",))],
)
def test_nothing_is_said_where_all_is_known_or_nothing_crosses(plan, links):
    assert notes(plan, *links) == ()
