"""The resources of a cluster that one job uses under a plan."""

from edgeplace.model.base import Frozen, Id, NonNegative, Whole


class JobUse(Frozen):
    """The resources that a job uses. A resource that is not named is not used."""

    slots: dict[Id, Whole] = {}
    """TaskManager -> slots."""
    amounts: dict[str, dict[Id, NonNegative]] = {}
    """Field of TaskManagers, such as `memory_bytes` -> TaskManager -> used amount."""
    cores: dict[Id, NonNegative] = {}
    """Node -> busy cores."""
    bytes_per_s: dict[Id, dict[Id, NonNegative]] = {}
    """Site -> site at the other end of a link -> bytes per second on it, in that direction."""
