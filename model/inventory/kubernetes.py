"""A cluster from what `kubectl get nodes,pods -o json` says."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgeplace.model.cluster import TIERS
from edgeplace.model.errors import InvalidInputError, Mistake
from edgeplace.model.inventory.kubernetes_objects import (
    RESOURCE_ID,
    SLOTS,
    ZONES,
    KubernetesNode,
    Pod,
    machines_of,
    objects,
    pods_of,
)
from edgeplace.model.text import first_few, some

TIER = "edgeplace/tier"
_KINDS = ("List", "NodeList", "PodList")


def is_kubernetes(data: Any) -> bool:
    """Return whether the content of a file is a list of Kubernetes' objects."""
    return isinstance(data, dict) and data.get("kind") in _KINDS and "items" in data


def cluster_of_kubernetes(data: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the content of a cluster file.

    A TaskManager is a pod that runs one. Its id is the resource id that its arguments state. A pod
    with a limit of cores is a node of its own, because others cannot use these cores; its site and
    its class are those of the machine. Machines without a TaskManager are nodes without slots.

    Parameters
    ----------
    path
        The file, for messages.

    Raises
    ------
    InvalidInputError
        If an entry is there twice, lacks something, refers to itself or to what is not in the
        file; all such entries are named.
    """
    problems: list[Mistake] = []
    machines = machines_of(data["items"], problems)
    pods = list(pods_of(data["items"], machines, problems))
    has_pods = any(item.get("kind") == "Pod" for item in objects(data["items"]))
    notes: list[str] = []
    nodes = [*_with_pods(pods, machines, notes)]
    nodes += _without_pods(machines, pods, supposed=not has_pods, notes=notes)
    if not machines and not problems:
        problems.append(Mistake("it has no nodes", "give what `kubectl get nodes,pods` says"))
    sites = _sites(nodes, machines, notes, problems)
    if problems:
        raise InvalidInputError(
            f"{path}: " + "; ".join(p.what for p in problems),
            "; ".join(dict.fromkeys(p.cure for p in problems)),
            problems,
        )
    return {"sites": sites, "nodes": [found.node for found in nodes], "notes": notes}


class _Found(NamedTuple):
    node: dict[str, Any]
    machine: KubernetesNode


def _with_pods(
    pods: Sequence[Pod], machines: Mapping[str, KubernetesNode], notes: list[str]
) -> Iterator[_Found]:
    """Yield a node for each TaskManager."""
    sharing = Counter(pod.machine.name for pod in pods if pod.cores is None)
    for pod in pods:
        cores = pod.cores or pod.machine.cores / sharing[pod.machine.name]
        node = _node(pod.id, pod.machine, cores)
        node |= {"slots": max(1, int(cores)) if pod.slots is None else pod.slots}
        node |= {"host": pod.host} if pod.host else {}
        memory = pod.memory_bytes or pod.machine.memory_bytes
        yield _Found(node | ({"memory_bytes": memory} if memory else {}), pod.machine)
    without_limit = [pod.name for pod in pods if pod.cores is None]
    if without_limit:
        notes.append(
            f"default: without limits.cpu, pods share all cores of their node, and others may use "
            f"these cores: state limits for {first_few(without_limit, 3)}"
        )
    if any(pod.slots is None for pod in pods):
        notes.append(f"default: a pod that does not state {SLOTS} has as many slots as cores")
    nameless = [pod.name for pod in pods if not pod.has_name]
    if nameless:
        notes.append(
            f"default: pods without {RESOURCE_ID} go by their own names, and Flink makes up "
            f"others: add -D{RESOURCE_ID}=$(NODE_NAME) or $(POD_NAME) to the arguments of "
            f"{first_few(nameless, 3)}"
        )
    if any(pod.memory_bytes for pod in pods):
        notes.append(
            "memory of pods is that of containers; Flink's own, which `edgeplace flink discover "
            "--kubernetes` has, is less"
        )


def _without_pods(
    machines: Mapping[str, KubernetesNode], pods: Sequence[Pod], supposed: bool, notes: list[str]
) -> list[_Found]:
    """Return the machines that could run a TaskManager and run none."""
    taken = {pod.machine.name for pod in pods}
    free = [m for m in machines.values() if m.name not in taken and m.takes_pods]
    if not supposed:
        unplaced = [m for m in free if m.site is None]
        if unplaced:
            names = first_few([m.name for m in unplaced], 3)
            notes.append(f"{names}: without a zone and without a TaskManager, not used")
        return [_Found(_node(m.name, m, m.cores), m) for m in free if m.site is not None]
    if free:
        notes.append(
            "default: the file has no pods, so a TaskManager is supposed on each node, with as "
            "many slots as cores"
        )
    return [
        _Found(_node(m.name, m, m.cores) | {"slots": max(1, int(m.cores)), "host": m.name}, m)
        for m in free
    ]


def _node(name: str, machine: KubernetesNode, cores: float) -> dict[str, Any]:
    return {
        "id": name,
        "site": machine.site or "",
        "node_class": machine.node_class,
        "cores": cores,
        "labels": dict(machine.labels),
    }


def _sites(
    nodes: Sequence[_Found],
    machines: Mapping[str, KubernetesNode],
    notes: list[str],
    problems: list[Mistake],
) -> list[dict[str, Any]]:
    nowhere = list(dict.fromkeys(f.machine.name for f in nodes if f.machine.site is None))
    if nowhere:
        problems.append(
            Mistake(
                f"{some(nowhere)} {'have' if len(nowhere) > 1 else 'has'} no label {ZONES[0]}",
                f"kubectl label node {nowhere[0]} {ZONES[0]}=SITE",
            )
        )
    tiers: dict[str, dict[str, str]] = {}
    for found in nodes:
        tier = found.machine.labels.get(TIER, "edge")
        if found.machine.site is not None:
            tiers.setdefault(found.machine.site, {})[tier] = found.machine.name
    for site, said in tiers.items():
        wrong = [tier for tier in said if tier not in TIERS]
        if wrong or len(said) > 1:
            what = f"zone {site!r} is {' and '.join(map(repr, said))} by the labels {TIER} of "
            cure = (
                f"label all nodes of a zone alike: {TIER}=edge, {TIER}=regional or "
                f"{TIER}=cloud (without: edge)"
            )
            problems.append(Mistake(what + ", ".join(said.values()), cure))
    if not any("cloud" in said for said in tiers.values()):
        notes.append(
            f"default: no zone is in the cloud: label its nodes {TIER}=cloud, so that servers "
            "are told from machines at the edge"
        )
    if len(tiers) > 1:
        notes.append(
            "default: Kubernetes does not know the links between zones, so nothing can cross "
            "them: write the cluster with `edgeplace flink discover`, and add links"
        )
    return [{"id": site, "tier": next(iter(said))} for site, said in tiers.items()]
