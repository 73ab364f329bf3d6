import json
from pathlib import Path

import pytest

from edgeplace.instances.caps_json import read_caps
from edgeplace.model import Cluster, InvalidInputError, Node, ShipStrategy, Site, TaskManager
from edgeplace.solver import solve

JOIN = [
    {
        "id": "a",
        "name": "sink",
        "parallelism": 1,
        "state": 0.0,
        "compute": 30.0,
        "network": 0.0,
        "outboundtype": "",
        "downNode": [],
        "upNode": ["b"],
    },
    {
        "id": "b",
        "name": "window",
        "parallelism": 8,
        "state": 22_000.0,
        "compute": 1800.0,
        "network": 0.25,
        "outboundtype": "FORWARD",
        "downNode": ["a"],
        "upNode": ["c", "d"],
    },
    {
        "id": "c",
        "name": "persons",
        "parallelism": 1,
        "state": 0.0,
        "compute": 140.0,
        "network": 4.0,
        "outboundtype": "HASH",
        "downNode": ["b"],
        "upNode": [],
    },
    {
        "id": "d",
        "name": "auctions",
        "parallelism": 4,
        "state": 0.0,
        "compute": 700.0,
        "network": 20.0,
        "outboundtype": "REBALANCE",
        "downNode": ["b"],
        "upNode": [],
    },
]


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


def changed(key: str, **fields: object) -> list[dict[str, object]]:
    return [{**o, **fields} if o["id"] == key else o for o in JOIN]


def test_costs_are_those_of_the_file(tmp_path):
    job = read_caps(write_json(tmp_path / "join.json", JOIN), "server")
    window, auctions = job.operator("b"), job.operator("d")
    assert window.cost.checkpointed_bytes == 22_000.0
    # Five source subtasks send one record a second each.
    assert window.cost.on("server").true_rate_per_s == pytest.approx(5 * 1000 / 1800)
    assert auctions.cost.demand.rates_per_s == (1.0,) * 4
    (sent,) = [s for s in job.streams if s.source == "d"]
    assert 4 * sent.cost.bytes_per_record == pytest.approx(20e6)


def test_loads_reach_the_solver_as_caps_states_them(tmp_path):
    job = read_caps(write_json(tmp_path / "join.json", JOIN))
    assert job.operator("b").parallelism == 8
    assert [s.ship_strategy for s in job.streams if s.source == "b"] == [ShipStrategy.RESCALE]
    cluster = Cluster(
        sites=(Site(id="here", tier="cloud"),),
        nodes=tuple(Node(id=f"w{i}", site="here", cores=4) for i in range(4)),
        task_managers=tuple(TaskManager(id=f"w{i}", node=f"w{i}", slots=8) for i in range(4)),
    )
    found = solve(job, cluster, objective=("wan",)).evaluation
    # 30 + 1800 + 140 + 700 ms of CPU a second.
    assert found.server_cores == pytest.approx(2.67)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"a": 1}, "no job of CAPS"),
        ([], "no job of CAPS"),
        (changed("b", compute="much"), "operator 'b': compute is 'much'"),
        (changed("b", network=-1), "operator 'b': network is -1"),
        (changed("b", upNode=["z"]), "names a neighbour 'z'"),
        (changed("c", upNode=["a"]), "form a cycle"),
        (changed("c", outboundtype="PIGEON"), "PIGEON"),
        ([{k: v for k, v in o.items() if k != "state"} for o in JOIN], "state missing"),
    ],
)
def test_a_bad_file_is_refused_by_name(data, said, tmp_path):
    with pytest.raises(InvalidInputError, match=said) as e:
        read_caps(write_json(tmp_path / "bad.json", data))
    assert "bad.json" in str(e.value)
