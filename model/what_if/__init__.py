"""What-if: a case, and cases that differ from it in one thing."""

from edgeplace.model.what_if.case import Case

__all__ = ["Case"]
