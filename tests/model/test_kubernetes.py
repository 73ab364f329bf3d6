"""A cluster from `kubectl get nodes,pods -o json`: what an API server said, and what is wrong."""

import copy
import json
import re
from datetime import date
from pathlib import Path

import pytest

from edgeplace.model import Cluster, InvalidInputError, read
from edgeplace.model.inventory.kubernetes import cluster_of_kubernetes

RECORDED = Path(__file__).parent / "kubernetes" / "kubectl-nodes-pods.json"
DEPLOYED = RECORDED.with_name("kubectl-deployed-folder.json")


@pytest.fixture
def said():
    return json.loads(RECORDED.read_text())


def of(data):
    return Cluster.model_validate(cluster_of_kubernetes(data, "seen.json"))


def named(data, kind, name):
    return next(i for i in data["items"] if (i["kind"], i["metadata"]["name"]) == (kind, name))


def pods(data, pool):
    return [i for i in data["items"] if i["metadata"].get("labels", {}).get("pool") == pool]


def container(pod):
    return pod["spec"]["containers"][0]


def refused(data):
    with pytest.raises(InvalidInputError) as caught:
        of(data)
    return str(caught.value)


def test_what_a_real_api_server_said():
    cluster = read(RECORDED, Cluster)
    found = {n.id: (n.site, n.node_class, n.cores) for n in cluster.nodes}
    assert found["pi-lyon-1"] == ("lyon", "pi4", 3)
    assert found["pi-nice-1"] == ("nice", "pi4", 3)
    # The limit of the container, not the four cores of the machine.
    assert found["taskmanager-cloud-0"] == ("cloud", "server", 1)
    memory = {t.id: t.memory_bytes for t in cluster.task_managers}
    assert (memory["pi-lyon-1"], memory["taskmanager-cloud-0"]) == (2 * 2**30, 2**30)
    assert cluster.node("pi-lyon-1").labels["kubernetes.io/arch"] == "arm64"
    notes = " ".join(cluster.notes)
    assert "to the arguments of taskmanager-cloud-0" in notes
    assert "no zone is in the cloud" in notes and "does not know the links" in notes


def test_what_a_real_api_server_said_of_the_folder_of_deploy():
    """The DaemonSets and the StatefulSet as `kubectl apply` gave them to a control plane 1.20.2."""
    cluster = read(DEPLOYED, Cluster)
    nodes = {n.id: (n.site, n.node_class, n.cores) for n in cluster.nodes}
    # The StatefulSet bound one pod to each server.
    assert {name: found for name, found in nodes.items() if found[0] != "cloud"} == {
        "pi-lyon-1": ("lyon", "pi4", 3),
        "pi-nice-1": ("nice", "pi5", 4),
    }
    held = {t.id: (t.slots, t.memory_bytes) for t in cluster.task_managers}
    assert held == {
        "pi-lyon-1": (3, 2 * 2**30),
        "pi-nice-1": (4, 4 * 2**30),
        "taskmanager-cloud-0": (4, 4 * 2**30),
        "taskmanager-cloud-1": (4, 4 * 2**30),
    }


def test_the_page_has_the_day_on_which_the_folder_was_tried():
    made = re.findall(r'"creationTimestamp": "([-0-9]+)T', DEPLOYED.read_text())
    day = date.fromisoformat(max(made))
    page = Path(__file__).parents[2] / "docs" / "kubernetes.md"
    if not page.exists():
        pytest.skip(f"{page} is not there")
    [claim] = [
        line
        for line in page.read_text().splitlines()
        if line.startswith("| the folder is accepted")
    ]
    assert f"{day.day} {day:%B %Y}" in claim


