"""Read fields of a REST answer, or say what is wrong with it."""

from collections.abc import Mapping
from types import UnionType
from typing import Any

from edgeplace.model import InvalidInputError

RestAnswer = Mapping[str, Any]
SAVE_AGAIN = "save the answer again while the job runs"
CHECK_ADDRESS = "is --jobmanager the address of Flink's REST API, with nothing in between?"


def need(answer: Any, key: str, kind: type | UnionType, where: str) -> Any:
    """Return a field of an answer.

    Raises
    ------
    InvalidInputError
        If it is missing or has another type; an error message of Flink is quoted.
    """
    if not isinstance(answer, Mapping):
        raise InvalidInputError(f"{where}: expected an object, found {answer!r:.60}", _cure(where))
    value = answer.get(key)
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    if "errors" in answer:
        raise InvalidInputError(
            f"{where} is an error of Flink's: {' '.join(map(str, answer['errors']))[:200]}",
            _cure(where),
        )
    raise InvalidInputError(
        f"{where}: {key!r} is {f'{value!r:.60}' if key in answer else 'missing'}", _cure(where)
    )


def _cure(where: str) -> str:
    """Return the cure for a wrong answer, for a running Flink or a saved file."""
    return CHECK_ADDRESS if where.startswith("the answer to /") else SAVE_AGAIN
