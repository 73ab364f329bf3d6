"""One credit window between a Pi and a server: a source, a sink, a round trip of 100 ms; and how
long buffers wait for a busy processor.
"""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import Cluster, JobGraph, Plan, parse

BUFFER = 1000
ROUND_TRIP_MS = 100.0
APART = Plan(jobs={"j": {"source": ("pi",), "sink": ("server",)}})
RECORD_BYTES = 100.0


def cluster(buffers: int, cpu_target: float = 1.0) -> Cluster:
    return parse(
        {
            "sites": [{"id": "edge"}, {"id": "cloud", "tier": "cloud"}],
            "nodes": [
                {"id": "pi", "site": "edge", "node_class": "any", "cores": 1},
                {"id": "server", "site": "cloud", "node_class": "any", "cores": 1},
            ],
            "task_managers": [
                {"id": "pi", "node": "pi", "slots": 2},
                {"id": "server", "node": "server", "slots": 2},
            ],
            "links": [
                {"source": a, "target": b, "delay_ms": ROUND_TRIP_MS / 2}
                for a, b in (("edge", "cloud"), ("cloud", "edge"))
            ],
            "cpu_target": cpu_target,
            "buffer_bytes": BUFFER,
            "buffers_per_channel": buffers,
            "floating_buffers_per_gate": 0,
        },
        Cluster,
        "the cluster",
    )


def job(source_ms: float, sink_ms: float, per_s: float = 1.0) -> JobGraph:
    """Return a job whose subtasks are busy for some ms a buffer, which has ten records.

    Parameters
    ----------
    per_s
        Records/s of the source.
    """
    records = BUFFER / RECORD_BYTES

    def classes(ms: float) -> list[dict[str, object]]:
        return [{"node_class": "any", "true_rate_per_s": 1000 * records / ms}]

    return parse(
        {
            "name": "j",
            "operators": [
                {
                    "id": "source",
                    "name": "source",
                    "parallelism": 1,
                    "born_at": ["edge"],
                    "cost": {
                        "operator": "source",
                        "demand": {"rates_per_s": [per_s]},
                        "classes": classes(source_ms),
                    },
                },
                {
                    "id": "sink",
                    "name": "sink",
                    "parallelism": 1,
                    "cost": {"operator": "sink", "classes": classes(sink_ms)},
                },
            ],
            "streams": [
                {
                    "source": "source",
                    "target": "sink",
                    "ship_strategy": "FORWARD",
                    "cost": {
                        "source": "source",
                        "target": "sink",
                        "selectivity": 1,
                        "bytes_per_record": RECORD_BYTES,
                    },
                }
            ],
        },
        JobGraph,
        "the job",
    )


def waiting(work: Sequence[float], used: float, windows: Sequence[float]) -> list[float]:
    """Return the share of each window that is at a station, as docs/formulation.md has it.

    Parameters
    ----------
    work
        Share that the station works for each loop.
    used
        Share that it works at all.
    windows
        Buffers of each loop.
    """
    if used >= 1:
        return [1.0 for _ in work]
    others = max(used - sum(work), 0.0)
    v, window = np.array(work) / (1 - others), np.array(windows)
    # Q = v (1 + sum of Q - Q / W), a linear system.
    there = np.linalg.solve(np.diag(1 + v / np.maximum(window, 1.0)) - v[:, None], v)
    shares: list[float] = (there / window).tolist()
    return shares
