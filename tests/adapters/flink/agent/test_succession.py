"""Who has the place of a TaskManager that a plan names by its host."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

JOB = "0" * 32
HOST = "10.0.1.11"


class Places:
    """One job's memory of its places, read anew for each question: as after a restart."""

    def __init__(self, probe: Callable[..., Any], folder: Path) -> None:
        self._probe = probe
        self._folder = str(folder)

    def hold(self, holder: str, there: str) -> None:
        self._ask("hold", HOST, holder, there.replace(" ", "\n"))

    def heir(self, ids: str, held: str = "") -> str | None:
        answer = self._ask("heir", HOST, ids.replace(" ", "\n"), held.replace(" ", "\n"))
        heir: str | None = answer["heir"]
        return heir

    def _ask(self, what: str, *texts: str) -> Any:
        return self._probe(what, *(text.encode() for text in (self._folder, JOB, *texts)))


@pytest.fixture
def places(probe: Callable[..., Any], tmp_path: Path) -> Places:
    return Places(probe, tmp_path)


@pytest.mark.parametrize(
    ("ids", "held", "heir"),
    [
        # It has come back under another id, and the dead one is registered still, or not any more.
        ("a b", "", "b"),
        ("b a", "other", "b"),
        ("b", "", "b"),
        # Another one has come, and the job is where it was.
        ("a b", "a", "a"),
        ("a b", "b", "b"),
        # Nobody knows which of them.
        ("a b", "a b", None),
        ("a b c", "", None),
        ("b c", "", None),
    ],
)
def test_who_has_the_place(places: Places, ids: str, held: str, heir: str | None) -> None:
    places.hold("a", there="a")
    assert places.heir(ids, held) == heir


@pytest.mark.parametrize(
    ("ids", "heir"),
    [
        ("a b", "a"),  # It is dead and registered still, or alive after a restart.
        ("b", None),  # After a restart of the JobManager, the neighbour has come first.
        ("b c", "c"),
        ("a b c", "c"),
    ],
)
def test_a_neighbour_is_no_successor(places: Places, ids: str, heir: str | None) -> None:
    places.hold("a", there="a b")
    assert places.heir(ids) == heir


def test_one_that_came_later_is_a_neighbour_once_both_were_alive(places: Places) -> None:
    places.hold("a", there="a")
    assert places.heir("a b") == "b"
    places.hold("a", there="a b")
    assert places.heir("a b") == "a"


def test_a_predecessor_may_come_back(places: Places) -> None:
    places.hold("a", there="a")
    places.hold("b", there="a b")
    assert places.heir("a") == "a"


def test_a_job_that_had_no_place_there(places: Places, tmp_path: Path) -> None:
    assert places.heir("a") == "a"
    assert places.heir("a b") is None
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("text", ["a", "%zz b", "\0\1 \xff"])
def test_a_memory_that_cannot_be_read_is_none(places: Places, tmp_path: Path, text: str) -> None:
    (tmp_path / f"{JOB}.holders").write_text(text)
    assert places.heir("a") == "a"
    places.hold("a", there="b")
    assert places.heir("b") is None


def test_any_resource_id_is_remembered(places: Places) -> None:
    places.hold("tm+1\té%20", there="b:6122-0")
    assert places.heir("b:6122-0") is None
    assert places.heir("tm+1\té%20") == "tm+1\té%20"
