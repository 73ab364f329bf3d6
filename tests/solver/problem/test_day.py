"""Demand that varies over a day, as docs/job.md says; `tests/conformance` tries many such cases."""

import pytest

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    LimitKind,
    Period,
    Pin,
    Plan,
    Rules,
    SourceFactor,
    Status,
    TaskManager,
    parse,
)
from edgeplace.model.what_if.case import Case
from edgeplace.solver import SearchParameters, evaluate, job_uses, moves, solve, solve_case
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.infeasibility.thin_links import thin_links
from edgeplace.solver.problem import build

PEAKS_APART = (
    Period(name="day", share=16, sources=(SourceFactor(operators=("b",), factor=0.1),)),
    Period(name="night", share=8, sources=(SourceFactor(operators=("a",), factor=0.1),)),
)


def source(name):
    classes = [{"node_class": "pi", "true_rate_per_s": 1000}]
    return {
        "id": name,
        "name": name,
        "parallelism": 1,
        "born_at": ["edge"],
        "cost": {"demand": {"rates_per_s": [600]}, "classes": classes},
    }


def parsed(kind, document):
    return parse(document, kind, "the test")


@pytest.fixture
def case():
    """Two sources that share a core and a link with room for 8 kB/s to their sink."""
    sink = {"id": "sink", "name": "sink", "parallelism": 1}
    sink["cost"] = {"classes": [{"node_class": "server", "true_rate_per_s": 1e6}]}
    streams = [
        {
            "source": s,
            "target": "sink",
            "ship_strategy": "FORWARD",
            "cost": {"bytes_per_record": 10},
        }
        for s in "ab"
    ]
    job = parsed(
        JobGraph,
        {"name": "j", "operators": [source("a"), source("b"), sink], "streams": streams},
    )
    cluster = parsed(
        Cluster,
        {
            "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
            "nodes": [
                {"id": "pi", "site": "edge", "node_class": "pi", "cores": 1},
                {"id": "vm", "site": "cloud", "node_class": "server", "cores": 4},
            ],
            "task_managers": [{"id": n, "node": n, "slots": 4} for n in ("pi", "vm")],
            "links": [
                {
                    "source": "edge",
                    "target": "cloud",
                    "bandwidth_bytes_per_s": 10_000,
                    "both_ways": True,
                }
            ],
        },
    )
    pinned = {"rules": [{"kind": "pin", "operators": ["sink"], "to": "cloud"}]}
    return Case((job,), cluster, parsed(Rules, pinned))


def over_a_day(case, demand):
    return Case(case.jobs, case.cluster, case.rules.model_copy(update={"demand": demand}))


def test_peaks_that_are_apart_fit_where_both_at_once_do_not(case):
    assert solve_case(case).status is Status.INFEASIBLE, "1.2 of 1 core"
    found = solve_case(over_a_day(case, PEAKS_APART))
    assert found.status is Status.OPTIMAL
    whole = found.evaluation
    # 660 records/s of 10 bytes in both periods, and 0.66 cores.
    assert whole.wan_bytes_per_s == pytest.approx(6600)
    assert whole.utilisation == pytest.approx(6600 / 8000)
    assert whole.headroom == pytest.approx(8000 / 6600)
    assert [p.share for p in whole.periods] == pytest.approx([2 / 3, 1 / 3])
    assert [p.name for p in whole.periods] == ["day", "night"]
    assert all(p.evaluation.feasible for p in whole.periods)
    for back_end in ("cp-sat", "pulp:CBC"):
        other = solve_case(over_a_day(case, PEAKS_APART), backend=back_end)
        assert other.levels[0].value == pytest.approx(6600)


@pytest.mark.parametrize("factor", [0.0, 0.4])
def test_a_single_period_is_that_factor_of_all_rates(case, factor):
    always = over_a_day(case, (Period(name="always", share=3, factor=factor),))
    stated = case
    for name in "ab":
        stated = stated.with_rate(name, 600 * factor)
    one, other = solve_case(always), solve_case(stated)
    assert one.plan == other.plan
    assert one.evaluation.model_copy(update={"periods": ()}) == other.evaluation


