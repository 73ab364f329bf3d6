"""Every level is true, not only the first: small cases, each by both back ends."""

import itertools
import signal

import numpy as np
import pytest

from edgeplace.model import (
    Cluster,
    JobGraph,
    Link,
    Node,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Status,
    StoppedBy,
    TaskManager,
    objective_levels,
)
from edgeplace.solver import evaluate, solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from tests.support.seeds import cost, operator, stream

BOTH = pytest.mark.parametrize("backend", ["milp", "cp-sat"])
DEMAND = SourceDemand(rates_per_s=(100.0,))


def cluster(sites, nodes, links, **more):
    """Sites as {id: tier}, nodes as {id: (site, class, cores, slots)}."""
    return Cluster(
        sites=tuple(Site(id=s, tier=tier) for s, tier in sites.items()),
        nodes=tuple(
            Node(id=n, site=site, node_class=kind, cores=cores)
            for n, (site, kind, cores, _) in nodes.items()
        ),
        task_managers=tuple(
            TaskManager(id=n, node=n, slots=slots) for n, (*_, slots) in nodes.items()
        ),
        links=tuple(links),
        **more,
    )


def both_ways(a, b, **more):
    return Link(source=a, target=b, delay_ms=20, both_ways=True, **more)


def lexicographic(job, own, rules, objective):
    """The least value of each level, each subject to those before, of all plans there are."""
    problem = build(job, own, rules)
    levels = objective_levels(objective)
    soft = levels[0].name == "throughput"
    places = [np.flatnonzero(row) for row in problem.allowed()]
    plans = [measure_usage(problem, np.array(plan)) for plan in itertools.product(*places)]
    held = [v for v in plans if v.fixed_hold and (soft or v.rated_hold)]
    best = []
    for level in levels:
        best.append(min(v.value(level.name) for v in held))
        cap = best[-1] * (1 + level.tolerance) * (1 + 1e-9)
        held = [v for v in held if v.value(level.name) <= cap]
    return best


def check(job, own, rules, objective, backend, current=None):
    """Solve; every level is proved, and is what all plans say."""
    result = solve(job, own, rules, objective, current, backend=backend)
    assert result.status is Status.OPTIMAL
    assert result.stopped_by is StoppedBy.PROOF
    best = lexicographic(job, own, rules, objective)
    for level, least in zip(result.levels, best, strict=True):
        assert level.bound <= level.value
        assert level.bound <= least * (1 + 1e-9)
        assert least * (1 - 1e-9) <= level.value <= least * (1 + level.tolerance) * (1 + 1e-6)
    return result


def with_side_output(selectivity):
    """A source that may run anywhere, an operator and a side output."""
    return JobGraph(
        name="side",
        operators=(
            operator("src", 1, cost("src", 1000.0, 120.0, demand=DEMAND), born_at=("anywhere",)),
            operator("map", 1, cost("map", 1000.0, 120.0)),
            operator("late", 1, cost("late", 1000.0, 120.0)),
        ),
        streams=(
            stream("src", "map", ShipStrategy.FORWARD, 100, selectivity=1.0),
            stream("src", "late", ShipStrategy.FORWARD, 100, selectivity=selectivity),
        ),
    )


STAR = cluster(
    {"cloud": "cloud", "edge": "edge", "edge2": "edge"},
    {
        "server": ("cloud", "server", 16, 16),
        "pi": ("edge", "pi", 4, 4),
        "pi2": ("edge2", "pi", 4, 4),
    },
    [both_ways("edge", "cloud"), both_ways("edge2", "cloud")],
)


