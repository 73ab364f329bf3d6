"""What-if questions as library functions: a case that differs in one thing, and nothing else."""

from inspect import signature

import pytest

from edgeplace import Case, Rules, solve, solve_case
from edgeplace.model import InvalidInputError, Pin
from edgeplace.solver.solve import SolveOptions
from tests.support.seeds import filter_cluster, filter_job


@pytest.fixture
def now():
    return Case((filter_job(pi_rate_per_s=1200.0),), filter_cluster(bandwidth_bytes_per_s=1e7))


def wan(case):
    return solve_case(case).evaluation.wan_bytes_per_s


def two_jobs(case):
    other = case.jobs[0].revised(name="other")
    return Case((case.jobs[0], other), case.cluster)


def test_rates(now):
    before = wan(now)
    assert wan(now.with_rates_times(2)) == pytest.approx(2 * before)
    assert wan(now.with_rate_times("source", 0.5)) == pytest.approx(before / 2)
    total = sum(now.jobs[0].operator("source").cost.demand.rates_per_s)
    assert wan(now.with_rate("source", total).with_rates_times(2)) == pytest.approx(2 * before)
    assert wan(now) == before


def test_all_jobs_are_multiplied(now):
    both = two_jobs(now)
    rates = [
        sum(job.operator("source").cost.demand.rates_per_s) for job in both.with_rates_times(3).jobs
    ]
    assert rates == [3 * 2400, 3 * 2400]


def test_a_name_of_two_jobs_is_refused(now):
    both = two_jobs(now)
    with pytest.raises(InvalidInputError, match="several of the jobs 'filter', 'other'"):
        both.with_rate("source", 1.0)
    with pytest.raises(InvalidInputError, match="none of the jobs"):
        both.with_rate("sauce", 1.0)


def test_one_direction_of_a_link(now):
    slower = now.with_bandwidth("pi-0", "cloud", lambda was: was / 2)
    bandwidth = {(a.source, a.target): a.bandwidth_bytes_per_s for a in slower.cluster.links}
    assert bandwidth["pi-0", "cloud"] == 5e6
    assert bandwidth["pi-1", "cloud"] == 1e7


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_is_above_0(now, factor):
    for change in (
        lambda: now.with_rates_times(factor),
        lambda: now.with_rate_times("source", factor),
    ):
        with pytest.raises(InvalidInputError, match="is no factor"):
            change()


@pytest.mark.parametrize("left", [0.0, -1.0, float("nan"), float("inf")])
def test_something_of_a_link_is_left(now, left):
    with pytest.raises(InvalidInputError, match="link 'pi-0' -> 'cloud' cannot carry") as refused:
        now.with_bandwidth("pi-0", "cloud", lambda _: left)
    assert "link:A-B=lost" in refused.value.cure


def test_a_node_more(now):
    more = now.with_node("server")
    assert [n.id for n in more.cluster.nodes if n not in now.cluster.nodes] == ["cloud-more-1"]


def test_sites_are_lost_in_turn_and_the_case_says_so(now):
    lost = now.without_site("pi-3").without_site("pi-2")
    assert lost.lost == ("pi-3", "pi-2")
    assert [n for n in lost.notes if n.startswith("site")] == [
        "site 'pi-3' is lost",
        "site 'pi-2' is lost",
    ]
    assert wan(lost) == pytest.approx(wan(now) / 2)


def test_solve_case_takes_what_solve_takes():
    of_the_case = {"job_graph", "cluster", "rules", "current"}
    assert set(SolveOptions.__annotations__) == set(signature(solve).parameters) - of_the_case


def test_a_rule_that_holds_a_subtask_at_a_lost_site_is_the_conflict(now):
    held = Case(now.jobs, now.cluster, Rules(rules=(Pin(operators=("filter",), to="pi-3"),)))
    result = solve_case(held.without_site("pi-3"), backend="cp-sat")
    assert result.backend == "cp-sat"
    assert result.conflict.members == ("pin filter to pi-3", "site 'pi-3' is lost")
