"""Weights of plans, and shares by producer of streams."""

import pytest

from edgeplace.model import Case, InvalidInputError, Plan, ShipStrategy, with_weights
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))
PLACES = {"source": PIS, "filter": (*PIS[:2], "server", "server"), "sink": ("server",)}
ROW = (0.7, 0.1, 0.1, 0.1)


def job(**cost):
    plain = filter_job(5000.0)
    first = plain.streams[0]
    routed = first.model_copy(
        update={
            "ship_strategy": ShipStrategy.CUSTOM,
            "cost": first.cost.model_copy(update=cost),
        }
    )
    return plain.revised(streams=(routed, plain.streams[1]))


def plan(rows):
    return Plan(jobs={"filter": PLACES}, weights={"filter": {"filter": rows}})


def test_each_producer_sends_by_the_weights_of_its_site_and_evenly_without():
    (weighted,) = with_weights([job()], filter_cluster(), plan({"pi-1": ROW}))
    rows = weighted.streams[0].cost.shares_by_producer
    assert rows[1] == ROW
    assert rows[0] == rows[2] == rows[3] == (0.25,) * 4
    assert with_weights([job()], filter_cluster(), Plan(jobs={"filter": PLACES})) == (job(),)


def test_a_case_is_as_its_plan_has_it():
    case = Case((job(),), filter_cluster()).in_parallelism_of(plan({"pi-1": ROW}))
    assert case.jobs[0].streams[0].cost.shares_by_producer[1] == ROW
    with pytest.raises(InvalidInputError, match="by weights, which are known by subtask"):
        case.with_parallelism({"filter": {"filter": 2}})


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"other": {"filter": {}}}, "weights for job 'other'"),
        ({"filter": {"sink": {}}}, "which no CUSTOM stream feeds"),
        ({"filter": {"nobody": {}}}, "has no operator 'nobody'"),
    ],
)
def test_weights_of_what_is_not_there_are_refused(weights, said):
    strange = Plan(jobs={"filter": PLACES}, weights=weights)
    with pytest.raises(InvalidInputError, match=said):
        with_weights([job()], filter_cluster(), strange)


@pytest.mark.parametrize(
    ("strategy", "rows", "said"),
    [
        (ShipStrategy.HASH, (ROW,) * 4, "only a CUSTOM stream"),
        (ShipStrategy.CUSTOM, (ROW,) * 3, "3 rows for 4 producers"),
        (ShipStrategy.CUSTOM, (ROW,) * 3 + ((0.5, 0.5),), "row 3 .* has 2 shares"),
        (ShipStrategy.CUSTOM, (ROW,) * 3 + ((0.5,) * 4,), "sum to 2"),
    ],
)
def test_shares_by_producer_that_do_not_fit_are_refused(strategy, rows, said):
    first, second = job().streams
    cost = first.cost.model_copy(update={"shares_by_producer": rows})
    wrong = first.model_copy(update={"ship_strategy": strategy, "cost": cost})
    with pytest.raises(InvalidInputError, match=said):
        job().revised(streams=(wrong, second))
