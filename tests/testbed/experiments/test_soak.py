import random
from collections import Counter
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
counting = pytest.importorskip("testbed.experiments.counting", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
soak = pytest.importorskip("testbed.experiments.soak", reason=REASON)

RECORDS, KEYS = 24, 2


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """What a job writes that counted every number once."""
    # Of the numbers 0 to 23, those of even rounds: 0 1, 4 5, 8 9, 12 13, 16 17, 20 21.
    (tmp_path / "0").write_text("6 60 0\n")
    (tmp_path / "1").write_text("6 66 0\n")
    return tmp_path


def test_an_exact_count_has_no_problems(results: Path) -> None:
    assert counting.wrong_results(results, RECORDS, KEYS) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("5 45 1", "key 1: 5 numbers instead of 6"),
        ("7 67 0", "key 1: 7 numbers instead of 6, sum 67 instead of 66"),
        ("6 66 2", "2 lost or doubled"),
        ("6 65 0", "sum 65 instead of 66"),
    ],
)
def test_a_wrong_count_is_told(results: Path, line: str, problem: str) -> None:
    (results / "1").write_text(f"{line}\n")

    (told,) = counting.wrong_results(results, RECORDS, KEYS)
    assert problem in told


def test_a_missing_result_is_told(results: Path) -> None:
    (results / "0").unlink()

    assert counting.wrong_results(results, RECORDS, KEYS) == ["key 0: no result"]


def test_places_never_need_more_slots_than_there_are() -> None:
    tasks = [f"count ({i}/22)" for i in range(1, 23)]
    slots = {spec.name: spec.slots for spec in live_flink.TASK_MANAGERS}
    assert sum(slots.values()) == len(tasks)

    chosen_by = random.Random(3)  # noqa: S311 - no secret
    places = soak.some_places(tasks, live_flink.TASK_MANAGERS, chosen_by)

    assert list(places) == tasks
    assert Counter(places.values()) == slots


@pytest.mark.parametrize(("moves", "kills"), [(20, 5), (4, 2), (3, 1), (1, 3), (1, 0)])
def test_the_schedule_has_every_event_and_ends_as_asked(moves: int, kills: int) -> None:
    class Events:
        move, kill_task_manager, restart_job_manager = "move", "kill", "restart"

    events = Counter(soak._schedule(Events, moves, kills))

    assert events == Counter({"move": moves, "kill": kills, "restart": 1})