def test_the_worst_period_says_which_limit_breaks(case):
    demand = (Period(name="quiet", share=22, factor=0.1), Period(name="peak", share=2, factor=0.9))
    then = over_a_day(case, demand)
    found = solve_case(then)
    assert found.status is Status.INFEASIBLE
    over = {limit.kind: limit.used for limit in found.conflict.shortfalls}
    assert over == pytest.approx({LimitKind.NODE_CPU: 1.08, LimitKind.LINK_BANDWIDTH: 10_800})
    assert found.conflict.confirmed
    calm = then.with_period_times("peak", 0.5)
    plan = solve_case(calm).plan
    assert plan is not None
    judged = evaluate(then.jobs, then.cluster, plan, then.rules)
    assert [p.evaluation.feasible for p in judged.periods] == [True, False]
    assert not judged.feasible
    assert solve_case(then.with_demand_of("quiet")).status is Status.OPTIMAL


def at_the_cloud(rate):
    """Return a source `c` on the server."""
    born = source("c")
    born["born_at"] = ["cloud"]
    born["cost"] = {
        "demand": {"rates_per_s": [rate]},
        "classes": [{"node_class": "server", "true_rate_per_s": 1e6}],
    }
    return born


@pytest.fixture
def quiet_evening(case):
    """The Pi and its link are too full in the evening; by day most records are the server's."""
    (job,) = case.jobs
    data = job.model_dump(mode="json")
    data["operators"].append(at_the_cloud(50_000))
    for op in data["operators"][:2]:
        op["cost"]["classes"][0] |= {"origin": "measured", "relative_spread": 0.25}
    demand = tuple(
        Period(name=name, share=1, sources=(SourceFactor(operators=low, factor=0),))
        for name, low in (("day", ("a", "b")), ("evening", ("c",)))
    )
    return over_a_day(Case((parsed(JobGraph, data),), case.cluster, case.rules), demand)


def test_what_breaks_outside_the_busiest_period_has_its_spread(quiet_evening):
    case = quiet_evening
    plan = Plan(jobs={"j": {"a": ("pi",), "b": ("pi",), "sink": ("vm",), "c": ("vm",)}})
    judged = evaluate(case.jobs, case.cluster, plan, case.rules)
    cpu = next(v for v in judged.violations if v.kind is LimitKind.NODE_CPU)
    assert (cpu.used, cpu.spread) == pytest.approx((1.2, 0.25))


def test_what_is_short_outside_the_busiest_period_is_seen_without_a_search(quiet_evening):
    case = quiet_evening
    problem = build(case.jobs, case.cluster, case.rules)
    (cpu,) = shortages(problem, soft=False).limits
    assert (cpu.where, cpu.used) == ("pi", pytest.approx(1.2))
    # With a second core for it, the link is what no plan spares.
    pi, vm = case.cluster.nodes
    wider = case.cluster.model_copy(update={"nodes": (pi.model_copy(update={"cores": 2}), vm)})
    (link,) = thin_links(build(case.jobs, wider, case.rules))
    assert (link.limit.where, link.limit.used) == ("edge -> cloud", pytest.approx(12_000))
    found = solve_case(case)
    assert found.status is Status.INFEASIBLE
    assert found.conflict.confirmed
    assert {c.where for c in found.conflict.changes} == {"pi", "edge -> cloud"}


def test_what_does_not_fit_is_refused(case):
    wrong = Period(name="p", share=1, sources=(SourceFactor(operators=("sink",), factor=2),))
    with pytest.raises(InvalidInputError, match="'sink', which is no source"):
        solve_case(over_a_day(case, (wrong,)))
    both = tuple(SourceFactor(operators=("a",), factor=f) for f in (1, 2))
    with pytest.raises(InvalidInputError, match="two factors of one source: of 'a' and of 'a'"):
        solve_case(over_a_day(case, (Period(name="p", share=1, sources=both),)))
    with pytest.raises(InvalidInputError, match="the parallelism is chosen for one rate only"):
        then = over_a_day(case, PEAKS_APART)
        solve(then.jobs, then.cluster, then.rules, parallelism="all")
    with pytest.raises(InvalidInputError, match="no period 'noon'"):
        then.with_period_times("noon", 2)
    with pytest.raises(InvalidInputError, match="two periods of the demand are named 'day'"):
        parsed(Rules, {"demand": [{"name": "day", "share": 1}, {"name": "day", "share": 2}]})


