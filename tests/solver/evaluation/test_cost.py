"""What a plan costs a month, against sums by hand: docs/cluster.md and docs/formulation.md."""

import pytest

from edgeplace.model import Cluster, InvalidInputError, JobGraph, parse, without_use
from edgeplace.solver import evaluate, job_uses, solve

SECONDS = 365.25 / 12 * 24 * 3600
GB = 1e9


def job(name="j"):
    """Return a job that sends 200 kB/s forth; its sink uses 0.25 of a server's core."""
    cost = {"classes": [{"node_class": c, "true_rate_per_s": 8000} for c in ("pi", "vm")]}
    return parse(
        {
            "name": name,
            "operators": [
                {
                    "id": "a",
                    "name": "a",
                    "parallelism": 1,
                    "born_at": ["edge"],
                    "cost": cost | {"demand": {"rates_per_s": [2000]}},
                },
                {"id": "b", "name": "b", "parallelism": 1, "cost": cost},
            ],
            "streams": [
                {
                    "source": "a",
                    "target": "b",
                    "ship_strategy": "FORWARD",
                    "cost": {"bytes_per_record": 100},
                }
            ],
        },
        JobGraph,
        "the job",
    )


def cluster(link=None, back=None, **changes):
    ends = {"source": "edge", "target": "dc", "price_per_byte": 4 / GB, **(link or {})}
    links = [ends | {"both_ways": True}]
    if back is not None:
        links = [ends, ends | {"source": "dc", "target": "edge"} | back]
    data = {
        "currency": "EUR",
        "sites": [{"id": "edge"}, {"id": "dc", "tier": "cloud"}],
        "nodes": [
            {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 4},
            {
                "id": "vm",
                "site": "dc",
                "node_class": "vm",
                "cores": 4,
                "slots": 4,
                "price_per_core_hour": 0.04,
            },
        ],
        "links": links,
    }
    return parse(data | changes, Cluster, "the cluster")


def plan_of(found_job, there):
    return solve(found_job, there, objective=("latency",)).plan.model_copy(
        update={"jobs": {found_job.name: {"a": ("pi",), "b": ("vm",)}}}
    )


def cost(there, of=None):
    of = of or job()
    return evaluate(of, there, plan_of(of, there)).cost_per_month


CORES = 0.25 * 730.5 * 0.04
SENT = 200_000 * SECONDS
"""526 GB a month."""


def test_links_by_byte_and_busy_cores_by_hour():
    assert cost(cluster()) == pytest.approx(SENT * 4 / GB + CORES)


def test_a_core_without_a_price_costs_nothing():
    nodes = [
        {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 4},
        {"id": "vm", "site": "dc", "node_class": "vm", "cores": 4, "slots": 4},
    ]
    assert cost(cluster(nodes=nodes)) == pytest.approx(SENT * 4 / GB)


@pytest.mark.parametrize("included", [0, 100 * GB, 526 * GB, 600 * GB])
def test_only_bytes_beyond_the_included_volume_cost(included):
    beyond = max(SENT - included, 0)
    assert cost(cluster({"included_bytes": included})) == pytest.approx(beyond * 4 / GB + CORES)


def test_both_ways_share_a_volume_and_others_have_their_own():
    """With frames and acknowledgements, bytes flow back, too."""
    wire = {"mtu_bytes": 1500}
    free = {"price_per_byte": 0}
    forth = cost(cluster(back=free, **wire)) - CORES
    both = cost(cluster(**wire)) - CORES
    assert 0 < forth < both
    volume = {"included_bytes": 100 * GB}
    saved = 100 * 4
    assert cost(cluster(volume, **wire)) == pytest.approx(both - saved + CORES)
    # The way back has no volume.
    alone = cluster(volume, back={"included_bytes": 0}, **wire)
    assert cost(alone) == pytest.approx(both - saved + CORES)
    # Two links that both have one share it, as both ways of one link do.
    assert cost(cluster(volume, back={}, **wire)) == pytest.approx(both - saved + CORES)


