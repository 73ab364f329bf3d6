"""The shipped instances: what they are called, their text's digest, and what is known of them."""

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
    """The best that anyone has shown of the `wan` objective of an instance."""

    wan: NonNegative | None = None
    """Of a plan that the evaluator confirmed; None: no plan is known."""
    bound: NonNegative | None = None
    """No plan has less; equal to `wan` up to rounding: proved best."""
    infeasible: bool = False
    """No plan exists, proved."""
    by: str
    """Who showed it, with what."""
    day: str = Field(pattern=r"\d{4}-\d{2}-\d{2}")
    """When."""

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
    """Of the instance's text, so that a changed generator does not pass for the old instance."""
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
    """Return what is known of an instance, None where it is not a shipped one to the byte."""
    entry = next((e for e in index().instances if e.name == instance.name), None)
    return entry.best if entry and entry.sha256 == digest(instance) else None


def digest(instance: Instance) -> str:
    """Return the SHA-256 of an instance's text."""
    return hashlib.sha256(dump(instance).encode()).hexdigest()
