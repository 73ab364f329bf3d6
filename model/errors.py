"""What can go wrong, sorted by what the caller can do about it."""


class EdgeplaceError(Exception):
    """Base of every error that edgeplace raises on purpose.

    Parameters
    ----------
    what
        What is wrong, naming the offending id and value.
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
    """An input is wrong or incomplete: mend the input."""


class MissingExtraError(EdgeplaceError, ImportError):
    """An optional part is not installed: install it."""


class PlanMismatchError(EdgeplaceError, RuntimeError):
    """A back end's plan does not hold up before the evaluator: a bug of ours, never an answer."""
