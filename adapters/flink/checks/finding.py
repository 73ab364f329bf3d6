"""A finding of `doctor`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from edgeplace.model.text import first_few

_SHOWN = 4


class Severity(StrEnum):
    """How much a finding hinders placement."""

    PROBLEM = "problem"
    """Plans cannot be obeyed until it is cured."""
    WARNING = "warning"
    """Plans are obeyed, and something will go wrong or already costs."""
    NOTE = "note"
    """What cannot be seen from here, or is good to know."""
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """One answer of one check.

    Attributes
    ----------
    check
        What was looked at, in a word or two.
    what
        What is the case, with names and values.
    cure
        What to do about it; empty where there is nothing to do.
    """

    severity: Severity
    check: str
    what: str
    cure: str = ""


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first names, and how many more there are."""
    return first_few(names, _SHOWN, separator)
