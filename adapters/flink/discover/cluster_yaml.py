"""A discovered cluster as a file, with comments on the values to fill in."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from edgeplace.adapters.flink.discover.discover import Discovered
from edgeplace.model import Cluster
from edgeplace.model.base import Frozen

_OWN_FIELDS = ("slots", "host", "memory_bytes")
_OF_INVENTORIES = ("price_per_core_hour", "price_per_node_hour", "labels")
_TARGETS = ("currency", "rates_in", "cpu_target", "link_target")
_WIDTH = 10_000


def cluster_yaml(found: Discovered, url: str) -> str:
    """Return the text of a cluster file; the same cluster gives the same text."""
    cluster = found.cluster
    parts = [
        _comment(
            f"The cluster at {url} as Flink {found.release} knows it, by edgeplace flink discover.",
            "Flink knows machines, slots and memory. Replace the values that are marked default",
            "here or in the notes. Correct the cores, if containers have fewer than a JVM sees.",
            "Next: edgeplace flink collect; edgeplace costs metrics --cluster THIS -o costs.json;",
            "edgeplace solve job.json THIS --costs costs.json",
        ),
        f"format: {cluster.format}\nversion: {cluster.version}\n",
        _comment("A site is a place with a local network; servers are at sites with tier: cloud.")
        + _listed("sites", [_plain(s) for s in cluster.sites]),
        _listed("node_classes", [_plain(c) for c in cluster.node_classes])
        if cluster.node_classes
        else _comment(
            "default: no speeds. For what was not measured on every class of machine, such as",
            "node_classes: [{id: pi, speed: 0.3}, {id: server, speed: 1.0}]",
        ),
        _listed("nodes", _nodes(cluster)),
        _shared(cluster),
        _listed("links", [_plain(link) for link in cluster.links])
        if cluster.links
        else _comment(
            "default: no links. For each pair of sites that are joined, such as",
            "links: [{source: lyon, target: cloud, bandwidth_bytes_per_s: 500000, delay_ms: 25, "
            "both_ways: true}]",
        ),
        _dumped({"checkpoint_storage": cluster.checkpoint_storage})
        if cluster.checkpoint_storage
        else _comment("default: checkpoints are not counted.", "checkpoint_storage: SITE"),
        _dumped({"mtu_bytes": cluster.mtu_bytes})
        if cluster.mtu_bytes
        else _comment(
            "default: headers, acknowledgements and credits are not counted. With the largest",
            "packet between sites they are, such as mtu_bytes: 1500",
        ),
        "".join(_dumped({k: v}) for k, v in _plain(cluster).items() if k in _TARGETS),
        _comment("Network buffers, by the JobManager's configuration.")
        + "".join(
            _dumped({field: getattr(cluster, field)})
            for field in ("buffers_per_channel", "floating_buffers_per_gate", "buffer_bytes")
        ),
        _dumped({"notes": list(cluster.notes)}) if cluster.notes else "",
    ]
    return "".join(parts)


def _nodes(cluster: Cluster) -> list[Mapping[str, Any]]:
    own = {t.id: t for t in cluster.task_managers if t.id == t.node}
    return [
        {
            **{k: getattr(node, k) for k in ("id", "site", "node_class", "cores")},
            **{k: v for k, v in _plain(node).items() if k in _OF_INVENTORIES},
            **({k: getattr(own[node.id], k) for k in _OWN_FIELDS} if node.id in own else {}),
        }
        for node in cluster.nodes
    ]


def _shared(cluster: Cluster) -> str:
    """Return the TaskManagers that share a node with others."""
    shared = [t for t in cluster.task_managers if t.id != t.node]
    return _listed("task_managers", [_plain(t) for t in shared]) if shared else ""


def _plain(item: Frozen) -> dict[str, Any]:
    return item.model_dump(mode="json", exclude_defaults=True)


def _listed(key: str, items: Sequence[Mapping[str, Any]]) -> str:
    lines = (
        yaml.safe_dump(
            {k: _whole(v) for k, v in item.items()},
            default_flow_style=True,
            sort_keys=False,
            width=_WIDTH,
        )
        for item in items
    )
    return f"{key}:\n" + "".join(f"  - {line}" for line in lines)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _dumped(content: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(content), sort_keys=False, width=_WIDTH))


def _comment(*lines: str) -> str:
    # The release comes from the network, so it must not be able to end the comment.
    return "".join(f"# {''.join(c for c in line if c.isprintable())}\n" for line in lines)
