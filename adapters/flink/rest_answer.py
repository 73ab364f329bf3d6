"""Taking what is needed out of a REST answer, or saying what is wrong with it."""

from collections.abc import Mapping
from types import UnionType
from typing import Any

from edgeplace.model import InvalidInputError

Answer = Mapping[str, Any]
SAVE_AGAIN = "save the answer again while the job runs"


def need(answer: Any, key: str, kind: type | UnionType, where: str) -> Any:
    """Return a field of an answer.

    Raises
    ------
    InvalidInputError
        If it is missing or of another type; an error of Flink's is quoted.
    """
    if not isinstance(answer, Mapping):
        raise InvalidInputError(f"{where}: expected an object, found {answer!r:.60}", SAVE_AGAIN)
    value = answer.get(key)
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    if "errors" in answer:
        raise InvalidInputError(
            f"{where} is an error of Flink's: {' '.join(map(str, answer['errors']))[:200]}",
            SAVE_AGAIN,
        )
    raise InvalidInputError(
        f"{where}: {key!r} is {f'{value!r:.60}' if key in answer else 'missing'}", SAVE_AGAIN
    )
