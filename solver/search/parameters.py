"""The parameters of the search, and the switches of its stages."""

from dataclasses import dataclass

from edgeplace.model import InvalidInputError


@dataclass(frozen=True)
class SearchParameters:
    """Parameters of the search, for `solve(..., search=SearchParameters(...))`.

    Whatever they are, bounds hold and plans keep all limits: parameters decide how soon a proof or
    a good plan comes. The defaults are those that all published figures were measured with.
    docs/formulation.md ("Stages of the search") says what each stage does.

    Raises
    ------
    InvalidInputError
        If a number is not in its range.
    """

    by_site: bool = True
    """Decide `wan` site by site, where sites decide by themselves (a proof without a solver)."""
    baselines: bool = True
    """Start from the rules of thumb."""
    growing_sites: bool = True
    """Minimise `wan` on a general network among ever more sites (a proof)."""
    aggregated: bool = True
    """Take TaskManagers that are alike as one first (a proof)."""
    near_relaxation: bool = True
    """In large models, look for plans where the relaxation points to before the search proper."""
    neighbourhoods: bool = True
    """Decide parts of the best plan anew until the time is up, if it is up before the proof."""
    tie_break: bool = True
    """Bring neighbours onto one TaskManager where no term of the objective says where to run."""
    conflict: bool = True
    """Say, where there is no plan, which limits conflict and what would cure it."""

    building_share: float = 0.5
    """Share of the time left for building a model; the rest is to search in it."""
    proving_share: float = 0.75
    """Share of the time left for the proof of the first level; the rest is to look for plans."""
    large_model: int = 4000
    """Columns from which on a model is helped: by rows for what goes together in a group, by
    looking first where its relaxation points to. Of smaller ones HiGHS makes more by itself:
    queries 8,3,1 of benchmarks/engine.py takes half the time, and it finds plans of the bench's
    multi-query-6-3."""
    fewest_sites: int = 4
    """Sites of a subtask that `growing_sites` always looks at."""
    packing_steps: int = 4
    """Functions by which `aggregated` counts the cores of a group in machines."""
    first_plan_s: float = 10.0
    """How long to look for a first plan among some."""
    better_plan_s: float = 2.0
    """How long to look for a better plan among some."""
    near_gap: float = 1e-4
    """How near to the best among some a plan may be, relative to it."""
    nearest: float = 5e-4
    """How far above the relaxed optimum `near_relaxation` looks first, as a share of it."""
    wider: float = 4.0
    """How many times as far it looks next."""
    less_room: float = 0.94
    """Factor on the cores that a group gives out after it could not share out what it got."""
    least_room: float = 0.8
    """Share of the cores at which `near_relaxation` gives up on that."""
    few_sites: int = 2
    """Sites whose subtasks `neighbourhoods` decides together at first, and at least."""
    few_subtasks: int = 8
    """Subtasks along heavy channels that it decides together at first; half as many at least."""

    def __post_init__(self) -> None:
        usual = vars(type(self))
        for name, value in vars(self).items():
            wanted = _wanted(name, value, usual[name])
            if wanted:
                raise InvalidInputError(
                    f"the search parameter {name} is {value!r}", f"give {wanted}"
                )


def _wanted(name: str, value: object, usual: object) -> str:
    """Return what a parameter must be, empty where it is."""
    if isinstance(usual, bool) or isinstance(value, bool):
        return "" if type(value) is type(usual) else _KINDS[type(usual)]
    if isinstance(usual, int) and not isinstance(value, int):
        return _KINDS[int]
    if not isinstance(value, int | float):
        return _KINDS[float]
    least = _LEAST.get(name, 0)
    if name in _SHARES:
        return "" if 0 <= value <= 1 else "a share, from 0 to 1"
    # Written so that nan is refused too.
    return "" if value >= least else f"{least} or more"


_KINDS: dict[type, str] = {bool: "True or False", int: "a whole number", float: "a number"}
_SHARES = ("building_share", "proving_share", "less_room", "least_room")
_LEAST = {"fewest_sites": 1, "packing_steps": 1, "wider": 2, "few_sites": 1, "few_subtasks": 1}
"""Of numbers that may not be 0."""
