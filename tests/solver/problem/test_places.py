"""Patterns of places in rules."""

import pytest

from edgeplace.model import Cluster, InvalidInputError, JobGraph, Rules, parse
from edgeplace.solver import solve

CLUSTER = parse(
    {
        "sites": [{"id": f"depot-{i}"} for i in (1, 2)] + [{"id": "cloud", "tier": "cloud"}],
        "nodes": [
            {"id": f"depot-{i}-pi", "site": f"depot-{i}", "cores": 4, "slots": 2} for i in (1, 2)
        ]
        + [{"id": "server", "site": "cloud", "cores": 16, "slots": 8}],
        "links": [{"source": f"depot-{i}", "target": "cloud", "both_ways": True} for i in (1, 2)],
    },
    Cluster,
    "it",
)
RATES = [{"node_class": "default", "true_rate_per_s": 100}]
JOB = parse(
    {
        "name": "j",
        "operators": [
            {
                "id": "source",
                "name": "source",
                "parallelism": 2,
                "born_at": ["cloud"],
                "cost": {"demand": {"rates_per_s": [10, 10]}, "classes": RATES},
            },
            {"id": "map", "name": "map", "parallelism": 2, "cost": {"classes": RATES}},
        ],
        "streams": [
            {
                "source": "source",
                "target": "map",
                "ship_strategy": "REBALANCE",
                "cost": {"selectivity": 1, "bytes_per_record": 100},
            }
        ],
    },
    JobGraph,
    "it",
)


@pytest.mark.parametrize("pattern", ["depot-*", "depot-*-pi", "*-1*"])
def test_any_place_that_fits(pattern):
    rules = Rules.model_validate({"rules": [{"kind": "pin", "operators": ["map"], "to": pattern}]})
    result = solve(JOB, CLUSTER, rules)
    assert result.plan is not None
    allowed = {"depot-1-pi"} if pattern == "*-1*" else {"depot-1-pi", "depot-2-pi"}
    assert set(result.plan.of("j")["map"]) <= allowed


def test_sites_go_before_nodes():
    assert CLUSTER.places_like("*1*") == ("sites", ("depot-1",))
    assert CLUSTER.places_like("*pi") == ("nodes", ("depot-1-pi", "depot-2-pi"))


def test_a_pattern_that_fits_nothing_is_an_error():
    rules = Rules.model_validate({"rules": [{"kind": "pin", "operators": ["map"], "to": "shop-*"}]})
    with pytest.raises(InvalidInputError, match="fits no site, node or TaskManager") as caught:
        solve(JOB, CLUSTER, rules)
    assert "rule 'pin map to shop-*'" in str(caught.value)
