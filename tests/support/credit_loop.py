"""One credit window between a Pi and a server: a source, a sink, a round trip of 100 ms."""

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
