"""Places and weights together, against every placement with every weighting on a grid."""

import itertools

import pytest

from edgeplace.model import (
    Case,
    Cluster,
    InvalidInputError,
    JobGraph,
    Link,
    NeverMove,
    Node,
    Pin,
    Plan,
    PlanMismatchError,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    TaskManager,
    with_weights,
)
from edgeplace.model.laws.by_rate import AtRate
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.model.rules import WishedColocate
from edgeplace.solver import place_and_split
from edgeplace.solver.out_of_time import OutOfTimeError
from tests.conformance.document_oracle import Document
from tests.support.seeds import cost, operator, stream

_SITES = ("a", "b")
_RULES = Rules(rules=(Pin(operators=("merge",), to="server"),))


def _cluster(slots=2, cores=4.0, bandwidth=None):
    return Cluster(
        sites=(*(Site(id=s) for s in _SITES), Site(id="cloud", tier="cloud")),
        nodes=(
            *(Node(id=f"pi-{s}", site=s, node_class="pi", cores=cores) for s in _SITES),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            *(TaskManager(id=f"pi-{s}", node=f"pi-{s}", slots=slots) for s in _SITES),
            TaskManager(id="server", node="server", slots=8),
        ),
        links=tuple(
            Link(
                source=s,
                target="cloud",
                bandwidth_bytes_per_s=bandwidth,
                delay_ms=10,
                both_ways=True,
            )
            for s in _SITES
        ),
        cpu_target=1.0,
        link_target=1.0,
    )


