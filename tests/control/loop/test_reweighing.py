"""The loop gives the routers of a split aggregate other weights: without a pause, with a way back.

Two Pis have sensors and a combiner each, a third combiner runs in the cloud. Even weights send two
thirds of the records of each Pi raw to other sites.
"""

import numpy as np
import pytest

from edgeplace.control.load import Load
from edgeplace.control.loop.answering.answer import answer
from edgeplace.control.loop.decide import decide
from edgeplace.control.loop.events import Ended, Figures, Solve, Solved, Weigh
from edgeplace.control.loop.gates import plan_key
from edgeplace.control.loop.journal import replay
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.simulated.simulated_flink import Faults, Outage, SimulatedFlink
from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop
from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    Pin,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
)
from edgeplace.report.control_page import control_page
from tests.support.loops import BEGAN_S, applies, at, said, settings
from tests.support.seeds import cost, operator, stream

HOUR_S = 3600
NAME = "words: combine"
PLACES = {
    "route": ("pi-a", "pi-b"),
    "combine": ("pi-a", "pi-b", "server"),
    "merge": ("server",),
}
EVEN = {NAME: ((1 / 3, 1 / 3, 1 / 3),) * 2}
RULES = Rules(rules=(Pin(operators=("merge",), to="server"),))


def cluster():
    return Cluster(
        sites=(Site(id="a"), Site(id="b"), Site(id="cloud", tier="cloud")),
        nodes=(
            *(Node(id=f"pi-{s}", site=s, node_class="pi", cores=4) for s in "ab"),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            *(TaskManager(id=f"pi-{s}", node=f"pi-{s}", slots=2) for s in "ab"),
            TaskManager(id="server", node="server", slots=8),
        ),
        links=tuple(Link(source=s, target="cloud", delay_ms=10, both_ways=True) for s in "ab"),
        checkpoint_storage="cloud",
    )


