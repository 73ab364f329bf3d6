"""The families of generated instances, by name."""

import re
from collections.abc import Callable

from edgeplace.instances.families.infeasible import infeasible
from edgeplace.instances.families.latency_bound import latency_bound
from edgeplace.instances.families.multi_query import multi_query
from edgeplace.instances.families.nexmark import nexmark
from edgeplace.instances.families.riotbench import riotbench
from edgeplace.instances.families.scale import scale
from edgeplace.instances.families.seed_pis import seed_pis
from edgeplace.instances.families.tree import tree
from edgeplace.instances.instance import Instance
from edgeplace.model import InvalidInputError

Generator = Callable[[int, int], Instance]

FAMILIES: dict[str, Generator] = {
    "seed-pis": seed_pis,
    "riotbench": riotbench,
    "nexmark": nexmark,
    "multi-query": multi_query,
    "tree": tree,
    "latency-bound": latency_bound,
    "infeasible": infeasible,
    "scale": scale,
}
"""Name -> function of size and seed. The same arguments give the same instance, byte for byte."""

NAME = re.compile(r"(?P<family>[a-z-]+?)-(?P<size>\d+)-(?P<seed>\d+)")


def generate(name: str) -> Instance:
    """Return the instance of a name `FAMILY-SIZE-SEED`, such as `tree-12-3`.

    Raises
    ------
    InvalidInputError
        If the name is not of this form, or its size is too small.
    """
    parts = NAME.fullmatch(name)
    if parts is None or parts["family"] not in FAMILIES:
        raise InvalidInputError(
            f"there is no instance {name!r}",
            f"give FAMILY-SIZE-SEED, such as tree-12-3, of the families {', '.join(FAMILIES)}",
        )
    size = int(parts["size"])
    if size < 1:
        raise InvalidInputError(f"instance {name!r} has the size {size}", "ask for 1 or more")
    try:
        return FAMILIES[parts["family"]](size, int(parts["seed"]))
    except ValueError as e:
        raise InvalidInputError(f"instance {name!r}: {e}", "ask for another size") from e
