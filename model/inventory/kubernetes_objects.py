"""Nodes of Kubernetes and pods of TaskManagers, read for a cluster file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from edgeplace.model.errors import Mistake

ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
"""Labels of a node that say its site, the first one that it has."""
CLASSES = (
    "edgeplace/class",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)
"""Labels of a node that say its class."""
RESOURCE_ID = "taskmanager.resource-id"
SLOTS = "taskmanager.numberOfTaskSlots"
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_ENDED = ("Succeeded", "Failed")
_SLOTS_IN_IMAGE = "TASK_MANAGER_NUMBER_OF_TASK_SLOTS"
_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(m|k|[KMGTPE]i?)?")
_SCALES = {"": 1.0, "m": 1e-3, "k": 1e3} | {
    f"{letter}{binary}": (1024.0 if binary else 1000.0) ** power
    for power, letter in enumerate("KMGTPE", 1)
    for binary in ("", "i")
}


class KubernetesNode(NamedTuple):
    """A node of Kubernetes."""

    name: str
    labels: Mapping[str, str]
    site: str | None
    node_class: str
    cores: float
    memory_bytes: float
    takes_pods: bool
    """Whether a TaskManager may run there: it is neither cordoned nor of the control plane."""


class Pod(NamedTuple):
    """A pod that runs a TaskManager."""

    name: str
    machine: KubernetesNode
    id: str
    has_name: bool
    """Whether its id is one that stays."""
    host: str
    cores: float | None
    memory_bytes: float | None
    slots: int | None


def objects(items: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list."""
    return (
        (item for item in items if isinstance(item, dict)) if isinstance(items, list) else iter(())
    )


def machines_of(items: Any, problems: list[Mistake]) -> dict[str, KubernetesNode]:
    """Return the nodes of a list of objects by their names; problems are added to those given."""
    found: dict[str, KubernetesNode] = {}
    for item in objects(items):
        if item.get("kind") != "Node":
            continue
        name = _name(item)
        if name in found:
            problems.append(Mistake(f"node {name!r} is there twice", "give one list of nodes"))
            continue
        labels = item["metadata"].get("labels") or {}
        room = (item.get("status") or {}).get("allocatable") or {}
        if "cpu" not in room:
            what = f"node {name!r} has no status.allocatable.cpu"
            problems.append(Mistake(what, "give the whole answer: -o json, without a filter"))
            continue
        spec = item.get("spec") or {}
        taints = {taint.get("key") for taint in spec.get("taints") or ()}
        found[name] = KubernetesNode(
            name,
            labels,
            next((labels[z] for z in ZONES if labels.get(z)), None),
            next((labels[c] for c in CLASSES if labels.get(c)), "default"),
            _quantity(room["cpu"], f"node {name!r}: allocatable.cpu", problems),
            _quantity(room.get("memory", 0), f"node {name!r}: allocatable.memory", problems),
            not spec.get("unschedulable") and not taints & set(_CONTROL_PLANE),
        )
    return found


def pods_of(
    items: Any, machines: Mapping[str, KubernetesNode], problems: list[Mistake]
) -> Iterator[Pod]:
    """Yield the pods that run a TaskManager, each id once."""
    pod_of: dict[str, str] = {}
    for item in objects(items):
        container = _task_manager(item) if item.get("kind") == "Pod" else None
        if container is None:
            continue
        name, spec = _name(item), item["spec"]
        status = item.get("status") or {}
        if status.get("phase") in _ENDED or "deletionTimestamp" in item["metadata"]:
            continue  # Another one has its place.
        at = spec.get("nodeName")
        if at is None:
            what = f"pod {name!r} runs a TaskManager and is on no node"
            problems.append(Mistake(what, f"see why: kubectl describe pod {name}"))
            continue
        if at not in machines:
            what = f"pod {name!r} is on node {at!r}, which the file does not have"
            problems.append(Mistake(what, "ask for both: kubectl get nodes,pods -o json"))
            continue
        limits = (container.get("resources") or {}).get("limits") or {}
        known = _Settings(item, container, problems)
        stated = known.value(RESOURCE_ID)
        slots = known.value(SLOTS) or known.variable(_SLOTS_IN_IMAGE)
        room = {
            key: _quantity(limits[key], f"pod {name!r}: limits.{key}", problems)
            for key in ("cpu", "memory")
            if key in limits
        }
        pod = Pod(
            name,
            machines[at],
            stated or name,
            bool(stated),
            status.get("podIP") or "",
            room.get("cpu"),
            room.get("memory"),
            _whole(slots, name, problems),
        )
        if pod.id in pod_of:
            problems.append(
                Mistake(
                    f"pods {pod_of[pod.id]!r} and {name!r} have the same {RESOURCE_ID}, {pod.id!r}",
                    "one TaskManager a node where nodes give the name, or $(POD_NAME) of a "
                    "StatefulSet; of several namespaces, ask for one: -n NAMESPACE",
                )
            )
            continue
        pod_of[pod.id] = name
        yield pod


