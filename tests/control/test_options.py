"""Options: from equal units, and from proved plans."""

import pytest

from edgeplace.control.options import Option, Options, equal_units, proved_plans
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Rules
from edgeplace.solver import evaluate

FAST = [
    {"node_class": "pi", "true_rate_per_s": 1000},
    {"node_class": "server", "true_rate_per_s": 4000},
]
JOB = JobGraph.model_validate(
    {
        "name": "j",
        "operators": [
            {
                "id": "src",
                "name": "src",
                "parallelism": 1,
                "born_at": ["edge"],
                "cost": {"demand": {"rates_per_s": [100]}, "classes": FAST},
            },
            {
                "id": "map",
                "name": "map",
                "parallelism": 1,
                "cost": {
                    "selectivity": 0.1,
                    "classes": [
                        {"node_class": "pi", "true_rate_per_s": 300},
                        {"node_class": "server", "true_rate_per_s": 4000},
                    ],
                },
            },
            {"id": "sink", "name": "sink", "parallelism": 1, "cost": {"classes": FAST}},
        ],
        "streams": [
            {
                "source": "src",
                "target": "map",
                "ship_strategy": "FORWARD",
                "cost": {"bytes_per_record": 100},
            },
            {
                "source": "map",
                "target": "sink",
                "ship_strategy": "FORWARD",
                "cost": {"bytes_per_record": 100},
            },
        ],
    }
)
CLUSTER = Cluster.model_validate(
    {
        "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
        "nodes": [
            {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 4},
            {"id": "server", "site": "cloud", "node_class": "server", "cores": 16, "slots": 8},
        ],
        "links": [{"source": "edge", "target": "cloud", "delay_ms": 20, "both_ways": True}],
    }
)
RULES = Rules.model_validate({"rules": [{"kind": "pin", "operators": ["sink"], "to": "cloud"}]})


def test_units_are_busy_to_the_target_at_the_peak():
    options = equal_units(4, 320.0, target=0.8)
    assert options.capacities.tolist() == [100, 200, 300, 400]
    assert options.units.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("rate, index", [(0, 0), (100, 0), (100.1, 1), (400, 3), (1e9, 3)])
def test_the_least_that_sustains_a_rate(rate, index):
    assert equal_units(4, 320.0).least(rate) == index


def test_plans_at_rising_rates_sustain_what_they_were_made_for():
    levels = (1.0, 2.0, 4.0, 6.0)
    options = proved_plans(JOB, CLUSTER, RULES, levels, time_limit_s=20)
    assert len(options) >= 2
    for option in options.members:
        judged = evaluate(JOB, CLUSTER, option.plan, RULES)
        assert option.capacity_per_s == pytest.approx(100 * judged.headroom)
        assert option.wan_bytes_per_record == pytest.approx(judged.wan_bytes_per_s / 100)
    # The Pi does the map while it can; beyond, the server does, and raw records cross.
    assert options[0].wan_bytes_per_record < options[len(options) - 1].wan_bytes_per_record


def test_no_plan_at_any_level_is_said():
    with pytest.raises(InvalidInputError, match="no plan exists at any of the rates x100"):
        proved_plans(JOB, CLUSTER, RULES, (100.0,), time_limit_s=20)


@pytest.mark.parametrize(
    "members", [(), (Option("a", 2, 1), Option("b", 1, 1)), (Option("a", 0, 1),)]
)
def test_options_stand_by_capacity(members):
    with pytest.raises(InvalidInputError):
        Options(members)


@pytest.mark.parametrize("count, peak, target", [(0, 1, 0.8), (1, 0, 0.8), (1, 1, 0), (1, 1, 1.1)])
def test_units_that_make_no_choice(count, peak, target):
    with pytest.raises(InvalidInputError, match="make no choice"):
        equal_units(count, peak, target)
