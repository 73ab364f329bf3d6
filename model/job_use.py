"""What one job takes of a cluster, where a plan places it."""

from edgeplace.model.base import Frozen, Id, NonNegative, Whole


class JobUse(Frozen):
    """What a job takes. What is not named, it does not use."""

    slots: dict[Id, Whole] = {}
    """TaskManager -> slots."""
    memory_bytes: dict[Id, NonNegative] = {}
    """TaskManager -> memory for heap state and for the subtasks' own."""
    disk_bytes: dict[Id, NonNegative] = {}
    """TaskManager -> disk for RocksDB state."""
    cores: dict[Id, NonNegative] = {}
    """Node -> busy cores."""
    bytes_per_s: dict[Id, dict[Id, NonNegative]] = {}
    """Site -> site at the other end of a link -> bytes per second on it, in that direction."""
