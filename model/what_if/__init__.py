"""What-if questions: a case, and changed cases."""

from edgeplace.model.what_if.case import Case

__all__ = ["Case"]
