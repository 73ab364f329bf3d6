"""Small instances that several tests speak of."""

from edgeplace.model import (
    ClassCost,
    Cluster,
    JobGraph,
    Link,
    Node,
    NodeClass,
    Operator,
    OperatorCost,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
    TaskManager,
)


def cost(name, pi, server, **more):
    classes = (
        ClassCost(node_class="pi", true_rate_per_s=pi),
        ClassCost(node_class="server", true_rate_per_s=server),
    )
    return OperatorCost(operator=name, classes=classes, **more)


def stream(a, b, strategy, size, **more):
    return Stream(
        source=a,
        target=b,
        ship_strategy=strategy,
        cost=StreamCost(source=a, target=b, bytes_per_record=size, **more),
    )


def operator(name, p, op_cost, **more):
    more.setdefault("slot_sharing_group", name)
    return Operator(id=name, name=name, parallelism=p, cost=op_cost, **more)


def filter_job(pi_rate_per_s, demand_per_s=600.0):
    """The flink-placement project's experiment: 4 sources at 4 Pis, a 70 % filter, a sink."""
    places = tuple(f"pi-{i}" for i in range(4))
    demand = SourceDemand(rates_per_s=(demand_per_s,) * 4)
    return JobGraph(
        name="filter",
        operators=(
            operator("source", 4, cost("source", 1e6, 1e6, demand=demand), born_at=places),
            operator("filter", 4, cost("filter", pi_rate_per_s, 200_000.0, selectivity=0.7)),
            operator("sink", 1, cost("sink", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(
            stream("source", "filter", ShipStrategy.FORWARD, 100),
            stream("filter", "sink", ShipStrategy.REBALANCE, 100),
        ),
    )


def slow_sink_job(before_sink=None):
    """The same at fast Pis, with a sink that bears 500 records/s, and as slow an operator before
    it, if it is said how that sends to the sink.
    """
    job = filter_job(pi_rate_per_s=5000.0)
    source, keeps, _ = job.operators
    sink = operator("sink", 1, cost("sink", 500.0, 500.0, selectivity=0.0))
    if before_sink is None:
        return job.revised(operators=(source, keeps, sink))
    slow = operator("slow", 1, cost("slow", 500.0, 500.0, selectivity=1.0))
    streams = (
        job.streams[0],
        stream("filter", "slow", ShipStrategy.REBALANCE, 100),
        stream("slow", "sink", before_sink, 100),
    )
    return job.revised(operators=(source, keeps, slow, sink), streams=streams)


def filter_cluster(bandwidth_bytes_per_s=62_500.0):
    """Four Pis, each behind a link of its own, and a server. 500 kbit/s unless said."""
    sites = [Site(id=f"pi-{i}") for i in range(4)]
    pis = [Node(id=f"pi-{i}", site=f"pi-{i}", node_class="pi", cores=4) for i in range(4)]
    server = Node(id="server", site="cloud", node_class="server", cores=16)
    return Cluster(
        sites=(*sites, Site(id="cloud", tier="cloud")),
        nodes=(*pis, server),
        task_managers=(
            *(TaskManager(id=n.id, node=n.id, slots=4) for n in pis),
            TaskManager(id="server", node="server", slots=16),
        ),
        links=tuple(
            Link(
                source=s.id,
                target="cloud",
                bandwidth_bytes_per_s=bandwidth_bytes_per_s,
                delay_ms=20,
                both_ways=True,
            )
            for s in sites
        ),
        node_classes=(NodeClass(id="pi", speed=0.25), NodeClass(id="server", speed=1.0)),
    )


def one_site(slots=2, memory=None, cores=1.0):
    return Cluster(
        sites=(Site(id="s", tier="cloud"),),
        nodes=(Node(id="n", site="s", node_class="server", cores=cores),),
        task_managers=(TaskManager(id="t", node="n", slots=slots, memory_bytes=memory),),
        cpu_target=1.0,
    )


def two_operators(**more):
    demand = SourceDemand(rates_per_s=(100.0,))
    source = cost("a", 1000, 1000, demand=demand)
    return JobGraph(
        name="j",
        operators=(
            operator("a", 1, source, born_at=("s",), **more),
            operator("b", 1, cost("b", 1000, 1000, selectivity=1.0, state_bytes=1e9), **more),
        ),
        streams=(stream("a", "b", ShipStrategy.FORWARD, 10),),
    )
