"""Plans with another parallelism, epochs, intervals: what the agent takes, and what it refuses."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.plans.parallelism import rescaled
from edgeplace.adapters.flink.plans.plan_file import Schedulercfg
from edgeplace.adapters.flink.schedulercfg.settings import rendered
from edgeplace.model import Cluster, InvalidInputError, JobGraph, JobUse, Plan

pytestmark = pytest.mark.slow

Probe = Callable[..., Any]

# numbers -FORWARD-> filter -HASH-> count; count has four key groups.
TASKS = b"\n".join(
    [
        b"a" * 32 + b"|2|128|0|numbers",
        b"b" * 32 + b"|2|128|0|filter",
        b"c" * 32 + b"|2|4|2|count",
    ]
)
JOB = JobGraph.model_validate(
    {
        "name": "counting",
        "operators": [
            {"id": "a" * 32, "name": "numbers", "parallelism": 2},
            {"id": "b" * 32, "name": "filter", "parallelism": 2},
            {"id": "c" * 32, "name": "count", "parallelism": 2, "max_parallelism": 4},
        ],
        "streams": [
            {"source": "a" * 32, "target": "b" * 32, "ship_strategy": "FORWARD"},
            {"source": "b" * 32, "target": "c" * 32, "ship_strategy": "HASH"},
        ],
    }
)
CLUSTER = Cluster.model_validate(
    {
        "sites": [{"id": "s"}],
        "nodes": [{"id": "n", "site": "s", "cores": 4}],
        "task_managers": [{"id": "t", "node": "n", "slots": 20}],
    }
)


def plan(numbers: int, filters: int, counts: int, top: str = "") -> str:
    n = {"numbers": numbers, "filter": filters, "count": counts}
    return top + "".join(f"{t} ({i}/{k}); t\n" for t, k in n.items() for i in range(1, k + 1))


@pytest.fixture
def judge(probe: Probe, tmp_path: Path) -> Callable[[str], Any]:
    def judged(text: str) -> Any:
        path = tmp_path / "j.schedulercfg"
        path.write_text(text)
        return probe("judge", TASKS, str(path).encode())

    return judged


@pytest.fixture
def fixed(probe: Probe) -> Iterator[None]:
    probe("fixed", b"this Flink lacks what rescaling needs")
    yield
    probe("fixed", b"")


@pytest.mark.parametrize("n", [(2, 2, 4), (3, 3, 1), (1, 1, 2)])
def test_another_parallelism_is_taken(judge: Callable[[str], Any], n: tuple[int, int, int]) -> None:
    text = plan(*n)
    assert [len(places) for places in judge(text)["places"]] == list(n)
    target = rescaled(Schedulercfg(text), JOB, "it")
    assert tuple(op.parallelism for op in target.operators) == n
    assert schedulercfg.parse(text, job=target, cluster=CLUSTER, dialect="modern")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (plan(2, 2, 5), "'count' has 4 key groups, its max parallelism"),
        (plan(2, 3, 2), "'numbers' and 'filter' are joined by FORWARD and have one parallelism"),
        (plan(2, 2, 2).replace("count (1/2)", "count (1/0)"), "subtasks are numbered 1 to n"),
        (plan(2, 2, 2).replace("count (1/2)", "count (1/3)"), "has 3 in the lines above"),
        (plan(2, 2, 3).replace("count (3/3); t\n", ""), "'count' (3/3) has no line"),
        (plan(2, 2, 2).partition("count")[0], "'count' has no line"),
        (
            plan(2, 2, 2).replace("count (1/2)", "count (1/999999999)"),
            "'count' has 4 key groups",
        ),
    ],
    ids=["key-groups", "forward", "zero", "two-of-one", "lacking", "none", "huge"],
)
def test_a_parallelism_that_cannot_be_is_refused_by_agent_and_adapter(
    judge: Callable[[str], Any], text: str, said: str
) -> None:
    assert any(said in problem for problem in judge(text)["problems"])
    with pytest.raises(InvalidInputError):
        target = rescaled(Schedulercfg(text), JOB, "it")
        schedulercfg.parse(text, job=target, cluster=CLUSTER, dialect="modern")


def test_where_rescaling_lacks_something_the_reason_is_said_and_jobs_are_placed(
    judge: Callable[[str], Any], fixed: None
) -> None:
    assert "places" in judge(plan(2, 2, 2))
    assert "and this Flink lacks what rescaling needs" in judge(plan(2, 2, 3))["problems"][0]


def test_settings_stand_above_the_tasks(probe: Probe) -> None:
    text = plan(2, 2, 2, "# epoch: 17\n# checkpoint-interval-ms: 5000\n")
    read = probe("parse", text.encode())
    assert (read["epoch"], read["interval_ms"], len(read["lines"])) == (17, 5000, 6)
    assert schedulercfg.settings_of(text) == {"epoch": 17, "checkpoint-interval-ms": 5000}
    assert schedulercfg.parse(text, job=JOB, cluster=CLUSTER)
    none = probe("parse", plan(2, 2, 2).encode())
    assert (none["epoch"], none["interval_ms"]) == (0, 0)


def test_a_plan_says_what_it_promises(probe: Probe) -> None:
    promised = Plan(
        jobs={JOB.name: {}},
        uses={JOB.name: JobUse(bytes_per_s={"lyon": {"cloud": 65_000.4}, "cloud": {"nice": 300}})},
        headroom=1.53,
    )
    top = schedulercfg.predictions(promised, JOB.name)
    text = plan(2, 2, 2, rendered(top))
    read = probe("parse", text.encode())
    assert (read["wan"], read["headroom"]) == (65_300, 153)
    assert schedulercfg.parse(text, job=JOB, cluster=CLUSTER)
    silent = probe("parse", plan(2, 2, 2).encode())
    assert (silent["wan"], silent["headroom"]) == (-1, -1)
    assert not schedulercfg.predictions(Plan(jobs={JOB.name: {}}), JOB.name)


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ("# epoch: soon\n", "it is no setting"),
        ("# colour: 3\n", "it is no setting"),
        ("# epoch: 1\n# epoch: 2\n", "has a line already"),
        ("# checkpoint-interval-ms: 3\n", "a checkpoint interval is 10 ms to a year"),
    ],
    ids=["no-number", "unknown", "twice", "too-short"],
)
def test_settings_that_are_wrong_are_refused_by_agent_and_adapter(
    probe: Probe, top: str, said: str
) -> None:
    text = plan(2, 2, 2, top)
    assert said in probe("parse", text.encode())["problems"][0]
    with pytest.raises(InvalidInputError, match=said):
        schedulercfg.parse(text, job=JOB, cluster=CLUSTER, dialect="modern")


def test_settings_below_a_task_are_lines_that_are_none(probe: Probe) -> None:
    text = plan(2, 2, 2) + "# epoch: 3\n"
    assert "it has no '; '" in probe("parse", text.encode())["problems"][0]
    with pytest.raises(InvalidInputError, match="has no '; '"):
        schedulercfg.parse(text, job=JOB, cluster=CLUSTER)


@pytest.mark.parametrize("dialect", ["bu", "capsys"])
def test_forks_know_no_settings(dialect: Any) -> None:
    with pytest.raises(InvalidInputError, match="has no settings"):
        schedulercfg.parse(plan(2, 2, 2, "# epoch: 1\n"), job=JOB, cluster=CLUSTER, dialect=dialect)