@BOTH
@pytest.mark.parametrize("selectivity", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("better_known", [False, True])
def test_what_hangs_on_nothing_may_be_in_any_branch(selectivity, better_known, backend):
    """`wan` is 0 at the server and at each Pi; only the later levels tell."""
    job = with_side_output(selectivity)
    at_pi = Plan(jobs={"side": {"src": ("pi",), "map": ("pi",), "late": ("pi",)}})
    current = at_pi if better_known else None
    result = check(job, STAR, Rules(), ("wan", "latency", "server_cores"), backend, current=current)
    assert result.levels[2].value == 0


def two_places():
    """A map at the server is faster, at the Pi it sends less."""
    job = JobGraph(
        name="job",
        operators=(
            operator("src", 1, cost("src", 1000.0, 1e4, demand=DEMAND), born_at=("edge",)),
            operator("map", 1, cost("map", 120.0, 1e4, selectivity=0.1)),
            operator("sink", 1, cost("sink", 1000.0, 1e4)),
        ),
        streams=(
            stream("src", "map", ShipStrategy.FORWARD, 1000),
            stream("map", "sink", ShipStrategy.FORWARD, 1000),
        ),
    )
    own = cluster(
        {"cloud": "cloud", "edge": "edge"},
        {"server": ("cloud", "server", 16, 16), "pi": ("edge", "pi", 4, 4)},
        [both_ways("edge", "cloud", bandwidth_bytes_per_s=1e6)],
    )
    return job, own, Rules(rules=(Pin(operators=("sink",), to="cloud"),))


@BOTH
@pytest.mark.parametrize(
    ("first", "where"),
    [
        ("latency", "server"),
        ("latency:20%", "server"),
        ("latency:50%", "pi"),
        ("throughput", "server"),
        ("throughput:2%", "server"),
        ("throughput:1000%", "pi"),
    ],
)
def test_a_tolerance_counts_whichever_level_is_first(first, where, backend):
    job, own, rules = two_places()
    result = check(job, own, rules, (first, "wan"), backend)
    assert result.plan.jobs["job"]["map"] == (where,)


def one_machine_fits(*more):
    """The sink fits the server only, so `wan` is what it is."""
    job = JobGraph(
        name="job",
        operators=(
            operator("src", 1, cost("src", 1000.0, 1000.0, demand=DEMAND), born_at=("paris",)),
            operator("sink", 1, cost("sink", 110.0, 110.0)),
        ),
        streams=(stream("src", "sink", ShipStrategy.FORWARD, 10_000),),
    )
    own = cluster(
        {"paris": "edge", "rome": "edge", "cloud": "cloud"},
        {
            "paris": ("paris", "pi", 0.9, 4),
            "rome": ("rome", "pi", 0.9, 4),
            "server": ("cloud", "server", 8, 4),
        },
        [both_ways("paris", "cloud"), both_ways("rome", "cloud"), *more],
    )
    return job, own


@BOTH
@pytest.mark.parametrize("objective", [("wan", "latency"), ("latency", "wan"), ("moves", "wan")])
@pytest.mark.parametrize("links", [(), (both_ways("paris", "rome"),)])
def test_a_term_that_no_plan_can_change_is_proved(objective, links, backend):
    job, own = one_machine_fits(*links)
    check(job, own, Rules(), objective, backend)


@BOTH
def test_money_a_byte_is_told_from_nothing(backend):
    """4 for a gigabyte is 4e-9 a byte: a term may be small and matter all the same."""
    job, own, rules = two_places()
    links = tuple(a.model_copy(update={"price_per_byte": 4e-12}) for a in own.links)
    dear = own.model_copy(update={"links": links})
    result = check(job, dear, rules, ("wan", "latency"), backend)
    assert result.plan.jobs["job"]["map"] == ("pi",)


@BOTH
def test_a_tie_is_no_tie_below_a_millionth_of_a_byte(backend):
    """1e-8 records/s over a link are more than none; server cores come after that."""
    rare = SourceDemand(rates_per_s=(1e-8,))
    job = JobGraph(
        name="job",
        operators=(
            operator("src", 1, cost("src", 1e3, 1e3, demand=rare), born_at=("cloud",)),
            operator("map", 1, cost("map", 1e3, 1e3)),
        ),
        streams=(stream("src", "map", ShipStrategy.FORWARD, 1.0),),
    )
    result = check(job, STAR, Rules(), ("wan", "server_cores"), backend)
    assert result.plan.jobs["job"]["map"] == ("server",)


@BOTH
def test_prices_that_lie_far_apart(backend):
    job = with_side_output(0.5)
    pinned = Rules(rules=(Pin(operators=("late",), to="cloud"), Pin(operators=("src",), to="pi")))
    links = (
        both_ways("edge", "cloud", price_per_byte=123_456.0),
        both_ways("edge", "edge2", price_per_byte=1.0),
        both_ways("edge2", "cloud", price_per_byte=0.001),
    )
    own = STAR.model_copy(update={"links": links})
    check(job, own, pinned, ("server_cores", "wan", "latency"), backend)
    check(job, own, pinned, ("wan", "throughput"), backend)


class LateError(BaseException):
    """Raised by a signal handler."""


@BOTH
@pytest.mark.parametrize("error", [TimeoutError, LateError])
def test_what_a_signal_handler_raises_passes_through(error, backend):
    job, own, rules = two_places()

    def stop(*_):
        raise error

    def tell(_):
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(error):
            solve(job, own, rules, ("latency", "wan"), backend=backend, progress=tell)
    finally:
        signal.signal(signal.SIGUSR1, before)


def joining(second_rate_per_s):
    """Two sources whose channels hold records differently long meet before a third channel."""
    busy = SourceDemand(rates_per_s=(20_000.0,))
    rare = SourceDemand(rates_per_s=(second_rate_per_s,))
    return JobGraph(
        name="join",
        operators=(
            operator("fast", 1, cost("fast", 1e6, 1e6, demand=busy), born_at=("edge",)),
            operator("slow", 1, cost("slow", 1e6, 1e6, demand=rare), born_at=("edge",)),
            operator("join", 1, cost("join", 1e6, 1e6, selectivity=0.01)),
            operator("sink", 1, cost("sink", 1e6, 1e6)),
        ),
        streams=(
            stream("fast", "join", ShipStrategy.FORWARD, 100),
            stream("slow", "join", ShipStrategy.FORWARD, 100),
            stream("join", "sink", ShipStrategy.FORWARD, 100),
        ),
    )


def test_a_path_that_is_added_makes_the_worst_path_no_shorter():
    places = {name: ("pi",) for name in ("fast", "slow", "join", "sink")}
    plan = Plan(jobs={"join": places})
    alone, both = (evaluate(joining(rate), STAR, plan).latency_ms for rate in (0.0, 1e-9))
    assert both >= alone > 0


@BOTH
def test_where_paths_meet_the_model_says_what_the_evaluator_says(backend):
    rules = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
    check(joining(1.0), STAR, rules, ("latency", "wan"), backend)


def test_equal_routes_do_not_depend_on_the_order_in_the_file():
    links = [both_ways("a", x, price_per_byte=price) for x, price in (("m", 1.0), ("n", 9.0))]
    links += [both_ways(x, "z", price_per_byte=1.0) for x in ("m", "n")]
    sites = dict.fromkeys(("a", "m", "n", "z"), "edge")
    nodes = {"a": ("a", "pi", 4, 4), "z": ("z", "pi", 4, 4)}
    job = JobGraph(
        name="job",
        operators=(
            operator("src", 1, cost("src", 1e3, 1e3, demand=DEMAND), born_at=("a",)),
            operator("sink", 1, cost("sink", 1e3, 1e3)),
        ),
        streams=(stream("src", "sink", ShipStrategy.FORWARD, 10),),
    )
    plan = Plan(jobs={"job": {"src": ("a",), "sink": ("z",)}})
    found = {
        evaluate(job, cluster(sites, nodes, order), plan).wan_cost
        for order in itertools.permutations(links)
    }
    # By way of m, which comes before n.
    assert found == {2000.0}
