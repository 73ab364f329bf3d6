"""`edgeplace.yaml`: what commands take from the folder they stand in, as docs/project.md says."""

import json

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.instances import path
from edgeplace.model import Costs, Pin, Plan, Rules, read, write
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.flink_case import write_plan

USED = "project file: "


@pytest.fixture
def folder(tmp_path, monkeypatch, job, cluster):
    """The current folder, with job.json and cluster.yaml, and no project file."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def project(folder, *lines):
    (folder / "edgeplace.yaml").write_text("\n".join(lines) + "\n")


CASE = ("jobs: [job.json]", "cluster: cluster.yaml")


def levels(ran):
    return [level["name"] for level in json.loads(ran.out)["levels"]]


@pytest.mark.parametrize("command", ["solve", "balance"])
def test_a_case_is_that_of_the_project_file(edgeplace, folder, command):
    project(folder, *CASE)
    here, named = (
        edgeplace(command, "--json"),
        edgeplace(command, *folder.glob("job.json"), "cluster.yaml", "--json"),
    )
    assert here.status is ExitStatus.OK, here.err
    assert here.err == f"{USED}{folder / 'edgeplace.yaml'}\n"
    assert named.err == ""
    assert json.loads(here.out)["plan"] == json.loads(named.out)["plan"]


def test_explain_takes_the_plan_alone(edgeplace, folder):
    project(folder, *CASE)
    ran = edgeplace("solve", "-o", "plan.json")
    assert "next: edgeplace explain plan.json\n" in ran.out
    assert edgeplace("explain", "plan.json").out.startswith("WAN ")


def test_the_next_command_has_what_the_command_line_said(edgeplace, folder):
    project(folder, *CASE)
    write(Rules(), folder / "r.yaml")
    ran = edgeplace("solve", "-o", "plan.json", "--rules", "r.yaml")
    assert "next: edgeplace explain plan.json --rules r.yaml\n" in ran.out


def test_bench_compares_on_the_case_of_the_project_file(edgeplace, folder):
    project(folder, *CASE)
    ran = edgeplace("bench", "--backends", "milp", "--json")
    assert ran.status is ExitStatus.OK, ran.err
    assert [run["instance"] for run in json.loads(ran.out)["runs"]] == ["filter"]


def test_two_jobs(edgeplace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, document in {
        "a": parcels(4),
        "b": forklifts(4),
        "cluster": depots_cluster(4),
    }.items():
        write(document, tmp_path / f"{name}.yaml")
    project(tmp_path, "jobs: [a.yaml, b.yaml]", "cluster: cluster.yaml")
    ran = edgeplace("solve", "-o", "plan.json")
    assert ran.status is ExitStatus.OK, ran.err
    assert read("plan.json", Plan).jobs.keys() == {"parcels", "forklifts"}


def test_rules_of_the_file_hold_and_those_of_the_command_line_go_before(edgeplace, folder, wide):
    project(folder, "jobs: [job.json]", f"cluster: {wide.name}", "rules: pinned.yaml")
    write(Rules(rules=(Pin(operators=("filter",), to="server"),)), folder / "pinned.yaml")
    write(Rules(), folder / "free.yaml")
    pinned = json.loads(edgeplace("solve", "--json").out)["plan"]["jobs"]["filter"]["filter"]
    free = json.loads(edgeplace("solve", "--rules", "free.yaml", "--json").out)
    assert set(pinned) == {"server"}
    assert set(free["plan"]["jobs"]["filter"]["filter"]) != {"server"}


def test_given_costs_replace_those_of_the_file(edgeplace, folder):
    project(folder, *CASE, "costs: [wrong.json]")
    write(Costs(job="filter", operators=()), folder / "right.json")
    (folder / "wrong.json").write_text("{}")
    assert edgeplace("solve", "--costs", "right.json").status is ExitStatus.OK
    assert "wrong.json" in edgeplace("solve").err


def test_a_file_that_is_not_taken_need_not_be_there(edgeplace, folder, flink):
    """As when `flink discover` is to write the cluster file."""
    project(folder, "cluster: found.yaml", "costs: [none.json]", f"jobmanager: {flink.url}")
    ran = edgeplace("flink", "discover", "-o", "found.yaml")
    assert ran.status is ExitStatus.OK, ran.err
    project(folder, *CASE, "costs: [none.json]")
    write(Costs(job="filter", operators=()), folder / "costs.json")
    assert edgeplace("solve", "--costs", "costs.json").status is ExitStatus.OK


def test_costs_know_the_classes_of_the_cluster_of_the_file(edgeplace, folder):
    """A wrong cluster shows that it is read, without Spark."""
    project(folder, "cluster: no.yaml")
    ran = edgeplace("costs", "metrics.jsonl")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "edgeplace.yaml:1: cluster: there is no file 'no.yaml'" in ran.err
    ran = edgeplace("costs", "metrics.jsonl", "--cluster", "other.yaml")
    assert "edgeplace.yaml" not in ran.err


def test_the_objective_of_the_file_holds_unless_another_is_asked_for(edgeplace, folder):
    project(folder, *CASE, 'objective: [latency, "wan:5%"]')
    assert levels(edgeplace("solve", "--json")) == ["latency", "wan"]
    default = "wan,latency,server_cores,moves"
    assert levels(edgeplace("solve", "--objective", default, "--json")) == default.split(",")
    assert levels(edgeplace("solve", "job.json", "cluster.yaml", "--json")) == default.split(",")


def test_what_matters_most_is_taken_unless_an_objective_is_asked_for(edgeplace, folder):
    project(folder, *CASE, "optimise: latency")
    assert levels(edgeplace("solve", "--json"))[:2] == ["latency", "wan"]
    assert levels(edgeplace("solve", "--objective", "wan", "--json")) == ["wan"]
    assert levels(edgeplace("solve", "--optimise", "bytes", "--json"))[:2] == ["wan", "latency"]
    assert "--objective latency,wan" in edgeplace("solve").out


def test_files_on_the_command_line_take_nothing_from_the_file(edgeplace, folder):
    project(folder, "this is: [no project file")
    ran = edgeplace("solve", "job.json", "cluster.yaml")
    assert (ran.status, ran.err) == (ExitStatus.OK, "")


def test_a_project_file_above_is_named_and_not_used(edgeplace, folder, monkeypatch):
    project(folder, *CASE)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    ran = edgeplace("solve")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "there is no edgeplace.yaml in this folder" in ran.err
    assert f"cure: cd {folder}, or give JOB ... CLUSTER" in ran.err


def test_without_a_project_file_the_cure_is_init(edgeplace, folder):
    ran = edgeplace("solve")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "cure: give JOB ... CLUSTER, or write one: edgeplace init" in ran.err


@pytest.mark.parametrize(
    ("lines", "said", "cure"),
    [
        (("jobs: [job.jsn]", "cluster: cluster.yaml"), "edgeplace.yaml:1: jobs.0", "'job.json'"),
        (("jobs: [job.json]", "", "cluster: a/c.yaml"), "edgeplace.yaml:3: cluster", "starts from"),
        (("jobs: job.json", "cluster: cluster.yaml"), "jobs (line 1)", "[job.json]"),
        (("jobs: [job.json]", "clustr: cluster.yaml"), "clustr (line 2)", "'cluster'"),
        ((*CASE, "objective: [latncy]"), "objective.0 (line 3)", "'latency'"),
        ((*CASE, "optimise: latncy"), "optimise (line 3)", "'latency'"),
        ((*CASE, "optimise: bytes", "objective: [wan]"), "both 'objective'", "leave one"),
        ((*CASE, "objective: [wan, wan:5%]"), "objective (line 3)", "name each term once"),
        (("cluster: cluster.yaml",), "no field 'jobs'", "jobs: [job.yaml]"),
        (("jobs: [job.json]",), "no field 'cluster'", "cluster: cluster.yaml"),
        (("jobs: [1]", "cluster: x"), "jobs.0 (line 1)", "quotes"),
    ],
)
def test_a_wrong_project_file_is_refused_with_line_and_cure(edgeplace, folder, lines, said, cure):
    project(folder, *lines)
    ran = edgeplace("solve")
    assert ran.status is ExitStatus.INVALID_INPUT
    what, _, cures = ran.err.partition("cure: ")
    assert said in what
    assert cure in cures


def test_the_project_file_is_not_overwritten(edgeplace, folder):
    project(folder, *CASE)
    ran = edgeplace("solve", "-o", "edgeplace.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert (folder / "edgeplace.yaml").read_text().startswith("jobs:")


def test_flink_takes_the_jobmanager(edgeplace, folder, flink):
    project(folder, f"jobmanager: {flink.url}")
    ran = edgeplace("flink", "discover", "--json")
    assert ran.status is ExitStatus.OK, ran.err
    assert f"(jobmanager {flink.url})" in ran.err


def test_a_plan_is_applied_to_the_jobmanager_of_the_file(edgeplace, folder, flink):
    write_plan(folder / "plan.json")
    project(folder, f"jobmanager: {flink.url}", "plans: plans")
    ran = edgeplace("flink", "apply", "plan.json", "--dry-run")
    assert ran.status is ExitStatus.OK, ran.err
    assert "the plan file is plans/" in ran.out


def test_a_given_jobmanager_stands_alone(edgeplace, folder, flink):
    project(folder, "jobmanager: http://127.0.0.1:1", "cluster: nowhere.yaml")
    ran = edgeplace("flink", "doctor", "--jobmanager", flink.url)
    assert USED not in ran.err
    assert "nowhere" not in ran.err


@pytest.mark.parametrize("command", ["doctor", "discover", "collect"])
def test_flink_without_a_jobmanager_says_what_to_give(edgeplace, folder, command):
    ran = edgeplace("flink", command)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "--jobmanager is missing" in ran.err
    project(folder, *CASE)
    ran = edgeplace("flink", command)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "add `jobmanager: http://localhost:8081`" in ran.err


def test_paths_start_from_the_project_file(edgeplace, folder, monkeypatch):
    """Also where `validate` is given a project file elsewhere."""
    project(folder, *CASE)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert edgeplace("validate", "../edgeplace.yaml").status is ExitStatus.OK


@pytest.mark.slow
def test_the_forty_depots(edgeplace, monkeypatch):
    """What instances/depots/README.md says."""
    monkeypatch.chdir(path("depots"))
    assert edgeplace("validate").status is ExitStatus.OK
    ran = edgeplace("solve")
    assert ran.status is ExitStatus.OK, ran.err
    assert "forklifts" in ran.out


ENVIRONMENTS = (
    *CASE,
    "jobmanager: http://127.0.0.1:1",
    "credentials: secret.yaml",
    "environments:",
    "  prod: {jobmanager: '%s'}",
    "  tight: {rules: r.yaml}",
)


def in_environments(folder, flink):
    """A project whose own JobManager takes a password, and whose `prod` is a Flink of memory."""
    (folder / "secret.yaml").write_text("token: s3cret\n")
    (folder / "secret.yaml").chmod(0o600)
    write(Rules(rules=(Pin(operators=("filter",), to="cloud"),)), folder / "r.yaml")
    project(folder, *ENVIRONMENTS[:-2], ENVIRONMENTS[-2] % flink.url, ENVIRONMENTS[-1])


def test_an_environment_has_its_own_jobmanager_and_no_password_of_another(edgeplace, folder, flink):
    in_environments(folder, flink)
    ran = edgeplace("flink", "doctor", "--env", "prod")
    assert ran.status is ExitStatus.OK, ran.err
    assert f"(environment prod, jobmanager {flink.url})" in ran.err
    assert not any("Authorization" in headers for headers in flink.headers)


def test_an_environment_replaces_only_what_it_names(edgeplace, folder, flink):
    in_environments(folder, flink)
    assert edgeplace("solve").status is ExitStatus.OK
    # The filter in the cloud is more than the links carry.
    assert edgeplace("solve", "--env", "tight").status is ExitStatus.INFEASIBLE


def test_the_shell_names_an_environment(edgeplace, folder, flink, monkeypatch):
    in_environments(folder, flink)
    monkeypatch.setenv("EDGEPLACE_ENV", "prod")
    assert edgeplace("flink", "doctor").status is ExitStatus.OK
    assert edgeplace("solve", "--env", "tight").status is ExitStatus.INFEASIBLE
    assert edgeplace("solve", "job.json", "cluster.yaml").status is ExitStatus.OK


@pytest.mark.slow
def test_the_shell_names_a_jobmanager_that_goes_before_the_file(
    edgeplace, folder, flink, monkeypatch
):
    in_environments(folder, flink)
    monkeypatch.setenv("EDGEPLACE_JOBMANAGER", flink.url)
    ran = edgeplace("flink", "doctor")
    assert ran.status is ExitStatus.OK, ran.err
    assert f"jobmanager: {flink.url} (EDGEPLACE_JOBMANAGER)" in ran.err
    assert not any("Authorization" in headers for headers in flink.headers)
    asked = edgeplace("flink", "doctor", "--jobmanager", "http://127.0.0.1:1")
    assert asked.status is ExitStatus.UNREACHABLE


@pytest.mark.parametrize(
    ("argv", "what", "cure"),
    [
        (("solve", "--env", "prd"), "no environment 'prd'", "did you mean 'prod'?"),
        (("solve", "--env", "zzz"), "no environment 'zzz'", "it has prod, tight"),
        (("solve", "job.json", "cluster.yaml", "--env", "prod"), "JOB and CLUSTER", "one of the"),
        (("flink", "doctor", "--jobmanager", "u", "--env", "prod"), "--jobmanager", "one of the"),
        (("validate", "--env", "prd"), "no environment 'prd'", "did you mean 'prod'?"),
    ],
)
def test_a_wrong_environment_is_refused(edgeplace, folder, flink, argv, what, cure):
    in_environments(folder, flink)
    ran = edgeplace(*argv)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert what in ran.err
    assert cure in ran.err


def test_validate_checks_the_files_of_every_environment(edgeplace, folder, flink):
    in_environments(folder, flink)
    assert edgeplace("validate").status is ExitStatus.OK
    (folder / "r.yaml").unlink()
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "edgeplace.yaml:7: environments.tight.rules: there is no file 'r.yaml'" in ran.err
    assert edgeplace("validate", "--env", "prod").status is ExitStatus.OK


def test_a_misspelled_field_of_an_environment_is_named(edgeplace, folder):
    project(folder, *CASE, "environments:", "  prod: {jobmanger: x}")
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "edgeplace.yaml:4: environments.prod.jobmanger" in ran.err
    assert "'jobmanager'" in ran.err
