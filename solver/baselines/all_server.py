"""All-server: every subtask that may leave the edge runs at a cloud site."""

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.problem import Problem


def all_server(problem: Problem) -> Ints:
    """Return the assignment with every movable subtask on the least used server."""
    filler = Filler(problem)
    for k in range(problem.n):
        allowed = filler.allowed(k)
        servers = allowed[problem.tms.is_server[allowed]]
        filler.place(k, servers if len(servers) else allowed)
    return filler.assignment