def test_a_name_comes_from_the_node_or_the_pod_through_variables(said):
    (first, *_) = pods(said, "cloud")
    container(first)["args"] = ["taskmanager", "-D", "taskmanager.resource-id=tm-$(A)"]
    container(first)["env"] = [
        {"name": "A", "value": "$(B)-x"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    assert "tm-taskmanager-cloud-0-x" in {t.id for t in of(said).task_managers}


def test_slots_are_stated_by_the_option_or_by_the_image(said):
    pi, other = pods(said, "pi4")
    container(pi)["args"].append("-Dtaskmanager.numberOfTaskSlots=2")
    container(other)["env"].append({"name": "TASK_MANAGER_NUMBER_OF_TASK_SLOTS", "value": "5"})
    slots = {t.id: t.slots for t in of(said).task_managers}
    assert sorted(slots[name] for name in ("pi-lyon-1", "pi-nice-1")) == [2, 5]


def test_tiers_are_labels_and_a_zone_has_one(said):
    named(said, "Node", "server-1")["metadata"]["labels"]["edgeplace/tier"] = "cloud"
    cluster = of(said)
    assert {s.id: s.tier for s in cluster.sites} == {
        "cloud": "cloud",
        "lyon": "edge",
        "nice": "edge",
    }
    named(said, "Node", "pi-lyon-1")["metadata"]["labels"]["edgeplace/tier"] = "fog"
    assert "zone 'lyon' is 'fog'" in refused(said)


def test_pods_without_limits_share_the_cores_of_their_node(said):
    for pod in pods(said, "pi4"):
        container(pod)["resources"] = {}
    cluster = of(said)
    assert cluster.node("pi-lyon-1").cores == 4
    assert any("without limits.cpu" in note for note in cluster.notes)


def test_nodes_alone_have_a_task_manager_each_that_is_only_supposed(said):
    said["items"] = [i for i in said["items"] if i["kind"] == "Node"]
    master = copy.deepcopy(named(said, "Node", "server-1"))
    master["metadata"]["name"] = "master"
    master["spec"]["taints"] = [{"key": "node-role.kubernetes.io/control-plane"}]
    said["items"].append(master)
    cluster = of(said)
    assert {t.id: t.slots for t in cluster.task_managers} == {
        "pi-lyon-1": 4,
        "pi-nice-1": 4,
        "server-1": 4,
    }
    assert any("is supposed on each node" in note for note in cluster.notes)


def test_a_node_without_a_task_manager_is_a_node_without_slots(said):
    said["items"].remove(pods(said, "pi4")[0])
    cluster = of(said)
    assert len(cluster.nodes) == len(cluster.task_managers) + 1


def test_a_pod_that_is_being_replaced_is_no_second_one(said):
    old = copy.deepcopy(pods(said, "pi4")[0])
    old["metadata"] |= {"name": "old", "deletionTimestamp": "2026-11-22T12:40:00Z"}
    said["items"].append(old)
    assert of(said) == of(json.loads(RECORDED.read_text()))


def test_the_same_resource_id_twice(said):
    second = copy.deepcopy(pods(said, "pi4")[0])
    second["metadata"]["name"] = "second"
    said["items"].append(second)
    text = refused(said)
    assert "'second' have the same taskmanager.resource-id" in text and "-n NAMESPACE" in text


def test_a_node_twice(said):
    said["items"].append(named(said, "Node", "pi-lyon-1"))
    assert "node 'pi-lyon-1' is there twice" in refused(said)


def test_a_pod_on_a_node_that_the_file_lacks_and_one_on_none(said):
    first, second = pods(said, "pi4")
    first["spec"]["nodeName"] = "pi-9"
    del second["spec"]["nodeName"]
    text = refused(said)
    assert "is on node 'pi-9', which the file does not have" in text
    assert "runs a TaskManager and is on no node" in text
    assert "kubectl get nodes,pods -o json" in text


def test_variables_in_a_circle(said):
    (pod, _) = pods(said, "pi4")
    container(pod)["env"] = [
        {"name": "NODE_NAME", "value": "$(OTHER)"},
        {"name": "OTHER", "value": "$(NODE_NAME)"},
    ]
    assert "in a circle: NODE_NAME -> OTHER -> NODE_NAME" in refused(said)


def test_a_variable_that_nobody_sets_and_one_from_elsewhere(said):
    first, second = pods(said, "pi4")
    container(first)["env"] = []
    container(second)["env"] = [{"name": "NODE_NAME", "valueFrom": {"secretKeyRef": {"key": "x"}}}]
    text = refused(said)
    assert "uses the variable NODE_NAME, and its container has none" in text
    assert "NODE_NAME comes from 'elsewhere'" in text


def test_a_node_without_a_zone_and_a_quantity_that_is_none(said):
    del named(said, "Node", "pi-lyon-1")["metadata"]["labels"]["topology.kubernetes.io/zone"]
    container(pods(said, "cloud")[0])["resources"]["limits"]["cpu"] = "many"
    text = refused(said)
    assert "kubectl label node pi-lyon-1 topology.kubernetes.io/zone=SITE" in text
    assert "limits.cpu is 'many'" in text


@pytest.mark.parametrize("items", [[], None, [None, 3], [{"kind": "Pod", "metadata": {}}]])
def test_a_list_without_nodes(items):
    assert "it has no nodes" in refused({"kind": "List", "items": items})


@pytest.mark.parametrize(
    ("text", "cores"), [("500m", 0.5), ("2", 2.0), ("1e1", 10.0), ("0.25", 0.25)]
)
def test_quantities(said, text, cores):
    for pod in pods(said, "pi4"):
        container(pod)["resources"]["limits"]["cpu"] = text
    assert of(said).node("pi-nice-1").cores == cores
