"""The names of the solver's back ends; `loader` of solver/solve.py has their modules."""

BACKENDS = ("milp", "cp-sat")
"""Back ends that are always installed."""
PULP = "pulp:"
"""Before the name of a solver that PuLP finds on this machine."""


def is_backend(name: str) -> bool:
    """Return whether a name is that of a back end. PuLP's solver may be missing."""
    return name in BACKENDS or name.startswith(PULP)
