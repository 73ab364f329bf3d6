"""Minimise the load of the fullest worker, with the loads of CAPS, and prove it."""

from edgeplace.solver.worker_load.fullest import FullestWorker, fullest_worker
from edgeplace.solver.worker_load.min_max_load import Balance, Decided, balance, decide

__all__ = ["Balance", "Decided", "FullestWorker", "balance", "decide", "fullest_worker"]
