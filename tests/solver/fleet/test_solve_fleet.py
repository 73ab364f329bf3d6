"""Fleets against the same written out: `solve`, the evaluator, and every pattern by itself."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from edgeplace.model import Colocate, InvalidInputError, Pin, Rules, Status, StreamCost
from edgeplace.solver import solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.fleet import Fleet, Replicas, Threads, rounding, solve_fleet
from edgeplace.solver.fleet.layout import Layout
from edgeplace.solver.fleet.parts import Parts
from edgeplace.solver.fleet.tiled import tiled
from edgeplace.solver.problem import build
from tests.support.fleets import fleet, one_shop, written_out


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_the_answer_is_that_of_solve_for_the_same_written_out(seed):
    small = fleet(seed, tightness=[0.3, 0.6, 1.0][seed % 3], mtu=[1500, None][seed % 2])

    found = solve_fleet(small)
    known = solve(*written_out(small), objective=("wan",))

    assert found.status == known.status
    if known.evaluation:
        assert found.wan == pytest.approx(known.evaluation.wan_cost, rel=1e-6)
        assert found.bound <= known.evaluation.wan_cost * (1 + 1e-9)


def combining(small):
    """Return a fleet whose operators behind the sources are combiners, and whose shops are alike.

    Their timers flush almost what comes, whole batches a hundredth.
    """
    law = {
        "gathering": {"interval_s": 0.01, "records": 1000},
        "form": "hot and cold",
        "keys": 10,
    }
    jobs = []
    for job in small.jobs:
        first = job.streams[0].target
        streams = []
        for s in job.streams:
            if s.source == first:
                seen = [{"rate_per_s": 200, "selectivity": 0.9, "bytes_per_record": 400}]
                made = {"source": s.source, "target": s.target, "by_rate": seen, "flush_law": law}
                s = s.model_copy(update={"cost": StreamCost.model_validate(made)})
            streams.append(s)
        jobs.append(job.model_copy(update={"streams": tuple(streams)}))
    replicas = {site: replace(r, rates={}) for site, r in small.replicas.items()}
    return replace(small, jobs=jobs, replicas=replicas)


@pytest.mark.parametrize("seed", [4, 6, 10, 11])
def test_full_links_delay_the_timers_of_combiners(seed):
    mtu = [None, 1500][seed % 2]
    small = combining(fleet(seed, tightness=50.0, latency=False, mtu=mtu))
    thin = {
        site: replace(r, bandwidth_bytes_per_s=r.bandwidth_bytes_per_s / 8)
        for site, r in small.replicas.items()
    }
    small = replace(small, replicas=thin)

    found = solve_fleet(small)
    known = solve(*written_out(small), objective=("wan",))

    assert found.status is known.status is Status.OPTIMAL
    assert found.wan == pytest.approx(known.evaluation.wan_cost, rel=1e-6)
    assert any("is full" in note for note in known.evaluation.notes)
    assert found.bound <= known.evaluation.wan_cost * (1 + 1e-9)


def test_where_records_are_few_so_are_watermarks():
    """At one replica a job's source has fewer records than its interval has ticks, at one more."""
    small = fleet(0, counts=(2, 1), tightness=50.0, latency=False)
    jobs = [
        j.model_copy(update={"watermark_interval_ms": 10.0, "buffer_timeout_ms": 1.0})
        for j in small.jobs
    ]
    factors = {"job-0-0": np.array([0.01, 1.5]), "job-0-1": np.array([1.5, 0.01])}
    replicas = {**small.replicas, "kind-0": replace(small.replicas["kind-0"], rates=factors)}
    late = replace(small, jobs=jobs, replicas=replicas)

    found, known = solve_fleet(late), solve(*written_out(late), objective=("wan",))

    assert found.wan == pytest.approx(known.evaluation.wan_cost, rel=1e-9)


