"""edgeplace: proven placement of Apache Flink subtasks on edge nodes and servers.

>>> from edgeplace import Cluster, JobGraph, read, solve  # doctest: +SKIP
>>> result = solve(read("job.json", JobGraph), read("cluster.yaml", Cluster))  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeplace.model import (
        Case,
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
    from edgeplace.solver import SearchParameters, evaluate, solve, solve_case
    from edgeplace.solver.fleet import Fleet, Replicas, solve_fleet
    from edgeplace.solver.worker_load import balance

__version__ = "0.2.0"
__all__ = [
    "Case",
    "Cluster",
    "Costs",
    "EdgeplaceError",
    "Fleet",
    "JobGraph",
    "Plan",
    "Replicas",
    "Result",
    "Rules",
    "SearchParameters",
    "__version__",
    "balance",
    "evaluate",
    "read",
    "solve",
    "solve_case",
    "solve_fleet",
    "write",
]
_ROOMS = {
    "Replicas": "edgeplace.solver.fleet",
    "Fleet": "edgeplace.solver.fleet",
    "SearchParameters": "edgeplace.solver",
    "balance": "edgeplace.solver.worker_load",
    "evaluate": "edgeplace.solver",
    "solve": "edgeplace.solver",
    "solve_case": "edgeplace.solver",
    "solve_fleet": "edgeplace.solver.fleet",
}


def __getattr__(name: str) -> Any:
    # Names load on first use, so that `import edgeplace` needs neither a solver nor Spark.
    if name not in __all__:
        raise AttributeError(f"module 'edgeplace' has no attribute {name!r}")
    return getattr(import_module(_ROOMS.get(name, "edgeplace.model")), name)
