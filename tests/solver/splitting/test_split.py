"""Weights with places given, against every weighting on a grid judged by the oracle."""

import itertools

import numpy as np
import pytest

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Link,
    Node,
    Plan,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
    with_weights,
)
from edgeplace.model.laws.by_rate import AtRate
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.solver import evaluate, split
from tests.conformance.document_oracle import Document
from tests.support.seeds import cost, operator, stream

_PLAN = Plan(
    jobs={
        "keys": {
            "route": ("pi",),
            "combine": ("pi", "pi", "server"),
            "merge": ("server",),
        }
    }
)


def _cluster(bandwidth=None, edge_cores=4.0, **more):
    return Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pi", site="edge", node_class="pi", cores=edge_cores),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=8),
            TaskManager(id="server", node="server", slots=8),
        ),
        links=(
            Link(
                source="edge",
                target="cloud",
                bandwidth_bytes_per_s=bandwidth,
                delay_ms=10,
                both_ways=True,
            ),
        ),
        cpu_target=1.0,
        link_target=1.0,
        **more,
    )


def _job(pi=1000.0, rate=1000.0, **combined):
    """A router at the edge, two combiners beside it and one in the cloud, and a merge there."""
    combined = combined or {"selectivity": 0.1}
    demand = SourceDemand(rates_per_s=(rate,))
    combine = stream("combine", "merge", ShipStrategy.HASH, 24, **combined)
    if "by_rate" in combined:
        combine = combine.model_copy(
            update={"cost": combine.cost.model_copy(update={"bytes_per_record": None})}
        )
    return JobGraph(
        name="keys",
        operators=(
            operator("route", 1, cost("route", 1e6, 1e6, demand=demand), born_at=("edge",)),
            operator("combine", 3, cost("combine", pi, 4 * pi)),
            operator("merge", 1, cost("merge", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(stream("route", "combine", ShipStrategy.CUSTOM, 100), combine),
    )


def _grid(steps):
    for a, b in itertools.product(range(steps + 1), repeat=2):
        if a + b <= steps:
            yield (a / steps, b / steps, (steps - a - b) / steps)


def _judged(job, cluster, row):
    plan = _PLAN.model_copy(update={"weights": {"keys": {"combine": {"edge": row}}}})
    document = Document(with_weights([job], cluster, plan), cluster)
    return document.judge(document.as_row(plan))


_LAW = FlushLaw(gathering=Gathering(interval_s=1.0), form="hot and cold", keys=80, shape=0.05)
# A full link delays the timer: then only checkpoints flush, and there is no count.
_DELAYED = _LAW.model_copy(update={"gathering": Gathering(interval_s=1.0, checkpoint_s=60.0)})
_SEEN = AtRate(rate_per_s=500.0, selectivity=_LAW.selectivity(500.0), bytes_per_record=24)


@pytest.mark.parametrize(
    ("job", "cluster", "within"),
    [
        # All at the edge: nothing binds.
        (_job(), _cluster(), 1e-6),
        # Threads at the edge bear 800 of 1000 records/s: a fifth crosses raw.
        (_job(pi=400.0), _cluster(), 1e-6),
        # Their node bears less than their threads.
        (_job(pi=400.0), _cluster(edge_cores=1.5), 1e-6),
        # Headers make what crosses larger, and not proportional.
        (_job(pi=400.0), _cluster(mtu_bytes=1500), 0.01),
        # Combiners put out distinct keys: concave in what they get.
        (_job(pi=600.0, by_rate=(_SEEN,), flush_law=_LAW), _cluster(), 0.01),
        # The link bears what has to cross, and not much more.
        (_job(pi=400.0), _cluster(bandwidth=23_000.0), 1e-6),
        # It would not bear what the timers flush, and has not to.
        (
            _job(pi=400.0, by_rate=(_SEEN,), flush_law=_DELAYED),
            _cluster(bandwidth=22_000.0),
            1e-6,
        ),
    ],
)
def test_no_weighting_on_a_grid_sends_less_than_the_bound_or_the_weights_found(
    job, cluster, within
):
    found = split(job, cluster, _PLAN, ["combine"])
    grid = [_judged(job, cluster, row) for row in _grid(10)]
    least = min(v.values["wan"][0] for v in grid if v.hold[0])
    own = _judged(job, cluster, found.plan.weights["keys"]["combine"]["edge"])
    assert own.hold[0]
    assert found.evaluation.wan_cost == pytest.approx(own.values["wan"][0])
    assert found.bound <= least * (1 + 1e-9)
    assert found.evaluation.wan_cost <= least * (1 + within)
    assert 0 <= found.gap < 0.2
    assert not found.infeasible


def test_with_proportional_combiners_the_weights_are_proved():
    found = split(_job(pi=400.0), _cluster(), _PLAN, ["combine"])
    assert found.proved
    row = found.plan.weights["keys"]["combine"]["edge"]
    assert row == pytest.approx((0.4, 0.4, 0.2), abs=1e-6)


def test_where_nothing_has_to_cross_the_load_is_even():
    found = split(_job(), _cluster(), _PLAN, ["combine"])
    assert found.plan.weights["keys"]["combine"]["edge"] == pytest.approx((0.5, 0.5, 0))
    assert found.evaluation.wan_cost < found.even.wan_cost


def test_weights_follow_unlike_speeds():
    """Two nodes at the edge, one three times as fast: no records cross, and both are as busy."""
    cluster = _cluster()
    cluster = cluster.model_copy(
        update={
            "nodes": (
                *cluster.nodes,
                Node(id="fast", site="edge", node_class="server", cores=4),
            ),
            "task_managers": (
                *cluster.task_managers,
                TaskManager(id="fast", node="fast", slots=4),
            ),
        }
    )
    job = _job(pi=400.0)
    plan = Plan(jobs={"keys": {**_PLAN.of("keys"), "combine": ("pi", "fast", "server")}})
    found = split(job, cluster, plan, ["combine"])
    assert found.plan.weights["keys"]["combine"]["edge"] == pytest.approx((0.2, 0.8, 0), abs=1e-6)


def test_if_no_weights_hold_it_says_so_and_gives_those_that_sustain_the_most():
    job, cluster = _job(pi=100.0), _cluster()
    found = split(job, cluster, _PLAN, ["combine"])
    assert found.infeasible and found.proved
    assert found.bound == np.inf
    best = min(v.values["throughput"][0] for v in (_judged(job, cluster, row) for row in _grid(12)))
    assert found.evaluation.utilisation <= best * (1 + 1e-6)
    assert found.evaluation.utilisation == pytest.approx(1000 / 600, rel=1e-6)


def test_the_plan_with_weights_is_judged_by_them_wherever_it_goes():
    job, cluster = _job(pi=400.0), _cluster()
    found = split(job, cluster, _PLAN, ["combine"])
    again = evaluate(job, cluster, Plan.model_validate_json(found.plan.model_dump_json()))
    assert again.wan_cost == found.evaluation.wan_cost


@pytest.mark.parametrize(
    ("operators", "said"),
    [
        (["merge"], "'merge' cannot be split: it is fed by HASH"),
        (["route"], "it is fed by nothing"),
        (["nobody"], "job 'keys' has no operator 'nobody'"),
        ([], "no operator is to be split"),
    ],
)
def test_what_cannot_be_split_is_refused(operators, said):
    with pytest.raises(InvalidInputError, match=said):
        split(_job(), _cluster(), _PLAN, operators)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"nowhere": (0.5, 0.5, 0.0)}, "the cluster has no such site"),
        ({"edge": (0.5, 0.5)}, "expected 3, one for each subtask"),
        ({"edge": (0.5, 0.5, 0.5)}, "sum to 1"),
        ({"edge": (1.5, -0.5, 0.0)}, "greater than or equal to 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused(rows, said):
    with pytest.raises((InvalidInputError, ValueError), match=said):
        plan = Plan(jobs=_PLAN.jobs, weights={"keys": {"combine": rows}})
        evaluate(_job(), _cluster(), plan)
