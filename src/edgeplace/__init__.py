"""edgeplace: proven placement of Apache Flink subtasks on edge nodes and servers.

>>> from edgeplace import Cluster, JobGraph, read, solve  # doctest: +SKIP
>>> result = solve(read("job.json", JobGraph), read("cluster.yaml", Cluster))  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeplace.model import (
        Cluster,
        Costs,
        EdgeplaceError,
        JobGraph,
        Plan,
        Result,
        Rules,
        read,
        write,
    )
    from edgeplace.solver import evaluate, solve

__version__ = "0.2.0"
__all__ = [
    "Cluster",
    "Costs",
    "EdgeplaceError",
    "JobGraph",
    "Plan",
    "Result",
    "Rules",
    "__version__",
    "evaluate",
    "read",
    "solve",
    "write",
]


def __getattr__(name: str) -> Any:
    # Names load on first use, so that `import edgeplace` needs neither a solver nor Spark.
    if name not in __all__:
        raise AttributeError(f"module 'edgeplace' has no attribute {name!r}")
    room = "edgeplace.solver" if name in ("solve", "evaluate") else "edgeplace.model"
    return getattr(import_module(room), name)
