"""Who has the place of a TaskManager that a plan names by its host."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("ids", "held", "former", "heir"),
    [
        # It has come back under another id, and the dead one is registered still.
        ("a b", "", "a", "b"),
        ("b a", "other", "a", "b"),
        # Another one has come, and the job is where it was.
        ("a b", "a", "a", "a"),
        ("a b", "a", "b", "a"),
        # Nobody knows which of them.
        ("a b", "", "", None),
        ("a b", "", "c", None),
        ("a b", "a b", "a", None),
        ("a b c", "", "a", None),
    ],
)
def test_who_has_the_place(
    probe: Callable[..., Any], ids: str, held: str, former: str, heir: str | None
) -> None:
    asked = (text.replace(" ", "\n").encode() for text in (ids, held, former))
    assert probe("heir", *asked) == {"heir": heir}
