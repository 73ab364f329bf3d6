"""Sites that are alike: what the loss of one means, the loss of the others means, too."""

import pytest

from edgeplace.model import Case, OwnData, Pin, Plan, Rules
from edgeplace.model.what_if.alike_sites import alike_sites
from edgeplace.solver import solve_case
from tests.support.depots import depots_cluster, forklifts, parcels


def test_depots_of_one_region_with_the_same_machines_are_alike():
    """Depots 1 and 6 hang on region-south; both have Pi 4, three and two: tests/support/depots."""
    groups = alike_sites(Case((forklifts(21),), depots_cluster(21)))
    assert sorted(s for group in groups for s in group) == sorted(
        s.id for s in depots_cluster(21).sites
    )
    of = {s: group for group in groups for s in group}
    assert of["depot-01"] == ("depot-01",) or set(of["depot-01"]) == {"depot-01"}
    assert of["depot-03"] == ("depot-03", "depot-18")
    assert of["cloud"] == ("cloud",)
    assert of["region-north"] == ("region-north",)


@pytest.mark.slow
def test_the_loss_of_either_costs_the_same():
    case = Case((parcels(21), forklifts(21)), depots_cluster(21))
    pairs = [g for g in alike_sites(case) if len(g) > 1]
    assert pairs
    for one, other, *_ in pairs:
        a, b = (solve_case(case.without_site(s)) for s in (one, other))
        assert a.status is b.status
        for x, y in zip(a.levels, b.levels, strict=True):
            assert x.value == pytest.approx(y.value)


@pytest.mark.parametrize(
    ("rule", "apart"),
    [
        (Pin(operators=("sink",), to="depot-03"), True),
        (Pin(operators=("parse",), subtasks=(0,), to="cloud"), True),
        (OwnData(operators=("parse",), open_sites=("depot-1*",)), True),
        (OwnData(operators=("parse",), open_sites=("region-*",)), False),
    ],
)
def test_rules_may_tell_sites_apart(rule, apart):
    groups = alike_sites(Case((forklifts(21),), depots_cluster(21), Rules(rules=(rule,))))
    assert (("depot-03", "depot-18") not in groups) == apart


def test_where_something_runs_no_site_is_alike_to_another():
    job, cluster = forklifts(21), depots_cluster(21)
    now = Plan(jobs={job.name: {o.id: ("vm-0",) * o.parallelism for o in job.operators}})
    groups = alike_sites(Case((job,), cluster, None, now))
    assert all(len(group) == 1 for group in groups)
