"""Loops in a simulated Flink, and what must never happen in one."""

from collections import Counter

import numpy as np

from edgeplace.control.load import Load
from edgeplace.control.loop import sites
from edgeplace.control.loop.events import Apply, Asked, Ended, Polled, Solved, Started
from edgeplace.control.loop.gates import AGAIN_S
from edgeplace.control.loop.guard import HELD, held_now
from edgeplace.control.loop.memory import DAY_S
from edgeplace.control.loop.simulated.simulated_flink import Faults, Outage, SimulatedFlink
from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop
from edgeplace.control.settings import ControlSettings
from edgeplace.model import Link, Node, Pin, Plan, Rules, Site, TaskManager
from edgeplace.model.what_if.case import Case
from edgeplace.solver import evaluate
from tests.support.seeds import filter_cluster, filter_job, slow_sink_job

BEGAN_S = 1.8e9
PIS = tuple(f"pi-{i}" for i in range(4))
RULES = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
AT_SERVER = {"source": PIS, "filter": ("server",) * 4, "sink": ("server",)}
AT_PIS = {"source": PIS, "filter": PIS, "sink": ("server",)}
QUIET = 0.6 * 2400.0
"""Records per second that the links carry unfiltered, too."""
HOUR_S = 3600.0
_SOLVED = {}


def settings(**more):
    """Return settings of a loop over the filter job."""
    given = {"jobmanager": "http://flink", "job": "filter", "cluster": "c", "costs": "k"}
    return ControlSettings.model_validate({**given, **more})


def flink(rates, faults=None, seed=0, pi_rate_per_s=5000.0, state_bytes=0.0):
    """Return a simulated Flink that runs the filter job, with all but the sources at the server.

    Parameters
    ----------
    state_bytes
        Of the filter; checkpoints are stored in the cloud.
    """
    job, cluster = filter_job(pi_rate_per_s=pi_rate_per_s), filter_cluster()
    source, keeps, sink = job.operators
    cost = keeps.cost.model_copy(update={"state_bytes": state_bytes})
    job = job.revised(operators=(source, keeps.model_copy(update={"cost": cost}), sink))
    cluster = cluster.model_copy(update={"checkpoint_storage": "cloud"})
    return SimulatedFlink(
        job,
        cluster,
        RULES,
        Load("load", np.asarray(rates, dtype=float)),
        AT_SERVER,
        BEGAN_S,
        faults=faults or Faults(),
        seed=seed,
        solved=_SOLVED.setdefault((pi_rate_per_s, state_bytes), {}),
    )


def ran(
    rates,
    mode="apply",
    i_know=True,
    requests=(),
    faults=None,
    seed=0,
    pi_rate_per_s=5000.0,
    state_bytes=0.0,
    truth=1.0,
    advises=False,
    **more,
):
    """Return a loop that has run over a load."""
    world = flink(rates, faults, seed, pi_rate_per_s, state_bytes)
    world.truth, world.advises = truth, advises
    loop = SimulatedLoop(world, settings(mode=mode, **more), list(requests), i_know)
    loop.run()
    return loop


def ran_with_a_slow_sink(rates, places=None, **more):
    """Return a loop over a job of which one sink bears 500 records/s; `rescale` may give it four.

    Parameters
    ----------
    places
        Of the sink at first; None: one at the server.
    """
    job, cluster = (
        slow_sink_job(),
        filter_cluster().model_copy(update={"checkpoint_storage": "cloud"}),
    )
    faults, seed = more.pop("faults", None), more.pop("seed", 0)
    world = SimulatedFlink(
        job,
        cluster,
        RULES,
        Load("load", np.asarray(rates, dtype=float)),
        {**AT_PIS, "sink": places or ("server",)},
        BEGAN_S,
        faults=faults or Faults(),
        seed=seed,
        solved=_SOLVED.setdefault("slow sink", {}),
    )
    given = {"mode": "apply", "rescale": {"sink": "1..4"}, **more}
    loop = SimulatedLoop(world, settings(**given), [], True)
    loop.run()
    return loop


def two_clouds():
    """Return the cluster of the filter job with a second server at a site of its own, reached by
    links that carry as much; checkpoints are stored at a third.
    """
    cluster = filter_cluster()
    links = [
        *cluster.links,
        *(
            link.model_copy(update={"target": "cloud-2"})
            for link in cluster.links
            if link.target == "cloud"
        ),
        *(
            Link(source=a, target="store", bandwidth_bytes_per_s=1e7, delay_ms=1, both_ways=True)
            for a in ("cloud", "cloud-2")
        ),
    ]
    return cluster.model_copy(
        update={
            "sites": (*cluster.sites, Site(id="cloud-2", tier="cloud"), Site(id="store")),
            "nodes": (
                *cluster.nodes,
                Node(id="server-2", site="cloud-2", node_class="server", cores=16),
            ),
            "task_managers": (
                *cluster.task_managers,
                TaskManager(id="server-2", node="server-2", slots=16),
            ),
            "links": tuple(links),
            "checkpoint_storage": "store",
        }
    )


def ran_with_outages(hours, outages, survive=("cloud", "cloud-2"), faults=None, seed=0, **more):
    """Return a loop over a job whose sites are lost at times.

    Parameters
    ----------
    outages
        (site, from, to), in minutes.
    """
    world = SimulatedFlink(
        filter_job(pi_rate_per_s=5000.0),
        two_clouds(),
        None,
        Load("load", np.full(round(hours * HOUR_S), QUIET)),
        AT_SERVER,
        BEGAN_S,
        faults=faults or Faults(),
        seed=seed,
        outages=tuple(Outage(s, round(60 * a), round(60 * b)) for s, a, b in outages),
        solved=_SOLVED.setdefault("two clouds", {}),
    )
    given = {"mode": "apply", "survive": survive, "settle_s": 60, **more}
    loop = SimulatedLoop(world, settings(**given), [], True)
    loop.run()
    return loop


