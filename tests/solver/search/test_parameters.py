"""Stages of the search that are switched off, and parameters that are tuned."""

import dataclasses
from unittest.mock import MagicMock, patch

import pytest

from edgeplace import SearchParameters, solve
from edgeplace.model import InvalidInputError, Status, StoppedBy
from tests.support.groups import heavy_job, two_sites
from tests.support.stars import star

STAGES = "edgeplace.solver.search.stages"
SWITCHES = [f.name for f in dataclasses.fields(SearchParameters) if isinstance(f.default, bool)]


@pytest.mark.parametrize("off", SWITCHES)
def test_the_proof_comes_without_any_one_stage(off):
    job, cluster, rules = star(4, 1)
    best = solve(job, cluster, rules, objective=("wan", "server_cores"))
    parameters = SearchParameters(**{off: False})
    result = solve(job, cluster, rules, objective=("wan", "server_cores"), search=parameters)
    assert result.status is best.status is Status.OPTIMAL
    for level, known in zip(result.levels, best.levels, strict=True):
        assert level.value == pytest.approx(known.value)


@pytest.mark.parametrize(
    ("switch", "call"),
    [
        ("by_site", f"{STAGES}.by_site.decide"),
        ("baselines", f"{STAGES}.baselines.BASELINES"),
        ("aggregated", f"{STAGES}.aggregated.MachinesAlike.fitting"),
        ("growing_sites", f"{STAGES}.growing_sites.SitesNear.fitting"),
        ("near_relaxation", "edgeplace.solver.search.first_level.near_relaxation"),
        ("tie_break", f"{STAGES}.ties.break_ties"),
    ],
)
def test_a_stage_runs_unless_it_is_switched_off(switch, call):
    usual = SearchParameters(by_site=switch == "by_site", large_model=0)
    off = dataclasses.replace(usual, **{switch: False})
    job, cluster = heavy_job(0.6, 3), two_sites()

    class RunError(Exception):
        pass

    runs = MagicMock(side_effect=RunError)
    runs.values.side_effect = RunError  # BASELINES is no function
    with patch(call, runs):
        with pytest.raises(RunError):
            solve(job, cluster, search=usual)
        assert solve(job, cluster, search=off).status is Status.OPTIMAL


def test_neighbourhoods_are_not_looked_at_where_they_are_switched_off():
    job, cluster, rules = star(6, seed=2)
    parameters = SearchParameters(by_site=False, neighbourhoods=False)
    with patch(f"{STAGES}.neighbourhoods.look_among", side_effect=AssertionError):
        result = solve(job, cluster, rules, time_limit_s=0.0, search=parameters)
    assert result.stopped_by is StoppedBy.TIME_LIMIT


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        ({"proving_share": 1.5}, "a share, from 0 to 1"),
        ({"proving_share": float("nan")}, "a share, from 0 to 1"),
        ({"near_gap": -1.0}, "0 or more"),
        ({"packing_steps": 0}, "1 or more"),
        ({"packing_steps": 2.5}, "a whole number"),
        ({"by_site": 0}, "True or False"),
        ({"wider": "much"}, "a number"),
        ({"few_sites": True}, "a whole number"),
    ],
)
def test_a_parameter_out_of_range_is_refused(wrong, cure):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))) as refused:
        SearchParameters(**wrong)
    assert cure in refused.value.cure


def test_a_whole_number_is_a_number():
    assert SearchParameters(first_plan_s=3).first_plan_s == 3


@pytest.mark.parametrize("level", ["latency", "server_cores"])
def test_where_no_time_is_left_for_the_first_level_the_least_wan_gives_a_plan(level):
    """40 depots and `cost`: half of a minute was left, and no plan was found."""
    job, cluster, rules = star(6, seed=2)
    hasty = SearchParameters(building_share=0.0, baselines=False, neighbourhoods=False)
    with patch(f"{STAGES}.baselines.run_local_search"):
        result = solve(job, cluster, rules, objective=(level,), time_limit_s=60, search=hasty)
    assert result.stopped_by is StoppedBy.TIME_LIMIT
    least = solve(job, cluster, rules, objective=("wan",))
    assert result.evaluation.wan_bytes_per_s == pytest.approx(least.evaluation.wan_bytes_per_s)
