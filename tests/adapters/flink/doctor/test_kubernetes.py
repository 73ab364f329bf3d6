"""What the doctor says of Kubernetes: native mode, the autoscaler, twins, idle nodes."""

import pytest

from edgeplace.model import Cluster
from tests.support.doctor_case import findings, seen, the_finding, with_agent

STANDALONE = {
    "execution.target": "remote",
    "kubernetes.cluster-id": "flink",
    "job.autoscaler.enabled": "false",
}


def test_native_mode_is_found_and_standalone_is_fine():
    native = {"execution.target": "kubernetes-application"}
    assert "execution.target: kubernetes-application" in the_finding(
        seen(configuration=native), "Kubernetes"
    )
    assert findings(seen(configuration=STANDALONE), "Kubernetes") == []


@pytest.mark.parametrize(
    ("configuration", "is_found"),
    [
        ({"job.autoscaler.enabled": "true"}, True),
        ({"kubernetes.operator.job.autoscaler.enabled": "True"}, True),
        ({"job.autoscaler.enabled": "true", "job.autoscaler.scaling.enabled": "false"}, False),
        (STANDALONE, False),
    ],
)
def test_the_autoscaler(configuration, is_found):
    found = findings(seen(configuration=configuration), "Kubernetes")
    assert len(found) == is_found
    assert all(f.startswith("problem: the operator's autoscaler is on") for f in found)


def test_two_task_managers_with_one_id():
    refused = [{"id": "pi-1", "host": "10.0.1.14", "registered_host": "10.0.1.11"}]
    found = findings(with_agent(refused=refused), "TaskManagers")
    assert (
        "problem: the TaskManager 'pi-1' at 10.0.1.14 is refused: one at 10.0.1.11 has the same "
        "resource id"
    ) in found


def test_a_node_without_a_task_manager():
    cluster = Cluster.model_validate(
        {
            "sites": [{"id": "lyon"}],
            "nodes": [
                {"id": "pi-1", "site": "lyon", "cores": 4, "slots": 4},
                {"id": "pi-2", "site": "lyon", "cores": 4},
            ],
        }
    )
    assert "warning: it has nodes without a TaskManager: pi-2" in findings(
        seen(), "cluster file", cluster
    )
