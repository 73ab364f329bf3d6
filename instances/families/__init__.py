"""The families of generated instances: one a file, and all by name."""

from edgeplace.instances.families.catalogue import generate

__all__ = ["generate"]