def _job(pi, rates=(1000.0, 400.0), workers=3):
    demand = SourceDemand(rates_per_s=rates)
    route = operator("route", 2, cost("route", 1e6, 1e6, demand=demand), born_at=_SITES)
    return JobGraph(
        name="keys",
        operators=(
            route,
            operator("combine", workers, cost("combine", pi, 4 * pi)),
            operator("merge", 1, cost("merge", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(
            stream("route", "combine", ShipStrategy.CUSTOM, 100),
            stream("combine", "merge", ShipStrategy.HASH, 24, selectivity=0.1),
        ),
    )


def _least(job, cluster, steps, workers):
    """The least `wan` of all places and weights on a grid; of those that hold."""
    grid = [
        tuple(c / steps for c in each)
        for each in itertools.product(range(steps + 1), repeat=workers)
        if sum(each) == steps
    ]
    least = float("inf")
    for a, b in itertools.product(grid, repeat=2):
        rows = {"a": a, "b": b}
        any_plan = Plan(
            jobs={
                "keys": {
                    "route": ("pi-a", "pi-b"),
                    "combine": ("server",) * workers,
                    "merge": ("server",),
                }
            },
            weights={"keys": {"combine": rows}},
        )
        document = Document(with_weights([job], cluster, any_plan), cluster)
        plans = document.plans()
        judged = document.judge(plans[plans[:, -1] == len(_SITES)])
        if judged.hold.any():
            least = min(least, float(judged.values["wan"][judged.hold].min()))
    return least


_DELAYED = FlushLaw(
    gathering=Gathering(interval_s=1.0, checkpoint_s=60.0), form="hot and cold", keys=80, shape=0.05
)
_SEEN = AtRate(rate_per_s=500.0, selectivity=_DELAYED.selectivity(500.0), bytes_per_record=24)


@pytest.mark.parametrize(("pi", "cores"), [(1500.0, 4.0), (900.0, 4.0), (1500.0, 0.401)])
def test_no_place_and_weight_on_a_grid_sends_less_than_the_bound(pi, cores):
    # With 0.4 cores and the router's, pi-a bears 600 records/s, though a thread would bear more.
    job, cluster = _job(pi, workers=2), _cluster(cores=cores)
    found = place_and_split(Case((job,), cluster, _RULES), ["combine"], objective=("wan",))
    least = _least(job, cluster, 10, 2)
    assert found.result.bound <= least * (1 + 1e-9)
    assert found.result.evaluation.feasible
    assert found.result.evaluation.wan_cost <= least * (1 + 1e-6)
    assert found.result.status is Status.OPTIMAL
    assert found.result.bound == pytest.approx(least, rel=1e-6)


def test_a_link_that_delays_timers_holds_what_is_left_of_the_partials():
    """Timers flush 3 kB/s at site a, checkpoints alone 1.3: a link of 2 has room for them."""
    cluster, job = _cluster(bandwidth=2000.0), _job(1500.0, workers=2)
    partials = job.streams[1].cost.model_copy(
        update={
            "selectivity": None,
            "bytes_per_record": None,
            "by_rate": (_SEEN,),
            "flush_law": _DELAYED,
        }
    )
    job = job.revised(
        streams=(job.streams[0], job.streams[1].model_copy(update={"cost": partials}))
    )
    found = place_and_split(Case((job,), cluster, _RULES), ["combine"], objective=("wan",))
    least = _least(job, cluster, 4, 2)
    assert least < float("inf")
    assert found.result.bound <= least * (1 + 1e-9)
    assert found.result.evaluation.feasible
    assert found.result.evaluation.wan_cost <= least * (1 + 1e-6)


def test_wishes_are_not_proved_and_rules_of_what_runs_now_are_kept():
    """A wish to join the split operator to another one, a current plan, and who may not move."""
    wishes = (WishedColocate(operators=("combine", "merge"), level="site"),)
    now = Plan(
        jobs={
            "keys": {
                "route": ("pi-a", "pi-b"),
                "combine": ("server",),
                "merge": ("server",),
            }
        }
    )
    rules = Rules(
        rules=(NeverMove(operators=("merge",)), NeverMove(operators=("route",))), wishes=wishes
    )
    case = Case((_job(2000.0, workers=1),), _cluster(4), rules, now)
    found = place_and_split(case, ["combine"], objective=("wan",)).result
    # Most records are born at a, so its worker is there, and apart from the merge.
    assert found.plan.of("keys")["combine"] == ("pi-a",)
    assert found.evaluation.feasible
    assert found.status is Status.FEASIBLE
    assert any("Not proved is the rest: wishes" in note for note in found.notes)


def test_with_a_confidence_weights_are_those_of_the_raised_costs():
    """By its mean a worker serves all that site a sends; with 90 % it does not."""
    job, cluster = _job(1500.0, rates=(1200.0, 400.0), workers=2), _cluster()
    combine = job.operator("combine")
    classes = tuple(c.model_copy(update={"relative_spread": 0.2}) for c in combine.cost.classes)
    spread = combine.cost.model_copy(update={"classes": classes})
    job = job.revised(
        operators=tuple(
            o.model_copy(update={"cost": spread}) if o.id == "combine" else o for o in job.operators
        )
    )
    case = Case((job,), cluster, _RULES)
    found = place_and_split(case, ["combine"], objective=("wan",), confidence=0.9)
    raised = place_and_split(case.at_confidence(0.9), ["combine"], objective=("wan",))
    assert found.result.evaluation == found.split.evaluation == raised.result.evaluation
    mean = place_and_split(case, ["combine"], objective=("wan",))
    assert found.result.evaluation.wan_cost > mean.result.evaluation.wan_cost
    assert "probability of 90%" in found.result.notes[0]


@pytest.mark.parametrize("bound", [float("inf"), 1e9])
def test_a_bound_that_a_plan_undercuts_is_an_error_and_no_proof(bound, monkeypatch):
    monkeypatch.setattr(
        "edgeplace.solver.splitting.place.joint_places", lambda *args: (bound, None)
    )
    with pytest.raises(PlanMismatchError):
        place_and_split(Case((_job(600.0),), _cluster(4), _RULES), ["combine"], objective=("wan",))


def test_without_time_for_the_model_of_both_there_is_a_plan_all_the_same(monkeypatch):
    def late(*args):
        raise OutOfTimeError("HiGHS still runs for a call that is over")

    monkeypatch.setattr("edgeplace.solver.splitting.place.joint_places", late)
    case = Case((_job(600.0),), _cluster(4), _RULES)
    found = place_and_split(case, ["combine"], objective=("wan",), time_limit_s=600)
    assert found.result.evaluation.feasible


def test_each_site_gets_workers_of_its_own_where_they_fit():
    found = place_and_split(Case((_job(600.0),), _cluster(4), _RULES), ["combine"])
    places = found.result.plan.of("keys")["combine"]
    rows = found.result.plan.weights["keys"]["combine"]
    for site, row in rows.items():
        assert {tm for tm, w in zip(places, row, strict=True) if w} == {f"pi-{site}"}
    assert found.result.gap == 0
    assert found.split.proved


def test_a_router_that_may_run_anywhere_is_refused_with_a_cure():
    job = _job(600.0)
    free = job.operators[0].model_copy(update={"born_at": ("anywhere",)})
    job = job.revised(operators=(free, *job.operators[1:]))
    with pytest.raises(InvalidInputError, match="is not known beforehand"):
        place_and_split(Case((job,), _cluster()), ["combine"])


def test_another_first_term_than_wan_is_refused():
    with pytest.raises(InvalidInputError, match="fewest WAN bytes"):
        place_and_split(
            Case((_job(600.0),), _cluster(4), _RULES), ["combine"], objective=("latency",)
        )
