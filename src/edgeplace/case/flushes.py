"""When operators send what they have gathered, from the command line."""

import re
from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from edgeplace.model import Gathering, InvalidInputError, quantity

_FIELDS = {"records": "records", "keys": "keys_per_record", "checkpoint": "checkpoint_s"}
# The name of an operator may hold `=` and `,`, so it ends before the first time.
_TEXT = re.compile(
    r"(?P<operator>.+?)=(?P<time>[\d.]+ *[a-z]*)(?P<more>(,[a-z]+=[^=,]+)*)", re.DOTALL
)


def flushes(texts: Sequence[str], option: str) -> dict[str, Gathering]:
    """Return operator -> when it flushes, from texts such as `combine=1s,records=20000`.

    Raises
    ------
    InvalidInputError
        If a text has no time, a figure is none above 0, or an operator is there twice.
    """
    found: dict[str, Gathering] = {}
    for text in texts:
        operator, gathering = _flushes(text, option)
        if operator in found:
            raise InvalidInputError(
                f"{option} is given twice for {operator!r}",
                "give all of it in one: combine=1s,records=5000",
            )
        found[operator] = gathering
    return found


def _flushes(text: str, option: str) -> tuple[str, Gathering]:
    hit = _TEXT.fullmatch(text)
    try:
        if not hit:
            raise ValueError("no operator, or no time")
        given = dict(setting.split("=") for setting in hit["more"].split(",")[1:])
        fields = {_FIELDS.get(name, name): figure for name, figure in given.items()}
        fields["interval_s"] = hit["time"]
        figures = {name: quantity(figure, name) for name, figure in fields.items()}
        return hit["operator"], Gathering.model_validate(figures)
    except (ValueError, ValidationError, PydanticCustomError) as e:
        raise InvalidInputError(
            f"{option} {text!r} is not understood",
            f"write {option} OPERATOR=TIME, and behind it, if it is so, ,records=N (it flushes "
            "after N records, too), ,keys=N (a record has N keys) and ,checkpoint=TIME (it flushes "
            "before checkpoints, which have this interval): combine=1s,records=5000",
        ) from e
