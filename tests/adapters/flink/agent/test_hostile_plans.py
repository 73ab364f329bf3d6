"""Hostile plan files: agent and adapter refuse all of them, say why, and quote no secret."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.adapters.flink.plans.plan_file import Schedulercfg, planned_places, read_real_plan
from edgeplace.adapters.flink.plans.plan_size import largest_plan_bytes
from edgeplace.adapters.flink.rest.live import LiveTaskManager
from edgeplace.model import InvalidInputError, JobGraph

hostile = pytest.importorskip(
    "testbed.experiments.hostile_plans", reason="the testbed is not beside tests"
)

Probe = Callable[..., Any]

JOB = JobGraph.model_validate(
    {
        "name": "counting",
        "operators": [
            {"id": "a" * 32, "name": "Source: numbers -> filter", "parallelism": 3},
            {"id": "b" * 32, "name": "count -> sink", "parallelism": 3},
        ],
    }
)
TASK_MANAGERS = (
    LiveTaskManager("pi-1", "127.0.0.11", 4, 4),
    LiveTaskManager("server-1", "127.0.0.21", 8, 8),
    LiveTaskManager("server-2", "127.0.0.21", 6, 6),
)
GOOD = {
    f"{op.name} ({i}/3)": place
    for op in JOB.operators
    for i, place in enumerate(("pi-1", "server-1", "server-2"), 1)
}
TEXTS = hostile.hostile_texts(GOOD, "127.0.0.21")
FILES = hostile.hostile_files()


def tasks_of(job: JobGraph) -> bytes:
    return "\n".join(
        f"{op.id}|{op.parallelism}|{op.max_parallelism}|{i}|{op.name}"
        for i, op in enumerate(job.operators)
    ).encode()


def test_there_are_62() -> None:
    assert (len(TEXTS), len(FILES)) == (47, 15)


def test_the_good_plan_is_good(probe: Probe, tmp_path: Path) -> None:
    path = tmp_path / "j.schedulercfg"
    path.write_text("".join(f"{task}; {place}\n" for task, place in GOOD.items()))
    said = probe("judge", tasks_of(JOB), str(path).encode())
    assert said == {"places": [["pi-1", "server-1", "server-2"]] * 2}
    assert planned_places(Schedulercfg(path.read_text()), JOB, TASK_MANAGERS, None, "it")


@pytest.mark.parametrize("kind", TEXTS)
def test_the_agent_says_what_is_wrong_with_a_text(probe: Probe, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "j.schedulercfg"
    path.write_bytes(TEXTS[kind].content)
    said = probe("judge", tasks_of(JOB), str(path).encode())
    if TEXTS[kind].by_cluster:
        assert "places" in said, "only the TaskManagers tell; see tests/live"
    else:
        assert any(TEXTS[kind].says in reason for reason in said["problems"]), said
        assert hostile.is_quiet(said["problems"])


@pytest.mark.parametrize("kind", TEXTS)
def test_the_adapter_refuses_a_text(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "j.schedulercfg"
    path.write_bytes(TEXTS[kind].content)
    try:
        plan = read_real_plan(path)
        places = planned_places(plan, JOB, TASK_MANAGERS, None, str(path))
    except InvalidInputError as e:
        assert str(path) in e.what
        assert len(e.what) < 10_000
        return
    # It is a plan, for TaskManagers that are not there: `apply` asks Flink for them.
    assert TEXTS[kind].by_cluster
    known = {tm.id for tm in TASK_MANAGERS}
    assert not known.issuperset(place for row in places.values() for place in row)


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The hostile file, in a folder of plans."""
    kind: str = request.param
    scratch, plans = tmp_path / "scratch", tmp_path / "plans"
    scratch.mkdir()
    plans.mkdir()
    path = plans / "j.schedulercfg"
    try:
        FILES[kind].make(path, scratch)
    except PermissionError as e:
        pytest.skip(f"{kind} cannot be made here: {e}")
    return path


@pytest.mark.parametrize(("made", "kind"), [(k, k) for k in FILES], indirect=["made"])
def test_the_agent_says_what_is_no_plan_file(probe: Probe, made: Path, kind: str) -> None:
    said = probe("judge", tasks_of(JOB), str(made).encode())
    assert any(FILES[kind].says in reason for reason in said["problems"]), said
    assert hostile.is_quiet(said["problems"])


@pytest.mark.parametrize(("made", "kind"), [(k, k) for k in FILES], indirect=["made"])
def test_the_adapter_reads_no_such_file_of_the_folder(made: Path, kind: str) -> None:
    folder = PlansFolder(made.parent)
    if kind == "a secret by another name":
        # A regular file: what is in it is no plan.
        assert hostile.SECRET in (folder.read(made) or "")
        return
    with pytest.raises(InvalidInputError, match=r"j\.schedulercfg"):
        folder.read(made)


@pytest.mark.parametrize(
    ("operators", "parallelism", "name"),
    [(1, 1, "a"), (2, 300, "a"), (3, 1000, "é" * 300), (2, 30_000, "a")],
    ids=["floor", "short-names", "long-names", "cap"],
)
def test_agent_and_adapter_set_one_limit(
    probe: Probe, operators: int, parallelism: int, name: str
) -> None:
    job = JobGraph.model_validate(
        {
            "name": "j",
            "operators": [
                {
                    "id": f"{i:032x}",
                    "name": name,
                    "parallelism": parallelism,
                    "max_parallelism": 32768,
                }
                for i in range(operators)
            ],
        }
    )
    assert probe("limit", tasks_of(job)) == largest_plan_bytes(job)
