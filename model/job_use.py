"""What one job takes of a cluster, where a plan places it."""

from edgeplace.model.base import Frozen, Id, NonNegative, Whole


class JobUse(Frozen):
    """What a job takes. What is not named, it does not use."""

    slots: dict[Id, Whole] = {}
    """TaskManager -> slots."""
    amounts: dict[str, dict[Id, NonNegative]] = {}
    """Field of TaskManagers, such as `memory_bytes` -> TaskManager -> how much of it."""
    cores: dict[Id, NonNegative] = {}
    """Node -> busy cores."""
    bytes_per_s: dict[Id, dict[Id, NonNegative]] = {}
    """Site -> site at the other end of a link -> bytes per second on it, in that direction."""
