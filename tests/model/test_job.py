import json
from typing import Any

import pytest

from edgeplace.model import (
    Costs,
    InvalidInputError,
    JobGraph,
    ObjectiveLevel,
    OperatorCost,
    PartialAggregate,
    SourceDemand,
    StreamCost,
    dump,
    parse,
)
from edgeplace.model.laws.flush import FlushLaw, Gathering

SRC = {"id": "s", "name": "Source: src", "parallelism": 2}
MAP = {"id": "m", "name": "map", "parallelism": 3}
END = {"id": "e", "name": "end", "parallelism": 3}
DATA: dict[str, Any] = {
    "name": "job",
    "operators": [SRC, MAP, END],
    "streams": [
        {"source": "s", "target": "m", "ship_strategy": "REBALANCE"},
        {"source": "m", "target": "e", "ship_strategy": "FORWARD"},
    ],
}


def job(**changes: Any) -> JobGraph:
    return parse({**DATA, **changes}, JobGraph, "job.json")


def stream(a: str, b: str, how: str = "HASH", **more: Any) -> dict[str, Any]:
    return {"source": a, "target": b, "ship_strategy": how, **more}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": ""}, "name"),
        ({"operators": []}, "operators"),
        (
            {"operators": [SRC, MAP, {**END, "id": "m"}]},
            "two operators have the id 'm' ('map' and 'end'); names may repeat, ids may not",
        ),
        ({"operators": [SRC, {**MAP, "parallelism": 0}, END]}, "operators.1.parallelism"),
        ({"operators": [SRC, {**MAP, "parallelism": 32769}, END]}, "operators.1.parallelism"),
        (
            {"operators": [SRC, {**MAP, "max_parallelism": 2}, END]},
            "operator 'map' (m): parallelism 3 exceeds max_parallelism 2; lower the one or raise",
        ),
        (
            {"operators": [{**SRC, "born_at": ["a", "b", "c"]}, MAP, END]},
            "'Source: src' (s): born_at has 3 entries for 2 subtasks; give one, or one for each",
        ),
        (
            {"operators": [SRC, {**MAP, "born_at": ["a"]}, END]},
            "operator 'map' (m) has inputs, so it can have neither born_at nor a demand",
        ),
        (
            {"streams": [stream("s", "moon")]},
            "stream 's' -> 'moon': there is no operator with the id 'moon'; the job has 's', 'm'",
        ),
        ({"streams": [stream("s", "m", "TELEPORT")]}, "streams.0.ship_strategy"),
        (
            {"streams": [stream("s", "m", "FORWARD")]},
            "'Source: src' -> 'map' is FORWARD between parallelisms 2 and 3; FORWARD needs equal",
        ),
        (
            {"streams": [stream("s", "m"), stream("m", "e"), stream("e", "m")]},
            "the streams form a cycle: map -> end -> map; iterations",
        ),
        ({"streams": [stream("m", "m")]}, "the streams form a cycle: map -> map"),
        (
            {"streams": [stream("s", "m", cost={"source": "s", "target": "m", "shares": [1, 0]})]},
            "stream 'Source: src' -> 'map': 2 shares that sum to 1; expected 3 that sum to 1",
        ),
        (
            {"streams": [stream("s", "m", cost={"source": "s", "target": "m", "shares": [1] * 3})]},
            "3 shares that sum to 3",
        ),
        (
            {
                "operators": [
                    {**SRC, "cost": {"operator": "s", "demand": {"rates_per_s": [1, 2, 3]}}},
                    MAP,
                    END,
                ]
            },
            "source 'Source: src' (s): 3 rates for 2 subtasks",
        ),
        ({"checkpoint_interval_ms": 0}, "checkpoint_interval_ms"),
        ({"state_backend": "paper"}, "state_backend"),
    ],
)
def test_broken_jobs(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        job(**changes)
    assert says in e.value.what
    assert e.value.cure


def test_operators_by_id_or_unique_name() -> None:
    assert job().operator("m").name == "map"
    assert job().operator("map").id == "m"
    with pytest.raises(InvalidInputError, match="job 'job' has no operator 'moon'") as e:
        job().operator("moon")
    assert "'map'" in e.value.cure
    twins = job(operators=[SRC, MAP, {**END, "name": "map"}])
    with pytest.raises(InvalidInputError, match="2 operators of job 'job' are named 'map'") as e:
        twins.operator("map")
    assert e.value.cure == "use an id: 'm', 'e'"
    assert twins.operator("e").name == "map"


def test_an_id_goes_before_a_name() -> None:
    assert job(operators=[SRC, MAP, {**END, "name": "m"}]).operator("m").id == "m"


def test_sources() -> None:
    assert [op.id for op in job().sources()] == ["s"]
    assert [op.id for op in job(streams=[]).sources()] == ["s", "m", "e"]


def costs(*operators: OperatorCost, **more: Any) -> Costs:
    return Costs(job="job", operators=operators, **more)


def test_a_stated_partial_aggregate_stays_with_measured_costs_which_cannot_tell_it() -> None:
    law = FlushLaw(gathering=Gathering(interval_s=1), form="zipf", keys=9)
    stated = PartialAggregate(law=law, bytes_per_record=20)
    measured = StreamCost(source="s", target="m", bytes_per_record=100)
    first = measured.model_copy(update={"partial": stated, "bytes_per_record": 7})
    streams = [{**DATA["streams"][0], "ship_strategy": "HASH"}, DATA["streams"][1]]
    given = JobGraph.model_validate({**DATA, "streams": streams})
    found = given.with_costs(costs(streams=(first,))).with_costs(costs(streams=(measured,)))
    assert found.streams[0].cost == measured.model_copy(update={"partial": stated})


def test_costs_are_attached_by_id_or_name() -> None:
    measured = costs(
        OperatorCost(operator="map", selectivity=0.5),
        OperatorCost(operator="s", demand=SourceDemand(rates_per_s=(10, 30))),
        streams=(StreamCost(source="Source: src", target="m", bytes_per_record=100),),
        checkpoint_interval_ms=5000,
        state_backend="rocksdb",
    )
    with_costs = job().with_costs(measured)
    found = {op.id: op.cost for op in with_costs.operators}
    assert found["m"] == measured.operators[0]
    assert found["s"] == measured.operators[1]
    assert found["e"] is None
    assert [s.cost for s in with_costs.streams] == [measured.streams[0], None]
    assert with_costs.checkpoint_interval_ms == 5000
    assert with_costs.state_backend == "rocksdb"
    again = with_costs.with_costs(costs(OperatorCost(operator="e", selectivity=0)))
    assert again.operator("m").cost == measured.operators[0]
    assert (again.checkpoint_interval_ms, again.state_backend) == (5000, "rocksdb")


@pytest.mark.parametrize(
    ("measured", "says"),
    [
        (costs(OperatorCost(operator="moon")), "do not fit job 'job': job 'job' has no operator"),
        (costs(streams=(StreamCost(source="moon", target="m"),)), "no operator 'moon'"),
        (
            costs(streams=(StreamCost(source="s", target="e"),)),
            "a stream 's' -> 'e' that job 'job'",
        ),
        (costs(OperatorCost(operator="m"), OperatorCost(operator="map")), "an operator twice"),
        (
            costs(OperatorCost(operator="m", demand=SourceDemand(rates_per_s=(1,)))),
            "operator 'map' (m) has inputs",
        ),
        (
            costs(streams=(StreamCost(source="s", target="m", shares=(0.5, 0.5)),)),
            "2 shares that sum to 1; expected 3",
        ),
    ],
)
def test_costs_that_do_not_fit(measured: Costs, says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        job().with_costs(measured)
    assert says in e.value.what
    assert e.value.cure


def rates(of: JobGraph) -> tuple[float, ...]:
    cost = of.operator("s").cost
    assert cost is not None
    assert cost.demand is not None
    assert cost.demand.origin == "stated"
    return cost.demand.rates_per_s


def test_a_stated_rate_is_dealt_evenly_or_as_measured() -> None:
    assert rates(job().with_source_rate("Source: src", 100)) == (50, 50)
    demand = SourceDemand(rates_per_s=(10, 30), throttled=True)
    measured = job().with_costs(costs(OperatorCost(operator="s", demand=demand, selectivity=2)))
    stated = measured.with_source_rate("s", 100)
    assert rates(stated) == (25, 75)
    cost = stated.operator("s").cost
    assert cost is not None
    assert cost.selectivity == 2
    assert cost.demand is not None
    assert not cost.demand.throttled
    idle = job().with_costs(
        costs(OperatorCost(operator="s", demand=SourceDemand(rates_per_s=(0, 0))))
    )
    assert rates(idle.with_source_rate("s", 8)) == (4, 4)
    assert rates(job().with_source_rate("s", 0)) == (0, 0)


@pytest.mark.parametrize(
    ("source", "rate", "says"),
    [
        ("moon", 1, "no operator 'moon'"),
        ("map", 1, "operator 'map' has inputs"),
        ("s", -1, "the rate of 'Source: src' is -1"),
        ("s", float("nan"), "is nan records/s"),
        ("s", float("inf"), "is inf records/s"),
    ],
)
def test_rates_that_cannot_be(source: str, rate: float, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        job().with_source_rate(source, rate)


def test_node_classes_are_given_once() -> None:
    twice = [{"node_class": "pi", "true_rate_per_s": 1}] * 2
    with pytest.raises(InvalidInputError, match="operator 'm': node class 'pi' is given twice"):
        parse({"operator": "m", "classes": twice}, OperatorCost, "costs.json")


@pytest.mark.parametrize(
    ("text", "name", "tolerance"), [("wan", "wan", 0), (" latency:5% ", "latency", 0.05)]
)
def test_objective_levels(text: str, name: str, tolerance: float) -> None:
    level = ObjectiveLevel.parse(text)
    assert (level.name, level.tolerance) == (name, tolerance)


@pytest.mark.parametrize("text", ["", "wna", "wan:x", "wan:-1%", "wan:nan", "wan:inf%"])
def test_objective_levels_that_cannot_be(text: str) -> None:
    with pytest.raises(InvalidInputError, match="objective level") as e:
        ObjectiveLevel.parse(text)
    assert "wan:5%" in e.value.cure


@pytest.mark.parametrize(
    ("parallelism", "derived"),
    [
        *((1, 128), (2, 128), (85, 128), (86, 256), (100, 256), (160, 256), (171, 256)),
        *((172, 512), (1000, 2048), (20000, 32768), (32768, 32768)),
    ],
)
def test_the_key_groups_that_flink_derives(parallelism: int, derived: int) -> None:
    """KeyGroupRangeAssignment.computeDefaultMaxParallelism, by its own figures."""
    known = job(operators=[{**SRC, "parallelism": parallelism}], streams=[])
    assert known.operators[0].max_parallelism == derived
    written = json.loads(dump(known))
    assert "max_parallelism" not in written["operators"][0]
    stated = parse(
        {**written["operators"][0], "max_parallelism": 32768}, type(known.operators[0]), ""
    )
    assert stated.max_parallelism == 32768


def test_key_groups_that_are_stated_survive() -> None:
    """Whatever the default was once: 128 is not what Flink derives for 100 subtasks."""
    stated = job(operators=[{**SRC, "parallelism": 100, "max_parallelism": 128}], streams=[])
    again = parse(json.loads(dump(stated)), JobGraph, "job.json")
    assert again.operators[0].max_parallelism == 128
    assert again == stated


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("field", ["parallelism", "max_parallelism", "memory_bytes"])
def test_yes_is_no_number(field: str, yes: bool) -> None:
    with pytest.raises(InvalidInputError, match=f"{field} .*a number, not yes or no") as e:
        job(operators=[{**SRC, field: yes}], streams=[])
    assert e.value.cure == "write a number"
