"""Always enough units for the peak."""

from dataclasses import dataclass

from edgeplace.control.load import Load
from edgeplace.control.options import Options
from edgeplace.control.policy import View, largest


@dataclass
class StaticPeak:
    """Never changes; the reference for units and late time."""

    name: str = "static peak"
    every_s: int = 3600

    def first(self, options: Options, load: Load) -> int:
        """Start with the largest option."""
        return largest(options, load)

    def decide(self, view: View) -> int | None:
        """Stay."""
        return None
