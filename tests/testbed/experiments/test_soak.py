import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
counting = pytest.importorskip("testbed.experiments.counting", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
kinds = pytest.importorskip("testbed.experiments.kinds_of_state", reason=REASON)
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
    chosen_by = random.Random(3)  # noqa: S311 - no secret
    slots = {spec.name: spec.slots for spec in live_flink.TASK_MANAGERS}
    for _ in range(200):
        places = soak.some_places(list(slots), chosen_by)
        # Tasks share slots, subtasks of one task do not.
        needed = Counter((task.partition(" (")[0], place) for task, place in places.items())
        assert all(count <= slots[place] for (_, place), count in needed.items())
        assert {task.partition(" (")[0] for task in places} == set(kinds.TASKS)


@pytest.mark.parametrize(("moves", "kills"), [(40, 5), (4, 2), (3, 1), (1, 3), (1, 0)])
def test_the_schedule_has_every_event(moves: int, kills: int) -> None:
    class Events:
        random = random.Random(1)  # noqa: S311 - no secret
        move, kill_task_manager, restart_job_manager = "move", "kill", "restart"
        savepoint_and_resume = "savepoint"

        @staticmethod
        def kill_at(step: str, of_job_manager: bool) -> None:
            """Only its arguments are looked at."""

    schedule = list(soak._schedule(Events, moves, kills))
    steps = [event.args for event in schedule if not isinstance(event, str)]

    assert Counter(event for event in schedule if isinstance(event, str)) == Counter(
        {"move": moves, "kill": kills, "restart": 2, "savepoint": 1}
    )
    assert sorted(steps) == sorted(itertools.product(soak.STEPS, (False, True)))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["0", "1", "2"], None),
        (["0", "2"], "1 numbers lost, 0 doubled"),
        (["0", "1", "2", "1"], "0 numbers lost, 1 doubled"),
    ],
)
def test_what_a_sink_has_committed_is_compared(
    tmp_path: Path, lines: list[str], problem: str | None
) -> None:
    (tmp_path / "part-0").write_text("".join(f"{line}\n" for line in lines[:2]))
    (tmp_path / "part-1").write_text("".join(f"{line}\n" for line in lines[2:]))
    (tmp_path / ".part-2.inprogress").write_text("0\n1\n")

    told = kinds.wrong_lines(tmp_path, 3)
    assert told == ([f"committed: {problem}"] if problem else [])
