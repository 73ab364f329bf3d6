"""`edgeplace balance`: its figures are those of the library."""

import json

import pytest

import edgeplace as package
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Cluster, JobGraph, Plan, read, write
from edgeplace.solver import evaluate
from edgeplace.solver.worker_load import fullest_worker

PIS = tuple(f"pi-{i}" for i in range(4))


@pytest.fixture
def on_pis(tmp_path):
    """Filters beside their sources: what `solve` answers."""
    write(
        Plan(jobs={"filter": {"source": PIS, "filter": PIS, "sink": ("server",)}}),
        tmp_path / "pis.json",
    )
    return tmp_path / "pis.json"


def test_balance_is_in_the_library(job, cluster):
    found = package.balance(read(job, JobGraph), read(cluster, Cluster))
    assert found.proved
    assert found.largest_load == pytest.approx(5 / 34)
    fullest = fullest_worker(read(job, JobGraph), read(cluster, Cluster), found.plan)
    assert fullest.largest_load == pytest.approx(found.largest_load)


def test_the_table_has_the_fullest_worker_before_and_after(edgeplace, job, cluster, on_pis):
    ran = edgeplace("balance", job, cluster, "--current", on_pis)
    assert ran.status is ExitStatus.OK
    table = ran.out.partition("the fullest TaskManager\n")[2].splitlines()
    # Each source sends 600 records/s of 100 bytes; beside it, the filter keeps 70 %.
    before = ["current", "pi-0", "0.394", "%", "0", "B/s", "42", "kB/s", "0.230049"]
    after = ["balanced", "pi-0", "0.0187", "%", "0", "B/s", "60", "kB/s", "0.147059"]
    assert [row.split() for row in table[1:3]] == [before, after]
    assert "optimal: load 0.147059, no plan has less than 0.147059" in ran.out


def test_what_the_plan_exceeds_is_named(edgeplace, job, cluster, wide):
    exceeds = "this plan exceeds link bandwidth pi-0 -> cloud 60 kB/s of 50 kB/s"
    assert exceeds in edgeplace("balance", job, cluster).out
    assert "exceeds" not in edgeplace("balance", job, wide).out


def test_json_and_the_file_have_the_same_plan(edgeplace, job, cluster, on_pis, tmp_path):
    out = tmp_path / "plan.json"
    ran = edgeplace("balance", job, cluster, "--current", on_pis, "-o", out, "--json")
    found = json.loads(ran.out)
    plan = read(out, Plan)
    assert Plan.model_validate(found["plan"]) == plan
    models = read(job, JobGraph), read(cluster, Cluster)
    assert found["status"] == "optimal"
    assert found["proved"] is True
    assert found["largest_load"] == fullest_worker(*models, plan).largest_load
    assert found["before"]["largest_load"] > found["after"]["largest_load"] == found["largest_load"]
    exceeded = evaluate(*models, plan).violations
    assert [v["where"] for v in found["exceeded"]] == [v.where for v in exceeded]


def test_without_slots_there_is_no_plan(edgeplace, job, filter_model, tmp_path):
    cluster = filter_model[1]
    few = tuple(t.model_copy(update={"slots": 1}) for t in cluster.task_managers)
    write(cluster.model_copy(update={"task_managers": few}), tmp_path / "few.yaml")
    ran = edgeplace("balance", job, tmp_path / "few.yaml", "--json")
    assert ran.status is ExitStatus.INFEASIBLE
    assert json.loads(ran.out)["status"] == "infeasible"
    said = edgeplace("balance", job, tmp_path / "few.yaml")
    assert "no plan exists: subtasks do not fit the slots" in said.out


def test_a_current_placement_that_is_not_known_is_a_note(edgeplace, job, cluster, tmp_path):
    gone = {"source": PIS, "filter": ("gone",) * 4, "sink": ("server",)}
    write(Plan(jobs={"filter": gone}), tmp_path / "gone.json")
    ran = edgeplace("balance", job, cluster, "--current", tmp_path / "gone.json")
    assert ran.status is ExitStatus.OK
    assert "note: the current placement is not compared: the plan has" in ran.out
    assert "TaskManager 'gone'" in ran.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--time-limit", "-1"), "--time-limit '-1' is not a time"),
        (("-o", "/no/such/folder/plan.json"), "cannot be written"),
        (("--costs", "none.json"), "none.json: no such file"),
    ],
)
def test_bad_input_is_one_message(edgeplace, job, cluster, more, said):
    ran = edgeplace("balance", job, cluster, *more)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err
    assert ran.out == ""
