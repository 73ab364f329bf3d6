"""Make a cluster file from the TaskManagers that Flink has registered."""

from edgeplace.adapters.flink.discover.cluster_yaml import cluster_yaml
from edgeplace.adapters.flink.discover.discover import (
    Discovered,
    born_where_it_runs,
    discover,
    discover_in,
)
from edgeplace.adapters.flink.discover.ping import round_trips_ms
from edgeplace.adapters.flink.discover.sites import Sites

__all__ = [
    "Discovered",
    "Sites",
    "born_where_it_runs",
    "cluster_yaml",
    "discover",
    "discover_in",
    "round_trips_ms",
]
