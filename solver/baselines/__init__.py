"""What others do: placements to compare with, and starting points for the exact back ends."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.baselines.all_server import all_server
from edgeplace.solver.baselines.flink_spread import flink_spread
from edgeplace.solver.baselines.threshold import threshold
from edgeplace.solver.problem import Problem

BASELINES: dict[str, Callable[[Problem], NDArray[np.intp]]] = {
    "all-server": all_server,
    "flink-spread": flink_spread,
    "threshold": threshold,
}

__all__ = ["BASELINES", "all_server", "flink_spread", "threshold"]
