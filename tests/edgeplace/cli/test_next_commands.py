"""The commands that commands print to be copied: each runs as it stands, on the same case."""

import json
import shlex

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import PROJECT_FILE, Rules, write
from tests.support.fake_flink import FakeFlink
from tests.support.seeds import filter_cluster, filter_job


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, whose files have blanks and quotes in their names."""
    monkeypatch.chdir(tmp_path)
    write(filter_job(pi_rate_per_s=50_000.0), tmp_path / "my job.json")
    write(filter_cluster(), tmp_path / "it's a cluster.yaml")
    write(filter_cluster(bandwidth_bytes_per_s=1e7), tmp_path / "prod cluster.yaml")
    write(Rules(), tmp_path / "no rules.yaml")
    return tmp_path


CASE = ("my job.json", "it's a cluster.yaml")
PROJECT = """\
jobs: [my job.json]
cluster: "it's a cluster.yaml"
environments:
  prod: {cluster: prod cluster.yaml}
"""


def printed(text, before):
    """Return the words of the command that is printed behind a text."""
    (line,) = (line for line in text.splitlines() if line.startswith(before))
    words = shlex.split(line.removeprefix(before))
    assert words[0] == "edgeplace"
    return words[1:]


def followed(edgeplace, solved, objective):
    """Return the answer of the command that `solve` names, which judges by an objective."""
    assert solved.status is ExitStatus.OK, solved.err
    words = printed(solved.out, "next: ")
    ran = edgeplace(*words, "--json")
    assert ran.status is ExitStatus.OK, ran.err
    found = json.loads(ran.out)
    assert list(found["terms"]) == objective
    assert found["holds"]
    return found


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        ((), ["wan", "latency", "server_cores", "moves"]),
        (("--objective", "latency,wan:5%"), ["latency", "wan"]),
        (("--optimise", "latency"), ["latency", "wan", "server_cores", "moves"]),
        (("--rules", "no rules.yaml", "--objective", "wan"), ["wan"]),
    ],
)
@pytest.mark.parametrize("given", [CASE, ()])
def test_the_case_of_solve_is_explained(edgeplace, folder, given, options, objective):
    if not given:
        (folder / "edgeplace.yaml").write_text(PROJECT)
    followed(edgeplace, edgeplace("solve", *given, *options, "-o", "a plan.json"), objective)


def test_the_environment_is_kept(edgeplace, folder):
    (folder / "edgeplace.yaml").write_text(PROJECT)
    solved = edgeplace("solve", "--env", "prod", "-o", "plan.json", "--objective", "latency")
    assert "--env prod" in solved.out
    found = followed(edgeplace, solved, ["latency"])
    # The links of this environment are wider.
    here = json.loads(edgeplace("explain", "plan.json", "--json").out)
    assert here["binding"] != found["binding"]


def test_plans_of_other_jobs_and_current_ones_are_kept(edgeplace, folder):
    other = filter_job(pi_rate_per_s=50_000.0).revised(name="other")
    write(other, folder / "other.json")
    case = (CASE[0], "prod cluster.yaml")
    edgeplace("solve", "other.json", case[1], "-o", "other plan.json")
    edgeplace("solve", *case, "-o", "now.json")
    solved = edgeplace(
        "solve", *case, "--taken", "other plan.json", "--current", "now.json", "-o", "next.json"
    )
    words = printed(solved.out, "next: ")
    assert words[words.index("--taken") + 1] == "other plan.json"
    assert words[words.index("--current") + 1] == "now.json"
    followed(edgeplace, solved, ["wan", "latency", "server_cores", "moves"])


@pytest.mark.parametrize("setting", ["node:pi-0=lost", "site:pi-1=lost", "rate=x0.5", "slots:*=+2"])
def test_a_plan_of_a_supposed_case_is_explained_as_it_supposes(edgeplace, folder, setting):
    """A plan without a lost site broke the rule of the source that is born there."""
    solved = edgeplace("solve", *CASE, "--set", setting, "-o", "a plan.json", "--json")
    assert solved.status is ExitStatus.OK, solved.err
    wan = json.loads(solved.out)["evaluation"]["wan_bytes_per_s"]
    solved = edgeplace("solve", *CASE, "--set", setting, "-o", "a plan.json")
    found = followed(edgeplace, solved, ["wan", "latency", "server_cores", "moves"])
    assert found["terms"]["wan"] == pytest.approx(wan)
    assert f"as a plan.json supposes: {setting}" in found["notes"]


def test_a_command_is_one_line_on_a_narrow_terminal(on_terminal, folder):
    ran = on_terminal("solve", *CASE, "-o", "a plan.json", "--objective", "wan", columns=40)
    assert printed(ran.out, "next: ")[-2:] == ["--objective", "wan"]


def test_a_plan_on_standard_output_need_not_be_kept(edgeplace, folder):
    ran = edgeplace("solve", *CASE, "-o", "-")
    assert "next: --full shows every subtask\n" in ran.err
    assert "next: -o plan.json keeps this plan; " in edgeplace("solve", *CASE).out


def test_the_subtask_that_explain_names_can_be_asked_for(edgeplace, folder):
    edgeplace("solve", *CASE, "-o", "plan.json")
    ran = edgeplace("explain", *CASE, "plan.json")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("more: --subtask "))
    option, name = shlex.split(line.removeprefix("more: ").partition(" for every")[0])
    asked = edgeplace("explain", *CASE, "plan.json", option, name)
    assert asked.status is ExitStatus.OK, asked.err


def test_init_validate_and_solve_follow_one_another(edgeplace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "next: edgeplace validate, then edgeplace solve\n" in edgeplace("init", "a b", "c").out
    assert edgeplace("validate").status is ExitStatus.OK
    assert edgeplace("solve").status is ExitStatus.OK


@pytest.mark.parametrize("by", ["option", "project", "environment", "variable"])
def test_a_placement_of_now_can_be_applied_as_discover_says(
    edgeplace, tmp_path, monkeypatch, plans, by
):
    monkeypatch.chdir(tmp_path)
    with FakeFlink(plans) as flink:
        where = {"option": ("--jobmanager", flink.url), "environment": ("--env", "prod")}.get(
            by, ()
        )
        if by in ("project", "environment"):
            text = f"jobmanager: {flink.url if by == 'project' else 'http://127.0.0.1:1'}\n"
            text += f"environments: {{prod: {{jobmanager: '{flink.url}'}}}}\n"
            (tmp_path / "edgeplace.yaml").write_text(text)
        if by == "variable":
            monkeypatch.setenv("EDGEPLACE_JOBMANAGER", flink.url)
        ran = edgeplace("flink", "discover", *where, "--plan-out", "a plan.schedulercfg")
        assert ran.status is ExitStatus.OK, ran.err
        words = printed(ran.out, "edit a plan.schedulercfg, then: ")
        assert ("--jobmanager" in words) == (by == "option")
        ran = edgeplace(*words, "--plans", plans)
        assert ran.status is ExitStatus.OK, ran.err


@pytest.mark.parametrize("with_project", [False, True])
def test_what_was_collected_can_be_measured_as_it_is_said(
    edgeplace, tmp_path, monkeypatch, with_project
):
    monkeypatch.chdir(tmp_path)
    with FakeFlink(None) as flink:
        name = "my cluster.yaml" if with_project else "cluster.yaml"
        edgeplace("flink", "discover", "--jobmanager", flink.url, "-o", name)
        if with_project:
            text = f"cluster: {name}\njobmanager: {flink.url}\n"
            (tmp_path / PROJECT_FILE).write_text(text)
        where = () if with_project else ("--jobmanager", flink.url)
        span = ("--duration", "1s", "--interval", "0.6", "-o", "my metrics")
        ran = edgeplace("flink", "collect", *where, *span)
        assert ran.status is ExitStatus.OK, ran.err
    words = printed(ran.out, "measure: ")
    assert words[:2] == ["costs", "my metrics"]
    assert ("--cluster" in words) != with_project
    # One second has no costs; that all files are read is enough.
    ran = edgeplace(*words)
    assert "no such file" not in ran.err
    assert "unrecognized" not in ran.err
