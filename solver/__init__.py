"""Deciding: where every subtask runs, proved."""

from edgeplace.solver.advice import Advice, advice
from edgeplace.solver.evaluate import evaluate
from edgeplace.solver.policies import Policy, policies
from edgeplace.solver.solve import solve
from edgeplace.solver.why import Alternative, Reason, why

__all__ = [
    "Advice",
    "Alternative",
    "Policy",
    "Reason",
    "advice",
    "evaluate",
    "policies",
    "solve",
    "why",
]
