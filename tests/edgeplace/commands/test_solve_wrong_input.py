"""What `edgeplace solve` prints when an option or a file is wrong."""

import json

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import load


@pytest.mark.parametrize("option", ["-o", "--schedulercfg"])
def test_a_file_that_cannot_be_written_is_one_message(edgeplace, job, cluster, tmp_path, option):
    file = tmp_path / "no such folder" / "plan.json"
    ran = edgeplace("solve", job, cluster, option, file)
    assert ran.status == 2
    assert ran.err == (
        f"edgeplace solve: {file}: cannot be written: there is no folder {file.parent}\n"
        f"  cure: make it (mkdir -p {file.parent}), or choose another place\n"
    )


def test_a_folder_is_no_output_file(edgeplace, job, cluster, tmp_path):
    ran = edgeplace("solve", job, cluster, "-o", tmp_path)
    assert ran.status == 2
    assert f"{tmp_path}: cannot be written" in ran.err
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    ("more", "what", "cure"),
    [
        (("--set", "source=5"), "--set 'source=5' is not understood", "rate:SOURCE="),
        (("--set", "rate:source"), "'rate:source' is not understood", "rate:SOURCE=RECORDS_PER_"),
        (("--set", "rate:source=many"), "'rate:source=many' is not", "--set rate:SOURCE=RECORDS_"),
        (("--set", "rate:source=many"), "'rate:source=many' is not", "or rate:SOURCE=x2 to"),
        (("--set", "rate:source=-1"), "'rate:source=-1' is not understood", "rate:SOURCE="),
        (("--set", "rate:source=nan"), "'rate:source=nan' is not understood", "rate:SOURCE="),
        (("--set", "rate:=5"), "'rate:=5' is not understood", "rate:SOURCE="),
        (("--set", "rate:filter=5"), "operator 'filter' has inputs", "set the rate of a source"),
        (("--set", "rate:sauce=5"), "no operator 'sauce'", "its operators are 'source'"),
        (("--objective", "speed"), "'speed' is not understood", "use one of wan, latency"),
        (("--objective", "wan:nan%"), "'wan:nan%' is not understood", "wan:5%"),
        (("--objective", ""), "'' is not understood", "use one of"),
        (("--objective", "wan,wan"), "one twice", "name each term once"),
        (("--gap", "-1"), "--gap '-1' is not a gap from 0 to 1", "write --gap 5% or 0.05"),
        (("--gap", "nan"), "--gap 'nan' is not a gap", "write --gap 5% or 0.05"),
        (("--gap", "5"), "--gap '5' is not a gap from 0 to 1", "write --gap 5% or 0.05"),
        (("--gap", "20"), "--gap '20' is not a gap from 0 to 1", "write --gap 20% or 0.2"),
        (("--time-limit", "-1"), "--time-limit '-1' is not a time", "write seconds, 0 or more"),
        (("--time-limit", "nan"), "--time-limit 'nan' is not a time", "write seconds, 0 or more"),
        (("--time-limit", "soon"), "--time-limit 'soon' is not a time", "write seconds, 0 or more"),
        (("--current", "none"), "none: no such file", "check the path"),
        (("--rules", "none.yaml"), "none.yaml: no such file", "check the path"),
        (("--costs", "none.json"), "none.json: no such file", "check the path"),
    ],
)
def test_a_wrong_option_is_one_message_with_its_cure(edgeplace, job, cluster, more, what, cure):
    ran = edgeplace("solve", job, cluster, *more)
    assert ran.status == 2
    assert ran.err.startswith("edgeplace solve: ")
    said, _, advice = ran.err.partition("\n  cure: ")
    assert what in said
    assert cure in advice
    assert "Traceback" not in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "the file is empty"),
        ("{", "not valid JSON"),
        ("a: [", "not valid YAML"),
        ("- 1", "found a list"),
        ("format: edgeplace/rules", "like a rules file, a cluster file is expected here"),
        ("sites: [{id: a}]\nnodse: []", "nodse (line 2): there is no field of this name here"),
        ("sites: [{id: a}, {id: a}]", "two of kind site have the id 'a'"),
        ("sites: [{id: a}]\nversion: 2", "version 2 of 'edgeplace/cluster' is not known"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(edgeplace, job, tmp_path, text, fragment):
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    ran = edgeplace("solve", job, file)
    assert ran.status == 2
    assert str(file) in ran.err
    assert fragment in ran.err
    assert "  cure: " in ran.err


def test_job_and_cluster_swapped_are_told_apart(edgeplace, job, cluster):
    ran = edgeplace("solve", cluster, job)
    assert ran.status == 2
    assert f"{job}: this looks like a job file, a cluster file is expected here" in ran.err
    assert "swapped" in ran.err


@pytest.mark.parametrize("command", ["solve", "bench"])
def test_files_that_do_not_say_what_they_are_are_told_apart_too(
    edgeplace, job, cluster, tmp_path, command
):
    for file in (job, cluster):
        data = {k: v for k, v in load(file).items() if k not in ("format", "version")}
        (tmp_path / f"bare-{file.name}").write_text(json.dumps(data))
    bare_job, bare_cluster = tmp_path / "bare-job.json", tmp_path / "bare-cluster.yaml"
    ran = edgeplace(command, bare_cluster, bare_job)
    assert ran.status == 2
    assert f"{bare_job}: this looks like a job file, a cluster file is expected here" in ran.err
    ran = edgeplace(command, bare_cluster, bare_cluster)
    assert ran.status == 2
    assert f"{bare_cluster}: this looks like a cluster file, a job file is expected" in ran.err


def test_a_wrong_schedulercfg_is_told_by_line(edgeplace, job, cluster, tmp_path):
    (tmp_path / "cfg").write_text("source (1/4); pi-0\nnonsense\n")
    ran = edgeplace("solve", job, cluster, "--current", tmp_path / "cfg")
    assert ran.status == 2
    assert "line 2: 'nonsense' has no '; '" in ran.err


def test_an_absent_solver_is_refused_with_those_that_are_there(edgeplace, job, cluster):
    ran = edgeplace("solve", job, cluster, "--backend", "pulp:magic")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "there is no back end 'pulp:magic'" in ran.err
    assert "pulp:CBC" in ran.err


@pytest.mark.parametrize("text", ["sink", "sink=0..2", "sink=3..1", "=2", "sink=x"])
def test_a_parallelism_that_is_not_understood_is_refused(edgeplace, job, cluster, text):
    ran = edgeplace("solve", job, cluster, "--parallelism", text)
    assert ran.status == ExitStatus.INVALID_INPUT
    assert "--parallelism" in ran.err