def job():
    """A combiner bears 900 records/s on a Pi, 3,600 at the server."""
    combine = operator("combine", 3, cost("combine", 900.0, 3600.0))
    demand = SourceDemand(rates_per_s=(1000.0, 400.0))
    route = operator("route", 2, cost("route", 1e6, 1e6, demand=demand), born_at=("a", "b"))
    return JobGraph(
        name="filter",
        operators=(
            route,
            combine.model_copy(update={"name": NAME}),
            operator("merge", 1, cost("merge", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(
            stream("route", "combine", ShipStrategy.CUSTOM, 100),
            stream("combine", "merge", ShipStrategy.HASH, 24, selectivity=0.1),
        ),
    )


_SOLVED = {}


def ran(rates, faults=None, seed=0, requests=(), mode="apply", weights=None, **more):
    load = Load("load", np.asarray(rates, dtype=float))
    world = SimulatedFlink(
        job(), cluster(), RULES, load, PLACES, BEGAN_S, faults=faults or Faults(), seed=seed
    )
    world.weights, world.solved = dict(EVEN if weights is None else weights), _SOLVED
    loop = SimulatedLoop(world, settings(mode=mode, **more), list(requests), True)
    loop.run()
    return loop


def drifting(hours):
    """Return a load for which the best weights are others at each decision."""
    return 1500 + np.arange(round(hours * HOUR_S)) * 0.02


def ran_with(weigh, told="all"):
    """Return a loop on a drifting load whose weights end so, and what polls tell after the first.

    Parameters
    ----------
    told
        Weights that each poll tells from then on; "all": those in force.
    """
    load = Load("load", drifting(0.6))
    world = SimulatedFlink(job(), cluster(), RULES, load, PLACES, BEGAN_S, faults=Faults())
    world.weights, world.solved, poll, given = dict(EVEN), _SOLVED, world.poll, []

    def ended(effect):
        given.append(effect)
        return Ended(at_s=world.now_s, id=effect.id, end=weigh, reasons=("so",))

    def polled():
        answer = poll()
        unknown = given and told != "all"
        return answer.model_copy(update={"weights": told}) if unknown else answer

    world.weigh, world.poll = ended, polled
    loop = SimulatedLoop(world, settings(mode="apply"), [], True)
    loop.run()
    return loop


def weighed(loop):
    """Return (memory before, effect) of each change of weights."""
    return [
        (before, effect)
        for _, before, stepped in loop.steps
        for effect in stepped.effects
        if isinstance(effect, Weigh)
    ]


def steady(hours):
    return np.full(round(hours * HOUR_S), 1000.0)


def test_weights_that_send_less_are_given_once_without_a_pause():
    loop = ran(steady(0.5))
    ((before, effect),) = weighed(loop)
    assert not applies(loop) and loop.flink.run == 0 and loop.flink.late_s == 0
    assert effect.former == EVEN and loop.flink.weights == effect.weights
    a, b = effect.weights[NAME]
    # 714 and 286 records/s are born: with headroom their own Pi bears most of the one, all of b's.
    assert a[0] > 0.9 and b == (0.0, 1.0, 0.0)
    assert before.now_s - BEGAN_S < HOUR_S / 2, "they cost nothing, so no regret is waited for"
    assert said(loop, "other weights save") and said(loop, "without a pause")
    assert said(loop, f"gives other weights for {NAME}") and said(loop, "did well for 3")
    assert not loop.memory.proved, "weights prove nothing of how the job takes a move"
    assert [line.text for line, _, _ in replay(loop.lines, "j")] == loop.lines


def test_more_records_than_even_weights_bear_are_a_must():
    """What comes just fits; what is expected, with headroom, does not, and no Pi bears it alone."""
    loop = ran(np.full(900, 2600.0), changes={"voluntary_per_day": 0})
    (_, effect), *_ = weighed(loop)
    assert said(loop, "must: what runs bears") and said(loop, "other weights bear")
    shares = np.array(effect.weights[NAME])
    on_pis = (np.array([1000, 400]) / 1400 * 1.15 * 2600) @ shares[:, :2]
    assert (on_pis <= 900).all()
    assert not applies(loop)


def test_one_way_back_gives_the_former_weights():
    loop = ran(steady(0.6), requests=[at(1200, "back", who="ann")])
    (_, there), (_, back), *_ = weighed(loop)
    assert back.id == f"{there.id}-back" and back.weights == EVEN == there.former
    assert said(loop, "the former weights are in force")
    # Not again within a day: what a person wanted back is banned.
    assert len(weighed(loop)) == 2 and loop.flink.weights == EVEN


@pytest.mark.parametrize("took", [True, False])
def test_weights_that_were_not_seen_in_force_are_looked_at(took, monkeypatch):
    monkeypatch.setattr(
        "edgeplace.control.loop.simulated.simulated_flink._BAD_ENDS", (("unverified", took),)
    )
    loop = ran(steady(0.5), faults=Faults(apply=1.0))
    assert said(loop, "runs as intended" if took else "did not end in time: goes back")
    assert (loop.flink.weights == EVEN) is not took


def test_nobody_is_asked_for_weights_that_are_not_known_and_others_void_what_was_proposed():
    loop = ran(steady(0.2), weights={}, mode="approve")
    (line,) = said(loop, "words: combine stays where it runs: its weights are by subtask")
    # As journals that were written before weights were known at all.
    assert line.endswith("its weights are by subtask") and not weighed(loop)
    loop = ran(steady(0.2), mode="approve")
    assert not weighed(loop)
    assert said(loop, "within the hour: other weights for")
    page = str(control_page(loop.memory, loop.memory.now_s))
    assert (
        f"{NAME} &lt;- 2" in page and "33.3 %, 33.3 %, 33.3 %" in page and "0 %, 100 %, 0 %" in page
    )
    unfollowed = ran(steady(0.2), mode="approve")
    unfollowed._handle(unfollowed.flink.poll().model_copy(update={"weights": {}}))
    assert said(unfollowed, "not all routers follow") and unfollowed.memory.proposal is None
    poll = loop.flink.poll().model_copy(update={"weights": {NAME: ((1.0, 1.0, 2.0),) * 2}})
    loop._handle(poll)
    assert said(loop, "somebody has changed the weights") and loop.memory.proposal is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_whatever_fails_weights_are_whole_and_one_change_is_open_at_a_time(seed):
    faults = Faults(answers=0.05, solver=0.1, apply=0.4, kill=0.01, disk=0.02, job=0.002)
    loop = ran(np.tile([900.0, 1500.0], HOUR_S), faults=faults, seed=seed)
    chosen = [EVEN, *(effect.weights for _, effect in weighed(loop))]
    assert loop.flink.weights in chosen and loop.kills > 0
    for before, effect in weighed(loop):
        again = before.change is not None and before.change.id in (
            effect.id,
            effect.id.removesuffix("-back"),
        )
        assert before.change is None or again, "two changes at a time"
    assert [line.text for line, _, _ in replay(loop.lines, "j")] == loop.lines


def test_weights_in_force_are_what_runs_is_judged_by():
    rows = {NAME: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}
    ask = Solve(ticket=1, places=PLACES, rates={"route": 500.0}, weights=rows, limit_s=60.0)
    solved = answer(ask, job(), cluster(), RULES, 0.0)
    even = answer(ask.model_copy(update={"weights": EVEN}), job(), cluster(), RULES, 0.0)
    # All partials of 500 records/s cross, 12 B... and of even ones two thirds of the raw records.
    assert solved.stay.wan_bytes_per_s == pytest.approx(500 * 0.1 * 24, rel=0.3)
    assert even.stay.wan_bytes_per_s > 20 * solved.stay.wan_bytes_per_s
    assert even.weighed.wan_bytes_per_s == pytest.approx(solved.stay.wan_bytes_per_s)


def test_weights_that_were_refused_are_so_as_a_kind_however_the_rates_drift():
    loop = ran_with("refused")
    assert len(weighed(loop)) == 1 and not loop.memory.voluntary
    assert said(loop, "other weights are hindered by refused")


@pytest.mark.parametrize(("end", "told"), [("unverified", None), ("applied", {})])
def test_weights_that_nobody_tells_are_not_taken_for_those_before(end, told):
    loop = ran_with(end, told)
    assert not said(loop, "somebody has changed") and not said(loop, "the former weights are")
    assert loop.memory.fallen, "a person has to look"
    assert [line.text for line, _, _ in replay(loop.lines, "j")] == loop.lines


@pytest.mark.slow
def test_while_a_site_is_lost_its_routers_keep_their_weights():
    load = Load("load", drifting(0.45))
    away = Outage("b", 900, 1400)
    world = SimulatedFlink(
        job(), cluster(), RULES, load, PLACES, BEGAN_S, faults=Faults(), outages=(away,)
    )
    world.weights, world.solved = dict(EVEN), _SOLVED
    loop = SimulatedLoop(world, settings(mode="apply", survive=("b",)), [], True)
    loop.run()
    given = [before.now_s - BEGAN_S for before, _ in weighed(loop)]
    known = loop.settings.poll_s
    assert any(s < away.from_s for s in given)
    assert not any(away.from_s + known < s < away.to_s for s in given)
    assert said(loop, "source 'route' runs at site 'b'") and not applies(loop)
    assert world.weights == weighed(loop)[-1][1].weights == loop.memory.weights


def test_routers_and_combiners_keep_their_number_in_a_job_that_is_rescaled():
    _, combine, merge = job().operators
    demand = SourceDemand(rates_per_s=(1000.0, 400.0))
    made = cost("source", 1e6, 1e6, demand=demand)
    source = operator("source", 2, made, born_at=("a", "b"))
    inner = operator("route", 2, cost("route", 1e6, 1e6))
    split = JobGraph(
        name="filter",
        operators=(source, inner, combine, merge),
        streams=(
            stream("source", "route", ShipStrategy.REBALANCE, 100),
            stream("route", "combine", ShipStrategy.CUSTOM, 100, selectivity=1.0),
            stream("combine", "merge", ShipStrategy.HASH, 24, selectivity=0.1),
        ),
    )
    places = {"source": ("pi-a", "pi-b"), **PLACES}
    ask = Solve(
        ticket=1,
        places=places,
        rates={"source": 1200.0},
        weights=EVEN,
        parallelism={"route": (1, 2, 3), "merge": (1, 2)},
        limit_s=5.0,
    )
    solved = answer(ask, split, cluster(), Rules(), 0.0)
    assert not solved.problem and solved.weights and "route" not in solved.rescaled


def figures(fits, headroom, wan):
    return Figures(
        fits=fits,
        headroom=headroom,
        wan_bytes_per_s=wan,
        wan_cost=wan,
        latency_ms=0.0,
        server_cores=0.0,
    )


OTHER = {NAME: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}


def decided(mode="apply", stay=(True, 1.5, 1000.0), best=(True, 1.5, 100.0), **more):
    """Return what is decided where a move saves 90 %, other weights 30 %, if not told else."""
    banned, proposal = more.pop("banned", {}), more.pop("proposal", None)
    memory = Memory(
        settings=settings(mode=mode),
        weights=EVEN,
        places=PLACES,
        asked_rates={"route": 1000.0},
        preferred={"merge": ("server",)},
        regret=1e12,
        now_s=1e6,
        observed_s=1e6,
        checkpoint_s=1.0,
        i_know=True,
        banned=banned,
        proposal=proposal,
    )
    given = {
        "places": {**PLACES, "merge": ("pi-a",)},
        "weights": OTHER,
        "weighed": figures(True, 1.5, 700.0),
    }
    solved = Solved(
        at_s=1e6, ticket=7, stay=figures(*stay), best=figures(*best), **{**given, **more}
    )
    return decide(memory, solved)


def test_weights_hide_no_move():
    assert decided().proposal.weights == OTHER, "they cost nothing, so they come first"
    moved = {
        "recommended": decided("recommend"),
        "approve": decided("approve"),
        "unproved": decided(weights_unproved_cost=500.0),
        "refused": decided(banned={plan_key(decided().proposal): 1e6 - 60}),
        "breaks a promise": decided(
            stay=(False, 0.9, 100.0), best=(True, 1.05, 90.0), weighed=figures(False, 1.3, 50.0)
        ),
    }
    assert not {why for why, each in moved.items() if not each.proposal or each.proposal.weights}
    assert "proof" in moved["unproved"].text and "not again" in moved["refused"].text
    # A move that saves less does not come before weights, and its regret goes on.
    stays = decided("recommend", best=(True, 1.5, 900.0))
    assert stays.proposal.weights and stays.regret == 1e12 and stays.preferred


def test_weights_that_are_nearly_the_same_are_the_same_proposal():
    former = decided("approve", best=(True, 1.5, 990.0)).proposal
    for share, same in ((0.995, True), (0.9, False)):
        rows = {NAME: ((share, 1 - share, 0.0), (0.0, 1.0, 0.0))}
        near = former.model_copy(update={"id": "c1", "weights": rows})
        now = decided("approve", best=(True, 1.5, 990.0), proposal=near).proposal
        assert (now.id == "c1") is same and now.weights == OTHER
