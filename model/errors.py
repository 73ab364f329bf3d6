"""Errors, one class for each remedy of the caller."""

from collections.abc import Sequence
from typing import NamedTuple


class Mistake(NamedTuple):
    """One thing that is wrong in a file."""

    what: str
    cure: str
    line: int | None = None
    """Line of the file, from 1; None: it is of no single line."""


class EdgeplaceError(Exception):
    """Base of every error that edgeplace raises on purpose.

    Parameters
    ----------
    what
        What is wrong, with the id and the value.
    cure
        What the caller can do about it.
    """

    def __init__(self, what: str, cure: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.what}\n  cure: {self.cure}" if self.cure else self.what


class InvalidInputError(EdgeplaceError, ValueError):
    """An input is wrong or incomplete. Correct the input.

    Parameters
    ----------
    mistakes
        The same one by one, if a file has several or its line is known.
    """

    def __init__(self, what: str, cure: str = "", mistakes: Sequence[Mistake] = ()) -> None:
        super().__init__(what, cure)
        self.mistakes = tuple(mistakes)


class InvalidRuleError(InvalidInputError):
    """An entry of the rules does not fit the jobs, the cluster or what is placed now.

    Parameters
    ----------
    rule
        The rule, wish or requirement as it was read, or the name of another field of the rules:
        who knows the file finds the line.
    """

    def __init__(self, rule: object, what: str, cure: str = "") -> None:
        super().__init__(what, cure)
        self.rule = rule


Where = tuple[int | str, ...]
"""A path of names and indices from a document to one of its elements."""


class MisplacedError(EdgeplaceError):
    """An element of a document does not fit the others.

    Whoever reads the document says where it is. It is no ValueError: pydantic would take its path
    away.
    """

    def __init__(self, where: Where, what: str, cure: str) -> None:
        super().__init__(what, cure)
        self.where = where


class MissingExtraError(EdgeplaceError, ImportError):
    """An optional part is not installed. Install it."""


class PlanMismatchError(EdgeplaceError, RuntimeError):
    """The evaluator contradicts a back end's plan. This is a bug of edgeplace, never an answer."""
