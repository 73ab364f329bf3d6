"""`flink apply` of a plan for a job whose program was changed, and whose ids are the same."""

import json
from pathlib import Path

import pytest

from edgeplace.cli.exit_status import ExitStatus
from tests.support.flink_case import GOAL, MAP, SINK, SRC, START, assert_untouched

WINDOW = "GlobalWindowAggregate[7] -> (Calc[8], Sink: log[9])"


@pytest.fixture
def job(edgeplace, flink, tmp_path) -> Path:
    """The job file of a SQL job, with costs that a user has stated."""
    flink.jobs[0].vertices[1].name = WINDOW
    path = tmp_path / "job.json"
    cluster = tmp_path / "cluster.yaml"
    ran = edgeplace(
        *("flink", "discover", "--jobmanager", flink.url, "-o", cluster, "--job-out", path)
    )
    assert ran.status is ExitStatus.OK
    document = json.loads(path.read_text())
    for op in document["operators"]:
        measured = {"node_class": "default", "true_rate_per_s": 1000}
        op["cost"] = {"selectivity": 1, "classes": [measured]}
    document["operators"][0]["cost"]["demand"] = {"rates_per_s": [10, 10]}
    for stream in document["streams"]:
        stream["cost"] = {"bytes_per_record": 100}
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def solved(edgeplace, job, tmp_path):
    """Solve, and return the plan."""

    def run() -> Path:
        path = tmp_path / "solved.json"
        ran = edgeplace("solve", job, tmp_path / "cluster.yaml", "-o", path)
        assert ran.status is ExitStatus.OK, ran.err
        # Whatever the solver likes: one that moves something.
        document = json.loads(path.read_text())
        document["jobs"]["wordcount"] = GOAL
        path.write_text(json.dumps(document))
        return path

    return run


def test_the_job_that_was_solved_takes_the_plan(apply, flink, solved):
    assert apply(of=solved()).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == GOAL[MAP]


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (1, "GroupAggregate[7] -> (Calc[8], Sink: log[9])"),
        (1, "GlobalWindowAggregate[7]"),
        (1, "GlobalWindowAggregate[7] -> (Calc[8], Sink: lag[9])"),
        (2, "Sink: elsewhere"),
    ],
    ids=["another operator", "a shorter chain", "another sink in the chain", "one in no chain"],
)
def test_another_program_with_the_same_ids_is_refused(apply, flink, plans, solved, op, name):
    plan = solved()
    former = flink.jobs[0].vertices[op].name
    flink.jobs[0].vertices[op].name = name
    ran = apply(of=plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    said = " ".join(ran.err.split())
    assert f"{plan} was made for other operators than job 'wordcount' has" in said
    assert f"{(SRC, MAP, SINK)[op]} was" in said
    assert f"and is {name!r}" in said
    if op == 2:
        assert f"was {former!r}" in said
    else:
        assert "was 'GlobalWindowAggregate[7] -> Calc[8] -> Sink: log[9]'" in said
    assert "edgeplace flink discover --job-out" in said
    assert "solve again" in said
    assert "`names`" in said
    assert_untouched(flink, plans)


@pytest.mark.parametrize("option", ["--dry-run", "--json"])
def test_it_is_refused_before_anything_is_shown(apply, flink, plans, solved, option):
    plan = solved()
    flink.jobs[0].vertices[1].name = "GroupAggregate[7]"
    assert apply(option, of=plan).status is ExitStatus.INVALID_INPUT
    assert_untouched(flink, plans)


@pytest.mark.parametrize(
    "name",
    [
        "GlobalWindowAggregate[17] -> (Calc[18], Sink: log[19])",
        "GlobalWindowAggregate[7] -> (Calc[8], Sink:  log [9])",
    ],
    ids=["the counters of another submission", "other blanks"],
)
def test_the_same_operators_written_otherwise_are_the_same(apply, flink, solved, name):
    plan = solved()
    flink.jobs[0].vertices[1].name = name
    assert apply(of=plan).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == GOAL[MAP]


def test_a_user_may_rename_operators_in_the_job_file(apply, flink, job, solved):
    document = json.loads(job.read_text())
    for op, name in zip(document["operators"], ("in", "window", "out"), strict=True):
        op["name"] = name
    job.write_text(json.dumps(document))
    assert apply(of=solved()).status is ExitStatus.OK
    assert flink.jobs[0].placement[MAP] == GOAL[MAP]


def test_names_in_a_job_file_of_ones_own_are_taken_for_those_of_flink(
    apply, flink, plans, job, solved
):
    document = json.loads(job.read_text())
    for op in document["operators"]:
        del op["chained"]
    document["operators"][0]["name"] = "my lines"
    document["operators"][2]["name"] = SINK  # As for a job that does not run yet.
    job.write_text(json.dumps(document))
    plan = solved()
    ran = apply(of=plan)
    assert ran.status is ExitStatus.INVALID_INPUT
    said = " ".join(ran.err.split())
    assert f"{SRC} was 'my lines' and is 'Source: lines'" in said
    assert MAP not in said
    assert SINK not in said
    assert_untouched(flink, plans)
    # What the message says to do.
    document = json.loads(plan.read_text())
    del document["names"]["wordcount"][SRC]
    plan.write_text(json.dumps(document))
    assert apply(of=plan).status is ExitStatus.OK


def test_a_plan_without_names_is_good_for_any_operators_of_its_ids(apply, flink, solved):
    plan = solved()
    document = json.loads(plan.read_text())
    del document["names"]
    plan.write_text(json.dumps(document))
    flink.jobs[0].vertices[1].name = "GroupAggregate[7]"
    assert flink.jobs[0].placement == START
    assert apply(of=plan).status is ExitStatus.OK


def test_a_balanced_plan_has_names_too(edgeplace, job, tmp_path):
    path = tmp_path / "balanced.json"
    ran = edgeplace("balance", job, tmp_path / "cluster.yaml", "-o", path)
    assert path.exists(), ran.err
    assert set(json.loads(path.read_text())["names"]["wordcount"]) == {SRC, MAP, SINK}
