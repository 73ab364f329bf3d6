"""Notes on unusual values of a valid cluster file."""

from edgeplace.model import Cluster, first_few

_MOST = 4


def cluster_notes(cluster: Cluster) -> tuple[str, ...]:
    """Return what the reader of a plan for this cluster should know of it."""
    notes = []
    if len(cluster.sites) > 1 and all(s.tier != "cloud" for s in cluster.sites):
        notes.append(
            "no site has `tier: cloud`: no core counts as a server core, and the placement "
            "all-server has no server"
        )
    ways = {(a.source, a.target) for a in cluster.directed_links()}
    one_way = sorted((a, b) for a, b in ways if (b, a) not in ways)
    if one_way:
        shown = first_few([f"{a} -> {b}" for a, b in one_way], _MOST)
        notes.append(
            f"nothing leads back over {shown}: Flink's acknowledgements, credits and "
            "checkpoints need a way back; `both_ways: true` gives a link one"
        )
    return tuple(notes)
