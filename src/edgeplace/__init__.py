"""edgeplace: proven placement of Apache Flink subtasks on edge nodes and servers.

>>> from edgeplace import Cluster, JobGraph, read, solve  # doctest: +SKIP
>>> result = solve(read("job.json", JobGraph), read("cluster.yaml", Cluster))  # doctest: +SKIP
"""

import sys
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
    from edgeplace.model import needing

    with needing("solve"):
        return getattr(import_module(_ROOMS.get(name, "edgeplace.model")), name)


def _show_in_notebooks() -> None:
    """Let notebooks show answers as parts of the report, which loads when one is shown."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    for name in ("Result", "Evaluation", "Conflict"):

        def shown(found: Any, part: str = f"{name.lower()}_html") -> str:
            return str(getattr(import_module("edgeplace.report.notebook"), part)(found))

        html.for_type_by_name("edgeplace.model.result", name, shown)


_show_in_notebooks()
