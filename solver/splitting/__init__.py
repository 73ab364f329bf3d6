"""Weights by which routers deal records to combiners, alone or with the places, with a bound."""

from edgeplace.solver.splitting.facts import records_of_workers, stated_frequencies
from edgeplace.solver.splitting.place import SplitPlan, place_and_split
from edgeplace.solver.splitting.reach import Reach, reach
from edgeplace.solver.splitting.split import Weighting, split

__all__ = [
    "Reach",
    "SplitPlan",
    "Weighting",
    "place_and_split",
    "reach",
    "records_of_workers",
    "split",
    "stated_frequencies",
]
