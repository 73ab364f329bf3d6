"""docs/job.md: what it shows is read, solved and explained."""

import re
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.model import Cluster, InvalidInputError, JobGraph, parse

PAGE = Path(__file__).parents[2] / "docs" / "job.md"


@pytest.fixture
def files(tmp_path):
    if not PAGE.exists():
        pytest.skip(f"{PAGE} is not there")
    job, cluster = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "job.yaml").write_text(job)
    (tmp_path / "cluster.yaml").write_text(cluster)
    return tmp_path


def test_the_example_is_planned(files, monkeypatch):
    monkeypatch.chdir(files)
    for command in (
        "solve job.yaml cluster.yaml -o plan.json --report report.html",
        "explain job.yaml cluster.yaml plan.json",
    ):
        assert main(command.split(), Console()) is ExitStatus.OK


OPERATOR = {"id": "o", "name": "op", "parallelism": 1}


def read(**changes):
    data = {"name": "job", "operators": [OPERATOR, {**OPERATOR, "id": "p", "name": "pp"}]}
    return parse({**data, **changes}, JobGraph, "job.yaml")


def test_costs_need_not_repeat_whose_they_are():
    found = read(
        operators=[{**OPERATOR, "cost": {"selectivity": 2}}, {**OPERATOR, "id": "p", "name": "pp"}],
        streams=[
            {
                "source": "o",
                "target": "p",
                "ship_strategy": "HASH",
                "cost": {"bytes_per_record": 10},
            }
        ],
    )
    assert found.operators[0].cost.operator == "o"
    assert (found.streams[0].cost.source, found.streams[0].cost.target) == ("o", "p")


def test_the_cost_of_another_operator_is_refused():
    with pytest.raises(InvalidInputError, match="has the cost of 'detekt'"):
        read(operators=[{**OPERATOR, "cost": {"operator": "detekt", "selectivity": 1}}])


def test_a_cluster_by_hand_has_a_task_manager_for_each_node(files):
    from edgeplace.model import read as read_file

    cluster = read_file(files / "cluster.yaml", Cluster)
    assert [t.id for t in cluster.task_managers] == [n.id for n in cluster.nodes]