def at(seconds, what, **more):
    """Return what a person asks so long after the begin."""
    return Asked(at_s=BEGAN_S + seconds, wall_s=BEGAN_S + seconds, what=what, **more)


def applies(loop):
    """Return (event, memory before, effect, memory after) of each change that was begun."""
    return [
        (event, before, effect, stepped.memory)
        for event, before, stepped in loop.steps
        for effect in stepped.effects
        if isinstance(effect, Apply)
    ]


def said(loop, text):
    """Return the lines that say something, in a word of it."""
    return [stepped.says for _, _, stepped in loop.steps if text in stepped.says]


def assert_nothing_that_must_never_happen(loop):
    """Assert the list of the loop's design on a journal."""
    config, limits = loop.settings, loop.settings.changes
    assert all(stepped.says for _, _, stepped in loop.steps), "silence"
    epochs = [event.epoch for event, _, _ in loop.steps if isinstance(event, Started)]
    assert epochs == sorted(set(epochs)), "two leaders"
    longest_s = 2 * (2 * config.apply_s + 60) + 4 * 600 + DAY_S / 24
    opened: dict[str, float] = {}
    voluntary: list[float] = []
    urgent: list[float] = []
    refused: dict[str, float] = {}
    for event, before, stepped in loop.steps:
        after = stepped.memory
        for name in [n for n in opened if after.change is None or after.change.id != n]:
            assert after.now_s - opened.pop(name) <= longest_s, "a wait without a deadline"
        if isinstance(event, Ended) and event.end in ("refused", "rolled back") and before.change:
            lost = before.change.kind == "lost"
            refused[repr((lost, sorted(before.change.to.items())))] = after.now_s
        for effect in stepped.effects:
            if not isinstance(effect, Apply):
                continue
            opened.setdefault(effect.id, after.now_s)
            change = after.change
            assert change is not None and change.id == effect.id, "no intent on record"
            if change.kind == "back":
                assert before.change is not None or isinstance(event, Asked), "back from nothing"
                continue
            watched = before.change is not None and before.change.seen_s is not None
            overtaken = change.kind == "lost" and watched and before.change.kind != "back"
            assert before.change is None or overtaken, "two changes at a time"
            assert before.mode != "recommend" and not after.fallen, "changes in recommend"
            assert isinstance(event, Asked) or before.mode == "apply", "nobody has approved"
            assert change.former, "a change without a way back"
            assert effect.former or change.kind == "lost"
            new = set()
            for op, row in effect.places.items():
                new |= set(Counter(row) - Counter(change.former[op]))
            assert not new & set(sites.avoided(after)), "something new where nothing may come"
            assert after.checkpoint_s is not None and not after.checkpoint_failed
            # A job whose site is lost does not run: of it there is no whole answer.
            told_s = after.there_s if change.kind == "lost" else after.observed_s
            age_s = after.now_s - (told_s or 0.0)
            assert age_s <= 3 * config.poll_s, "a change on stale metrics"
            assert not after.blind or age_s > 0 or change.kind == "lost"
            if held_now(before.recent) >= HELD:
                assert not before.fewer(effect.places), "a smaller n while a backlog drains"
            flink = loop.flink
            plan = Plan(jobs={"filter": effect.places})
            case = Case((flink.job,), flink.cluster, flink.rules).in_parallelism_of(plan)
            judged = evaluate(case.jobs, case.cluster, plan, case.rules)
            assert not [v for v in judged.violations if v.kind in ("rule", "slots")], "rule broken"
            assert effect.places["source"] == PIS, "a pinned source moved"
            key = repr((change.kind == "lost", sorted(effect.places.items())))
            assert after.now_s >= refused.get(key, -1e12) + AGAIN_S[change.kind]
            (voluntary if change.kind == "worth it" else urgent).append(after.now_s)
    for times, span_s, most in (
        (voluntary, HOUR_S, limits.voluntary_per_hour),
        (voluntary, DAY_S, limits.voluntary_per_day),
        (urgent, HOUR_S, limits.urgent_per_hour),
    ):
        for t in times:
            assert sum(t <= other < t + span_s for other in times) <= most, "too many changes"


def prices_and_regret(loop):
    """Return the prices of voluntary changes in all, and what staying cost too much in all."""
    prices = sum(
        before.price if isinstance(event, Asked) else after.price
        for event, before, _, after in applies(loop)
        if after.change is not None and after.change.kind == "worth it"
    )
    regret = sum(
        max(0.0, event.came_stay_cost - event.came_other_cost) * before.asked_came_s
        for event, before, _ in loop.steps
        if isinstance(event, Solved)
        and event.came_stay_cost is not None
        and event.came_other_cost is not None
    )
    return prices, regret


def polled(second=10.0, emitted=(1000.0,) * 4, **more):
    """Return a whole answer of Flink."""
    given = {
        "at_s": BEGAN_S + second,
        "wall_s": BEGAN_S + second,
        "job": "filter",
        "state": "RUNNING",
        "run": "1",
        "up_s": 1000.0,
        "counters": {"source": emitted},
        "held": 0.0,
        "places": AT_SERVER,
        "checkpoint_s": 5.0,
    }
    return Polled.model_validate({**given, **more})
