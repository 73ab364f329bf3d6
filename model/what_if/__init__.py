"""What-if questions: a case, and changed cases."""

from edgeplace.model.what_if.alike_sites import alike_sites
from edgeplace.model.what_if.case import Case

__all__ = ["Case", "alike_sites"]
