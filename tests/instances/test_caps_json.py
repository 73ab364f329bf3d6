import json
from pathlib import Path

import pytest

from edgeplace.instances.caps_json import is_caps, read_caps, write_caps
from edgeplace.instances.families import generate
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


def test_what_is_read_is_written_again(tmp_path):
    job = read_caps(write_json(tmp_path / "join.json", JOIN))
    write_caps(job, tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    for old, new in zip(JOIN, again, strict=True):
        assert new.keys() == old.keys()
        for field, value in old.items():
            same = pytest.approx(value) if isinstance(value, float) else value
            assert new[field] == same, field


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


def test_a_job_with_two_consumers_cannot_be_written(tmp_path):
    job = generate("riotbench-2-2").jobs[0]
    with pytest.raises(InvalidInputError, match="feeds 3 operators"):
        write_caps(job, tmp_path / "job.json", "server")


def test_a_generated_job_is_written_with_its_own_rates(tmp_path):
    job = generate("seed-pis-2-1").jobs[0]
    write_caps(job, tmp_path / "job.json", "server")
    data = json.loads((tmp_path / "job.json").read_text())
    assert is_caps(data)
    by_name = {o["name"]: o for o in data}
    rate = sum(job.operator("source").cost.demand.rates_per_s)
    assert by_name["map"]["network"] == pytest.approx(rate * 100 / 1e6)
    busy = job.operator("map").cost.on("server").true_rate_per_s
    assert by_name["map"]["compute"] == pytest.approx(1000 * rate / busy)
