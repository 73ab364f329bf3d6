"""Presets of the objective, and the level that needs a currency."""

import pytest

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    OBJECTIVES,
    PRESETS,
    Cluster,
    InvalidInputError,
    objective_levels,
)


@pytest.mark.parametrize(
    ("preset", "first"),
    [("bytes", "wan"), ("money", "cost"), ("latency", "latency"), ("headroom", "throughput")],
)
def test_a_preset_is_a_list_that_begins_with_what_it_is_named_after(preset, first):
    levels = objective_levels(PRESETS[preset])
    assert levels[0].name == first
    assert {level.name for level in levels} <= set(OBJECTIVES)
    # The order of what is left is that of the default.
    rest = [level.name for level in levels[1:]]
    assert rest == [name for name in DEFAULT_OBJECTIVE if name in rest]


def test_there_is_a_preset_for_each_question():
    assert set(PRESETS) == {"bytes", "money", "latency", "headroom"}
    assert PRESETS["bytes"] == DEFAULT_OBJECTIVE


def test_the_cost_needs_a_currency():
    sites = [{"id": "a"}]
    with pytest.raises(InvalidInputError, match="no currency"):
        objective_levels(("wan", "cost"), Cluster(sites=sites))
    assert objective_levels(("wan", "cost"), Cluster(sites=sites, currency="EUR"))