def _task_manager(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the container of a pod that is a TaskManager's."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    component = (pod["metadata"].get("labels") or {}).get("component")
    for container in containers:
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        if container.get("name") == "taskmanager" or "taskmanager" in words:
            return dict(container)
    if component == "taskmanager" and containers:
        return dict(containers[0])
    return None


class _Settings:
    """The options of Flink that a container's arguments state, and its variables."""

    def __init__(
        self, pod: Mapping[str, Any], container: Mapping[str, Any], problems: list[Mistake]
    ) -> None:
        self._pod = pod
        self._problems = problems
        self._variables = {e["name"]: e for e in container.get("env") or ()}
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        self._options: dict[str, str] = {}
        for i, word in enumerate(words):
            text = words[i + 1] if word == "-D" and i + 1 < len(words) else word.removeprefix("-D")
            key, found, value = text.partition("=")
            if found:
                self._options[key] = value

    def value(self, key: str) -> str | None:
        """Return an option with its variables resolved; None: it is not stated."""
        text = self._options.get(key)
        return None if text is None else self._resolved(text, ())

    def variable(self, name: str) -> str | None:
        """Return a variable; None: it is not there."""
        return self._resolved(f"$({name})", ()) if name in self._variables else None

    def _resolved(self, text: str, inside: tuple[str, ...]) -> str:
        return _VARIABLE.sub(lambda hit: self._of_variable(hit[1], inside), text)

    def _of_variable(self, name: str, inside: tuple[str, ...]) -> str:
        where = f"pod {_name(self._pod)!r}"
        entry = self._variables.get(name)
        if name in inside:
            way = " -> ".join((*inside[inside.index(name) :], name))
            what = f"{where}: its variables refer to each other in a circle: {way}"
            self._problems.append(Mistake(what, "give one of them a value"))
        elif entry is None:
            what = f"{where} uses the variable {name}, and its container has none of that name"
            self._problems.append(Mistake(what, "add it under env, such as spec.nodeName"))
        elif "value" in entry:
            return self._resolved(str(entry["value"]), (*inside, name))
        else:
            field = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", "")
            found: Any = self._pod
            for part in field.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if isinstance(found, str):
                return found
            what = f"{where}: its variable {name} comes from {field or 'elsewhere'!r}"
            cure = "take the name from spec.nodeName or metadata.name, or give it a value"
            self._problems.append(Mistake(what, cure))
        return ""


def _name(item: Mapping[str, Any]) -> str:
    return str((item.get("metadata") or {}).get("name", ""))


def _quantity(text: Any, what: str, problems: list[Mistake]) -> float:
    """Return a quantity of Kubernetes: `500m`, `2Gi`, `1e3`."""
    hit = _QUANTITY.fullmatch(str(text))
    try:
        value = float(hit[1]) * _SCALES[hit[2] or ""] if hit else -1.0
    except ValueError:
        value = -1.0
    if value < 0:
        problems.append(Mistake(f"{what} is {text!r}", "give a quantity, such as 500m or 2Gi"))
    return value


def _whole(text: str | None, pod: str, problems: list[Mistake]) -> int | None:
    if text is None:
        return None
    if not text.isdigit():
        what = f"pod {pod!r}: {SLOTS} is {text!r}"
        problems.append(Mistake(what, "give a number of slots"))
        return None
    return int(text)