@pytest.mark.slow
def test_the_seeds_above_are_of_all_kinds():
    found = [
        solve_fleet(fleet(s, tightness=[0.3, 0.6, 1.0][s % 3], mtu=[1500, None][s % 2]))
        for s in range(24)
    ]

    assert {f.status for f in found} == {Status.OPTIMAL, Status.INFEASIBLE}
    assert sum(bool(f.prices) for f in found) >= 3
    assert any("together exceed" in (f.conflict or "") for f in found)
    assert any("no placement that keeps" in (f.conflict or "") for f in found)


@pytest.mark.parametrize("seed", range(6))
def test_the_problem_of_the_whole_is_that_of_the_same_written_out(seed):
    small = fleet(seed)
    layout = Layout.of(small)
    parts = Parts.of(layout)
    whole = tiled(layout, parts.loads)
    same = build(*written_out(small))
    rng = np.random.default_rng(seed)
    chosen = [rng.integers(0, p.fits.shape[1], len(p.fits)) for p in parts.parts]
    places = parts.places(chosen)

    a = measure_usage(whole.problem, whole.assignment(places))
    b = measure_usage(same, _assigned(small, layout, places, same))

    assert not b.rules
    assert a.value("wan") == pytest.approx(b.value("wan"))
    assert a.latency_ms == pytest.approx(b.latency_ms)
    assert a.utilisation == pytest.approx(b.utilisation)
    assert a.server_cores == pytest.approx(b.server_cores)
    assert sorted(a.slots) == sorted(b.slots)
    assert np.sort(a.taken, axis=0) == pytest.approx(np.sort(b.taken, axis=0))
    assert np.sort(a.link_bytes) == pytest.approx(np.sort(b.link_bytes))
    for mine, theirs in zip(a.rated, b.rated, strict=True):
        assert np.sort(mine.share) == pytest.approx(np.sort(theirs.share))
    assert (a.fixed_hold, a.rated_hold) == (b.fixed_hold, b.rated_hold)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 8])
def test_a_pattern_fits_a_replica_if_the_evaluator_says_so(seed):
    small = fleet(seed, counts=(2,), tightness=50.0)
    layout = Layout.of(small)
    parts = Parts.of(layout)
    (fits,), (patterns,) = parts.fits, parts.patterns
    whole = tiled(layout, parts.loads)
    other = int(fits[1].argmax())
    said = []
    for pattern in range(fits.shape[1]):
        verdict = measure_usage(
            whole.problem, whole.assignment([patterns.places[[pattern, other]]])
        )
        said.append(verdict.fixed_hold and verdict.rated_hold)

    assert fits[0].tolist() == said


def test_many_replicas_are_placed_within_the_gap_and_prices_say_what_binds():
    many = fleet(7, counts=(1500, 700), tightness=0.45, latency=False)

    found = solve_fleet(many)

    assert found.status == Status.OPTIMAL
    assert found.gap <= 1e-6
    assert found.prices
    assert min(found.prices.values()) > 0
    assert found.verdict.fixed_hold
    assert found.verdict.rated_hold
    assert found.verdict.value("wan") == found.wan
    assert found.runtime_s["all"] >= found.runtime_s["prices"]


def test_more_of_what_binds_saves_about_its_price():
    many = fleet(7, counts=(1500, 700), tightness=0.45, latency=False)
    before = solve_fleet(many)
    (name, price), *_ = [(n, p) for n, p in before.prices.items() if n.startswith("slots")]
    extra = 20
    tms = tuple(
        t.model_copy(update={"slots": t.slots + extra}) if f"slots {t.id}" == name else t
        for t in many.cluster.task_managers
    )

    after = solve_fleet(
        replace(many, cluster=many.cluster.model_copy(update={"task_managers": tms}))
    )

    saved = before.wan - after.wan
    assert 0 < saved <= extra * price * 1.01 + 1e-6 * before.wan
    assert saved == pytest.approx(extra * price, rel=0.25)


