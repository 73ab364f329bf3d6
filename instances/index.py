"""The shipped instances: their names, digests and best known values."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from edgeplace.instances.instance import Instance
from edgeplace.model import dump, read
from edgeplace.model.base import Frozen, Id, NonNegative


class BestKnown(Frozen):
    """The best known value and bound of the `wan` objective of an instance."""

    wan: NonNegative | None = None
    """Value of a plan that the evaluator confirmed; None: no plan is known."""
    bound: NonNegative | None = None
    """Lower bound of any plan. If it equals `wan` up to rounding, the value is proved best."""
    infeasible: bool = False
    """No plan exists, proved."""
    by: str
    """The program that proved it, and its settings."""
    day: str = Field(pattern=r"\d{4}-\d{2}-\d{2}")
    """The day."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.infeasible and (self.wan is not None or self.bound is not None):
            raise ValueError("an infeasible instance has neither a value nor a bound")
        if self.wan is not None and self.bound is not None and self.bound > self.wan:
            raise ValueError(f"the bound {self.bound!r} is above the value {self.wan!r}")
        return self


class Entry(Frozen):
    """One shipped instance. It is generated anew from its name."""

    name: Id
    sha256: str = Field(pattern=r"[0-9a-f]{64}")
    """Digest of the instance's text, so that a changed generator is detected."""
    best: BestKnown


class Index(Frozen):
    """The shipped instances."""

    format: Literal["edgeplace/instance-index"] = "edgeplace/instance-index"
    version: Literal[1] = 1
    instances: tuple[Entry, ...]


@cache
def index() -> Index:
    """Return the shipped instances, small to large within each family."""
    return read(Path(str(files("edgeplace.instances"))) / "index.yaml", Index)


def best_known(instance: Instance) -> BestKnown | None:
    """Return the entry of an instance, None if it is not a shipped instance to the byte."""
    entry = next((e for e in index().instances if e.name == instance.name), None)
    return entry.best if entry and entry.sha256 == digest(instance) else None


def digest(instance: Instance) -> str:
    """Return the SHA-256 of an instance's text."""
    return hashlib.sha256(dump(instance).encode()).hexdigest()
