"""The frozen base class of all documents."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from edgeplace.model.parsing.units import quantity

MOST = 1e18
"""Largest quantity. Sums and products of such figures are still finite."""
LEAST = 1e-18
"""Smallest quantity above 0, for the same reason."""


def number(value: Any, info: ValidationInfo) -> Any:
    """Return a number of a file, read with its unit if it has one; for `BeforeValidator`."""
    # Python takes True for 1, and YAML takes `on` for True.
    if isinstance(value, bool):
        raise PydanticCustomError("no_number", "Input should be a number, not yes or no")
    if isinstance(value, str) and info.field_name:
        return quantity(value, info.field_name)
    return value


def one_or_more(value: Any) -> Any:
    """Return a text or a number of a file as a list of one; for `BeforeValidator`."""
    return (value,) if isinstance(value, str | int | float) else value


def sums_to_one(shares: Sequence[float]) -> bool:
    """Return whether shares sum to 1, as files write them: with six digits or more."""
    return abs(sum(shares) - 1.0) <= 1e-6


Id = Annotated[str, Field(min_length=1)]
Whole = Annotated[int, BeforeValidator(number), Field(le=10**15)]
NonNegative = Annotated[float, BeforeValidator(number), Field(ge=0, le=MOST)]
Positive = Annotated[float, BeforeValidator(number), Field(ge=LEAST, le=MOST)]
Share = Annotated[float, BeforeValidator(number), Field(gt=0, le=1)]


class Frozen(BaseModel):
    """A document that is immutable, refuses unknown fields, and has no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