@pytest.mark.parametrize("seed", [4, 5, 10, 14])
def test_what_has_no_choice_is_no_contradiction(seed):
    """The dearest plan is the only one: its cost, summed in another order, bounds it."""
    many = fleet(seed, counts=(800, 300), tightness=50.0, latency=False)
    every = {j.name: tuple(op.id for op in j.operators[1:]) for j in many.jobs}
    pins = tuple(Pin(operators=ids, to="cloud", job=job) for job, ids in every.items())
    wide = {
        site: replace(replicas, bandwidth_bytes_per_s=np.full(replicas.count, 1e9))
        for site, replicas in many.replicas.items()
    }

    found = solve_fleet(replace(many, replicas=wide, rules=Rules(rules=pins)))

    assert found.status == Status.OPTIMAL


@pytest.mark.parametrize("n", [3, 7, 10])
def test_what_is_full_but_for_rounding_is_not_too_full(n):
    """Seven tenths of a core are a bit more or less than 0.7, depending on how they are added."""
    found = solve_fleet(one_shop(n, cores=n * 0.1 / 0.8 * (1 - 1e-13)))

    assert found.status == Status.OPTIMAL


@pytest.mark.parametrize("seed", [0, 1, 2, 8, 9, 15, 16, 30, 37, 38])
def test_a_choice_that_is_too_much_by_less_than_highs_sees_is_not_taken(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    rates, price = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    some = rng.random(n) < 0.5
    cores = (rates[some].sum() * 0.1 + 1e-3 * (not some.any())) * (1 - 1e-8)

    found = solve_fleet(
        one_shop(n, cores / 0.8, free=True, rates={"job": rates}, price_per_byte=price)
    )

    there = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    fits = there @ rates * 0.1 <= cores * (1 + 1e-9)
    wan = (np.where(there, 1.0, 2.0) * rates * price * 1e4).sum(axis=1)
    assert found.wan == pytest.approx(wan[fits].min(), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(30_000, 0.25), (3_000, 0.5)])