def test_what_other_jobs_send_uses_up_the_volume():
    there = cluster({"included_bytes": 700 * GB})
    first, second = job("first"), job("second")
    uses = job_uses([first], there, plan_of(first, there))
    left = without_use(there, uses.values() if isinstance(uses, dict) else uses)
    together = cost(there, first) + cost(left, second)
    both = plan_of(first, there).model_copy(
        update={"jobs": {j.name: {"a": ("pi",), "b": ("vm",)} for j in (first, second)}}
    )
    assert together == pytest.approx(evaluate([first, second], there, both).cost_per_month)
    assert together == pytest.approx((2 * SENT - 700 * GB) * 4 / GB + 2 * CORES)


def test_without_a_currency_there_is_no_cost_and_no_such_level():
    there = parse(
        {
            "sites": [{"id": "edge"}, {"id": "dc", "tier": "cloud"}],
            "nodes": [
                {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 4},
                {"id": "vm", "site": "dc", "node_class": "vm", "cores": 4, "slots": 4},
            ],
            "links": [{"source": "edge", "target": "dc", "both_ways": True}],
        },
        Cluster,
        "the cluster",
    )
    assert cost(there) is None
    with pytest.raises(InvalidInputError) as error:
        solve(job(), there, objective=("cost", "latency"))
    assert "no currency" in error.value.what
    assert "currency: EUR" in error.value.cure


def test_a_node_costs_if_any_subtask_runs_there():
    pi, vm = cluster().nodes
    idle = vm.model_copy(update={"id": "idle"})
    nodes = [n.model_copy(update={"price_per_node_hour": 0.5}) for n in (pi, vm, idle)]
    there = cluster().model_copy(update={"nodes": tuple(nodes)})
    assert cost(there) == pytest.approx(cost(cluster()) + 2 * 730.5 * 0.5)


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_few_machines_are_used_if_machines_cost(backend):
    """Two of three equal servers hold four subtasks of one slot each: the third stays empty."""
    server = {"node_class": "vm", "cores": 4, "slots": 2, "price_per_node_hour": 0.3}
    there = cluster(
        nodes=[
            {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 1},
            *({"id": f"vm-{i}", "site": "dc", **server} for i in range(3)),
        ]
    )
    wide = job()
    operators = (
        wide.operators[0].model_copy(update={"slot_sharing_group": "own"}),
        wide.operators[1].model_copy(update={"parallelism": 4}),
    )
    streams = (wide.streams[0].model_copy(update={"ship_strategy": "REBALANCE"}),)
    wide = wide.model_copy(update={"operators": operators, "streams": streams})
    found = solve(wide, there, objective=("cost",), backend=backend)
    assert found.status == "optimal"
    assert len(set(found.plan.of("j")["b"])) == 2
    assert found.evaluation.cost_per_month == pytest.approx(SENT * 4 / GB + 2 * 730.5 * 0.3)


@pytest.mark.parametrize("backend", ["milp", "cp-sat"])
def test_the_cheapest_place_follows_the_prices(backend):
    """The sink runs where the price of a core, and of the bytes to it, is least."""

    def sink(there):
        found = solve(job(), there, objective=("cost", "wan"), backend=backend)
        assert found.status == "optimal"
        assert found.levels[0].value == pytest.approx(found.evaluation.cost_per_month)
        return found.plan.of("j")["b"][0]

    assert sink(cluster()) == "pi"
    dear_pi = cluster().nodes[0].model_copy(update={"price_per_core_hour": 1.0})
    nodes = (dear_pi, cluster().nodes[1])
    # 0.96 EUR an hour more for 0.25 cores are 175 EUR a month; 526 GB are 2,104.
    assert sink(cluster().model_copy(update={"nodes": nodes})) == "pi"
    # With 500 GB included, they are 104.
    included = cluster({"included_bytes": 500 * GB}).model_copy(update={"nodes": nodes})
    assert sink(included) == "vm"