def test_cuts_of_bundles_take_a_machine_once_for_all_peaks():
    """Two jobs whose peaks are apart fit the site's two machines together, with and without cuts.

    Only one of the two machines can be full, so only it has rows, one for each peak.
    """
    jobs = [parsed(JobGraph, _line(name)) for name in "ab"]
    cluster = parsed(
        Cluster,
        {
            "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
            "nodes": [
                {"id": "e", "site": "edge", "node_class": "v", "cores": 2},
                {"id": "A", "site": "cloud", "node_class": "v", "cores": 1},
                {"id": "B", "site": "cloud", "node_class": "w", "cores": 64},
            ],
            "task_managers": [{"id": n, "node": n, "slots": 9} for n in "eAB"],
            "links": [
                {
                    "source": "edge",
                    "target": "cloud",
                    "bandwidth_bytes_per_s": 1e6,
                    "both_ways": True,
                }
            ],
        },
    )
    demand = tuple(
        Period(name=quiet, share=1, sources=(SourceFactor(operators=(f"s{quiet}",), factor=0.1),))
        for quiet in "ab"
    )
    rules = Rules(rules=(Pin(job="a", operators=("ka",), to="cloud"),), demand=demand)
    for large in (1, 10_000):
        parameters = SearchParameters(by_site=False, large_model=large)
        found = solve(jobs, cluster, rules, objective=["wan"], search=parameters)
        # No job fits the edge whole: of both cross 385 records/s in the mean, of 10 bytes each.
        assert found.status is Status.OPTIMAL
        assert found.evaluation.wan_bytes_per_s == pytest.approx(7700.0)


def _line(name):
    def operator(kind, **more):
        classes = [{"node_class": c, "true_rate_per_s": 1000} for c in "vw"]
        names = {"id": kind + name, "name": kind + name}
        return {**names, "parallelism": 1, "cost": {"classes": classes}, **more}

    born = operator("s", born_at=["edge"])
    born["cost"]["demand"] = {"rates_per_s": [700]}
    streams = [
        {
            "source": a + name,
            "target": b + name,
            "ship_strategy": "FORWARD",
            "cost": {"bytes_per_record": 10, "selectivity": 1},
        }
        for a, b in ("sm", "mk")
    ]
    return {
        "name": name,
        "operators": [born, operator("m"), operator("k")],
        "streams": streams,
    }


def test_a_job_uses_what_it_does_in_the_worst_period_of_each_resource(case):
    """Beside another job, with operators of the same names and factors of its own."""
    (one,) = case.jobs
    other = one.revised(name="k")
    demand = tuple(
        Period(
            name=name,
            share=1,
            sources=(
                SourceFactor(job="j", operators=(low,), factor=0.1),
                SourceFactor(job="k", operators=("a", "b"), factor=0.01),
            ),
        )
        for name, low in (("day", "b"), ("night", "a"))
    )
    places = {"a": ("pi",), "b": ("pi",), "sink": ("vm",)}
    plan = Plan(jobs={"j": places, "k": places})
    uses = job_uses((one, other), case.cluster, plan, demand)
    # 600 and 60 records/s, in both periods; 6 and 6.
    for name, rate in (("j", 660), ("k", 12)):
        assert uses[name].cores["pi"] == pytest.approx(rate / 1000)
        assert uses[name].bytes_per_s["edge"]["cloud"] == pytest.approx(10 * rate)
    peak = (Period(name="quiet", share=22, factor=0.1), Period(name="peak", share=2, factor=1.5))
    most = job_uses(one, case.cluster, plan, peak)["j"]
    assert most.cores["pi"] == pytest.approx(1.8)
    assert most.bytes_per_s["edge"]["cloud"] == pytest.approx(18_000)


def test_a_place_that_is_full_in_one_period_is_no_option_with_one_that_never_is(case):
    """`b` has its peak when all jobs together have not: it fits beside `a` by day only."""
    at_cloud = at_the_cloud(600)
    job = parsed(
        JobGraph, {"name": "j", "operators": [source("a"), source("b"), at_cloud], "streams": []}
    )
    pi, vm = case.cluster.nodes
    pis = [pi.model_copy(update={"id": name}) for name in ("free", "pi", "own")]
    update = {
        "nodes": (*pis, vm),
        "task_managers": tuple(TaskManager(id=n.id, node=n.id, slots=4) for n in (*pis, vm)),
    }
    cluster = case.cluster.model_copy(update=update)
    low = {
        name: (SourceFactor(operators=(op,), factor=factor),)
        for name, op, factor in (("day", "b", 0.1), ("night", "c", 0))
    }
    rules = Rules(demand=tuple(Period(name=n, share=1, sources=of) for n, of in low.items()))
    plan = Plan(jobs={"j": {"a": ("pi",), "b": ("own",), "c": ("vm",)}})
    options = moves(job, cluster, plan, "b", rules).options
    broken = {o.tried: [v.where for v in o.breaks] for o in options if o.node_class == "pi"}
    assert broken == {"free": [], "pi": ["pi"]}
