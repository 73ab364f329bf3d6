"""The way to the proof: incumbents, bounds, and the search for the best plan."""

from edgeplace.solver.search.parameters import SearchParameters
from edgeplace.solver.search.search import Search

__all__ = ["Search", "SearchParameters"]
