"""Files of weights: the jar and the adapter read the same, and refuse the same."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.adapters.flink.split import Shares, TaskShares, parse_shares, read_shares
from edgeplace.model import InvalidInputError

Probe = Callable[..., Any]
TASK = "words: combine"
GOOD = f"# epoch: 7\n{TASK} (1/2); 1\n{TASK} (2/2); 0.25\n"

WRONG = {
    "": "empty",
    "\n": "empty",
    "garbage\n": "Task name (i/n); weight",
    f"{TASK} (1/2); 1\n{TASK} (2/2); 0.2": "half written",
    f"{TASK} (1/2); 1\n": "no weight",
    f"{TASK} (1/2); 0\n{TASK} (2/2); 0.0\n": "all weights",
    f"{TASK} (1/2); -1\n{TASK} (2/2); 1\n": "1e-9 to 1e9",
    f"{TASK} (1/2); NaN\n{TASK} (2/2); 1\n": "1e-9 to 1e9",
    f"{TASK} (1/2); Infinity\n{TASK} (2/2); 1\n": "1e-9 to 1e9",
    f"{TASK} (1/2); 1e999\n{TASK} (2/2); 1\n": "1e-9 to 1e9",
    f"{TASK} (1/2); 0x1p3\n{TASK} (2/2); 1\n": "1e-9 to 1e9",
    f"{TASK} (1/2); 1\n{TASK} (1/2); 2\n{TASK} (2/2); 1\n": "has a line already",
    f"{TASK} (1/2); 1\n{TASK} (2/3); 1\n": "other numbers|another number of subtasks",
    f"{TASK} (3/2); 1\n": "numbered 1 to n",
    f"{TASK} (1/2) <- (1/2); 1\n{TASK} (2/2) <- (1/2); 1\n": "of the 2 routers",
    f"# checkpoint-interval-ms: 9\n{TASK} (1/2); 1\n{TASK} (2/2); 1\n": "setting",
    f"# epoch: 1\n# epoch: 2\n{TASK} (1/2); 1\n{TASK} (2/2); 1\n": "setting",
}


@pytest.mark.parametrize(("text", "says"), WRONG.items())
def test_what_is_wrong_is_refused_as_a_whole(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match="|".join(map(re.escape, says.split("|")))):
        parse_shares(text)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "says"), WRONG.items())
def test_the_jar_refuses_the_same(probe: Probe, text: str, says: str) -> None:
    problems = probe("shares", text, TASK, "2", "2", "0")["problems"]
    assert problems
    assert any(any(each in p for each in says.split("|")) for p in problems), problems


@pytest.mark.slow
@pytest.mark.parametrize(
    ("combine", "workers", "routers", "epoch", "says"),
    [
        ("other", "2", "2", "0", "no combining one of this job"),
        ("b\na", "2", "2", "0", "those that have one are 'a', 'b'"),
        (
            f"{TASK}\n{TASK}",
            "2",
            "2",
            "0",
            "2 combining tasks of this job are named",
        ),
        (TASK, "3", "2", "0", "for 2 subtasks of 'words: combine', which has 3"),
        (TASK, "2", "2", "8", "its epoch is 7, and 8 was seen"),
    ],
)
def test_the_jar_refuses_weights_of_other_workers_or_of_an_old_writer(
    probe: Probe, combine: str, workers: str, routers: str, epoch: str, says: str
) -> None:
    (problem,) = probe("shares", GOOD, combine, workers, routers, epoch)["problems"]
    assert says in problem


@pytest.mark.slow
def test_the_jar_refuses_what_is_not_utf_8(probe: Probe) -> None:
    (problem,) = probe("shares", b"\xff\xfe; 1\n", TASK, "2", "2", "0")["problems"]
    assert "not UTF-8" in problem


weights = st.one_of(st.just(0.0), st.floats(1e-9, 1e9))


@st.composite
def tasks(draw: st.DrawFn) -> TaskShares:
    workers = draw(st.integers(1, 5))
    row = st.lists(weights, min_size=workers, max_size=workers).map(tuple).filter(any)
    routers = draw(st.integers(0, 3))
    named = draw(st.sets(st.integers(0, routers - 1))) if routers else set()
    of_router = {router: draw(row) for router in sorted(named)}
    return TaskShares(draw(row), of_router, routers if of_router else 0)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.slow
@given(task=tasks(), epoch=st.one_of(st.none(), st.integers(1, 10**15 - 1)))
def test_the_jar_and_the_adapter_read_the_same(
    probe: Probe, task: TaskShares, epoch: int | None
) -> None:
    shares = Shares({TASK: task}, epoch)
    text = shares.text()
    assert parse_shares(text) == shares
    said = probe("shares", text, TASK, str(task.workers), str(task.routers), "0")
    rows = {"*": list(task.of_all)} | {str(r + 1): list(w) for r, w in task.of_router.items()}
    assert said["problems"] == []
    assert said["epoch"] == (epoch or 0)
    # What a checkpoint keeps says the same.
    assert said["weights"] == said["again"] == rows


def test_a_router_without_lines_of_its_own_uses_the_others() -> None:
    text = GOOD + f"{TASK} (1/2) <- (2/3); 5\n{TASK} (2/2) <- (2/3); 0\n"
    task = parse_shares(text).tasks[TASK]
    assert [task.of(router) for router in range(3)] == [(1.0, 0.25), (5.0, 0.0), (1.0, 0.25)]


def test_a_name_that_cannot_stand_in_a_line(tmp_path: Any) -> None:
    with pytest.raises(InvalidInputError, match="cannot stand in a file of weights"):
        Shares({"a; b": TaskShares((1.0,))}).text()
    file = tmp_path / "x.shares"
    file.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        read_shares(file)