def test_replicas_that_are_all_in_two_minds_are_divided(n, share, monkeypatch):
    """At the price that divides them, all are as well off at the server as at the Pi."""
    # More than are rounded at once, and closed together, at either scale.
    scale = 30_000 // n
    monkeypatch.setattr(rounding, "_POOLS", tuple(size // scale for size in rounding._POOLS))
    monkeypatch.setattr(rounding, "_CLOSING", rounding._CLOSING // scale)
    rates = {"job": np.random.default_rng(1).uniform(0.5, 1.5, n)}
    found = solve_fleet(one_shop(n, n * 0.1 / 0.8 * share, free=True, rates=rates))

    assert found.status == Status.OPTIMAL
    assert found.wan == pytest.approx(1e4 * (2 * rates["job"].sum() - n * share), rel=1e-6)


def test_threads_and_seeds_do_not_change_the_answer():
    many = fleet(7, counts=(1500, 700), tightness=0.45, latency=False)

    one, two, other = solve_fleet(many), solve_fleet(many, workers=2), solve_fleet(many, seed=7)

    assert all((one.places[s] == two.places[s]).all() for s in one.places)
    assert other.wan == pytest.approx(one.wan, rel=1e-6)


@pytest.mark.parametrize("workers", [1, 2])
def test_each_worker_has_one_blas_thread(workers):
    def blas_threads(_):
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        spread = Threads(workers).spread((None, None))
        assert spread.map(blas_threads) == [{1}, {1}]
        assert blas_threads(None) == {2}


def test_an_executor_is_asked_in_place_of_threads_and_let_go():
    asked = []

    class Counting(Threads):
        def spread(self, parts):
            here = super().spread(parts)
            map_, close = here.map, here.close
            here.map = lambda function: asked.append("map") or map_(function)
            here.close = lambda: asked.append("close") or close()
            return here

    small = fleet(0)

    assert solve_fleet(small, executor=Counting()).wan == solve_fleet(small).wan
    assert asked.count("close") == 1
    assert asked[-1] == "close"
    assert "map" in asked


def test_without_time_the_bound_is_still_a_bound():
    many = fleet(7, counts=(1500, 700), tightness=0.45, latency=False)

    hurried, whole = solve_fleet(many, time_limit_s=0), solve_fleet(many)

    assert hurried.bound <= whole.wan
    assert hurried.status in (Status.UNKNOWN, Status.FEASIBLE, Status.OPTIMAL)
    assert whole.bound <= whole.wan


def test_the_plan_of_a_replica_is_in_the_clusters_names():
    small = fleet(0)
    found = solve_fleet(small)
    plan = found.plan("kind-1", 1)
    jobs = {j.name: j for j in small.jobs}

    assert set(plan.jobs) == {"job-1-0", "job-1-1"}
    for name, operators in plan.jobs.items():
        assert set(operators) == {op.id for op in jobs[name].operators}
        assert operators["sink"] == ("server",)
        assert operators["source"] == jobs[name].operators[0].born_at


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rates": {"job-0-0": np.ones(2)}}, "shape"),
        ({"rates": {"job-0-0": np.array([1.0, 0.0, 1.0])}}, "at replica 1"),
        ({"rates": {"job-1-0": np.ones(3)}}, "job 'job-1-0', which is not there"),
        ({"cores": {"server": np.ones(3)}}, "node 'server', which is not there"),
        ({"delay_ms": np.array([1.0, np.nan, 2.0])}, "delay_ms is nan at replica 1"),
        ({"slots": {"kind-0-pi-0": np.array([1, -1, 2])}}, "-1 at replica 1"),
        ({"slots": {"kind-0-pi-0": np.array([1.0, 2.5, 2.0])}}, "array of float64.*\n.*whole"),
        ({"rates": {"job-0-0": [1.0, 2.0, 3.0]}}, "rates.'job-0-0'. is list"),
        ({"rates": np.ones(3)}, "rates of replicas are a ndarray.*\n.*job -> array"),
        ({"delay_ms": 5.0}, "delay_ms is float"),
        ({"price_per_byte": np.array(["a", "b", "c"])}, "price_per_byte is an array of <U1"),
    ],
)
def test_wrong_columns_are_named(change, says):
    small = fleet(0)
    with pytest.raises(InvalidInputError, match=says):
        solve_fleet(replace(small, replicas={**small.replicas, "kind-0": Replicas(3, **change)}))


def test_what_is_no_fleet_is_refused():
    small = fleet(0)
    together = Colocate(operators=("source", "sink"), job="job-0-0")
    edge_only = Pin(operators=("sink",), to="kind-1", job="job-0-0")
    for other, says in (
        (replace(small, replicas={"nowhere": Replicas(2)}), "does not have it"),
        (replace(small, replicas={"kind-0": Replicas(2)}), "sources of job 'job-1-0'"),
        (replace(small, replicas={**small.replicas, "exchange": Replicas(2)}), "joined to"),
        (replace(small, rules=Rules(rules=(together,))), "several subtasks at once"),
        (replace(small, rules=Rules(rules=(edge_only,))), "may run neither at its own site"),
        (
            replace(
                small, cluster=small.cluster.model_copy(update={"checkpoint_storage": "kind-0"})
            ),
            "checkpoints are stored at site 'kind-0'",
        ),
    ):
        with pytest.raises(InvalidInputError, match=says):
            solve_fleet(other)
    for count in (0, 2.5, float("nan"), "3", None):
        with pytest.raises(InvalidInputError, match="times"):
            Replicas(count)
    for replicas in ({}, {"kind-0": 3}, [Replicas(3)]):
        with pytest.raises(InvalidInputError, match="the replicas of a fleet are"):
            replace(small, replicas=replicas)
    for wrong in ({"workers": 0}, {"seed": -1}):
        with pytest.raises(InvalidInputError, match="workers, and the seed"):
            solve_fleet(small, **wrong)
    with pytest.raises(InvalidInputError, match="must not be negative"):
        solve_fleet(small, gap=-1.0)


def test_a_bound_that_fleets_do_not_keep_is_refused(monkeypatch):
    def bounded(*args):
        return replace(build(*args), rules=Rules(max_moves=1))

    monkeypatch.setattr("edgeplace.solver.fleet.layout.build", bounded)
    with pytest.raises(InvalidInputError, match="the rules state max_moves"):
        Layout.of(fleet(0))


def test_a_link_that_others_fill_at_one_replica_is_refused():
    shop = one_shop(3, 1.0, bandwidth_bytes_per_s=np.array([1e9, 5e5, 1e9]))
    (link,) = shop.cluster.links
    busy = (link.model_copy(update={"background_bytes_per_s": 1e6}),)

    with pytest.raises(InvalidInputError, match=r"shop -> cloud.* of the 500000 at replica 1"):
        solve_fleet(replace(shop, cluster=shop.cluster.model_copy(update={"links": busy})))


def test_one_job_needs_no_list():
    shop = one_shop(3, 1.0)

    assert solve_fleet(replace(shop, jobs=shop.jobs[0])).wan == solve_fleet(shop).wan


def test_a_plan_of_what_is_not_there_is_refused():
    found = solve_fleet(one_shop(3, 1.0))
    none = solve_fleet(one_shop(3, 0.1))

    for result, site, replica in ((found, "shop", 3), (found, "shop", -1), (found, "cloud", 0)):
        with pytest.raises(InvalidInputError, match="3 replicas of 'shop', counted from 0"):
            result.plan(site, replica)
    with pytest.raises(InvalidInputError, match="see status and conflict"):
        none.plan("shop", 0)
    assert np.isnan(none.gap)


def test_a_site_with_too_many_patterns_is_refused():
    small = fleet(2, jobs=14)

    with pytest.raises(InvalidInputError, match="ways to place"):
        solve_fleet(small)


def test_a_job_may_have_any_number_of_subtasks_that_have_no_choice():
    few, many = (solve_fleet(one_shop(3, 0.25, free=True, passed=n)) for n in (1, 80))

    assert many.wan == few.wan
    assert len(many.subtasks["shop"]) == 83


@pytest.mark.parametrize("limit", [None, 1000.0])
@pytest.mark.parametrize(("backend", "what"), [("heap", "memory"), ("rocksdb", "disk")])
def test_a_replica_that_cannot_keep_its_state_is_told_so(limit, backend, what):
    shop = one_shop(3, 1.0, free=True)
    (server, pi) = shop.cluster.task_managers
    small = (server, pi.model_copy(update={"memory_bytes": 999.0, "disk_bytes": 999.0}))
    rules = Rules(rules=(Pin(operators=("map",), to="shop", job="job"),), max_latency_ms=limit)
    tight = replace(
        shop,
        jobs=[j.model_copy(update={"state_backend": backend}) for j in shop.jobs],
        cluster=shop.cluster.model_copy(update={"task_managers": small}),
        rules=rules,
    )

    found = solve_fleet(tight)

    assert found.status == Status.INFEASIBLE
    assert f"has no placement that keeps {what}, whatever" in found.conflict


def _assigned(small: Fleet, layout, places, same):
    """Return places of each kind as an assignment of the problem written out."""
    p = layout.template
    names = [t.id for t in p.cluster.task_managers]
    index = {t.id: i for i, t in enumerate(same.cluster.task_managers)}
    copied = {names[t]: k.name for k in layout.kinds for t in k.task_managers.tolist()}
    at = {}
    for kind, own in zip(layout.kinds, places, strict=True):
        for i in range(kind.count):
            for k, where in zip(kind.subtasks.tolist(), own[i].tolist(), strict=True):
                job, op = p.subtasks.operators[p.subtasks.operator_of[k]]
                name = names[kind.places[where]]
                at[f"{job}.{i}", op.id] = index[f"{name}.{i}" if name in copied else name]
    return np.array([at[job, op.id] for job, op in same.subtasks.operators], np.intp)
