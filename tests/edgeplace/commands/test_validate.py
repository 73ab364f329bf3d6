"""`edgeplace validate`: every mistake with its file, its line and its cure (docs/project.md)."""

import json

import pytest
import yaml

from edgeplace.cli.exit_status import ExitStatus

JOB = """\
name: count
operators:
  - id: sensors
    name: sensors
    parallelism: 2
    born_at: [north, south]
    cost:
      demand: {rates_per_s: [10]}
      classes: [{node_class: pi, true_rate_per_s: 100}]
  - id: sum
    name: sum
    parallelism: 1
    cost: {classes: [{node_class: pi, true_rate_per_s: 100}]}
streams:
  - {source: sensors, target: sum, ship_strategy: HASH, cost: {bytes_per_record: 10}}
"""
CLUSTER = """\
sites: [{id: north}, {id: south}]
nodes:
  - {id: n, site: north, node_class: pi, cores: 4, slots: 4, labels: {gpu: "yes"}}
  - {id: s, site: south, node_class: pi, cores: 4, slots: 4}
links:
  - {source: north, target: south, both_ways: true}
"""
RULES = """\
rules:
  - kind: pin
    operators: [sum]
    to: north
  - kind: match
    operators: [sum]
    labels: {gpu: "yes"}
  - {kind: own_data, operators: [sum], open_sites: [nor*]}
"""
COSTS = """\
job: count
operators:
  - operator: sum
    selectivity: 1
streams:
  - {source: sensors, target: sum, bytes_per_record: 20}
"""
FILES = {
    "edgeplace.yaml": "jobs: [job.yaml]\ncluster: cluster.yaml\ncosts: [costs.yaml]\n"
    "rules: rules.yaml\n",
    "job.yaml": JOB,
    "cluster.yaml": CLUSTER,
    "rules.yaml": RULES,
    "costs.yaml": COSTS,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def line_of(text, part):
    """Return the line on which a part of a text is, from 1."""
    (line,) = (i for i, line in enumerate(text.split("\n"), 1) if part in line)
    return line


def test_a_valid_project(edgeplace, folder):
    ran = edgeplace("validate")
    assert (ran.status, ran.err) == (ExitStatus.OK, "")
    for name in FILES:
        assert f"\n{name}" in ran.out
    for said in (
        "costs against jobs",
        "jobs against the cluster",
        "rules against jobs and the clus",
    ):
        assert said in ran.out
    assert ran.out.endswith("valid\n")


def test_files_in_any_order(edgeplace, folder):
    ran = edgeplace("validate", "rules.yaml", "cluster.yaml", "costs.yaml", "job.yaml", "--json")
    found = json.loads(ran.out)
    assert found["valid"] is True
    assert [file["kind"] for file in found["files"]] == ["rules", "cluster", "costs", "job"]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "at", "cure"),
    [
        ("job.yaml", "parallelism: 2", "paralelism: 2", "paralelism: 2", "'parallelism'"),
        ("job.yaml", "[north, south]", "[north, sout]", "sout]", "'south'"),
        ("job.yaml", "target: sum,", "target: summ,", "summ", "correct what is named"),
        ("job.yaml", "born_at: [north, south]", "born_at: [north, south, n]", "- id: sensors", ""),
        ("cluster.yaml", "site: south,", "site: sout,", "{id: s,", "correct what is named"),
        ("cluster.yaml", "{id: s,", "{id: n,", "site: south,", ""),
        (
            "cluster.yaml",
            "cores: 4, slots: 4}",
            "cores: 4 Mbit, slots: 4}",
            "Mbit",
            "write a number",
        ),
        ("cluster.yaml", "target: south,", "target: soth,", "soth", ""),
        ("rules.yaml", "to: north", "to: nort", "to: nort", "'north'"),
        ("rules.yaml", 'labels: {gpu: "yes"}', 'labels: {gpu: "no"}', "labels:", "'gpu'"),
        ("rules.yaml", "[nor*]", "[noth]", "noth", "'north'"),
        ("rules.yaml", "to: north", "to: north\n    job: cuont", "cuont", "'count'"),
        ("costs.yaml", "job: count", "job: count\nx: 1", "x: 1", "leave 'x' out"),
        ("costs.yaml", "- operator: sum", "- operator: sun", "sun", "'sum'"),
        ("costs.yaml", "{source: sensors", "{source: sensor", "sensor,", "'sensors'"),
        (
            "edgeplace.yaml",
            "cluster: cluster.yaml",
            "cluster: clustr.yaml",
            "clustr",
            "'cluster.yaml'",
        ),
        ("edgeplace.yaml", "rules: r", "rule: r", "rule: r", "'rules'"),
    ],
)
def test_a_mistake_has_file_line_and_cure(edgeplace, folder, file, right, wrong, at, cure):
    text = FILES[file].replace(right, wrong, 1)
    assert text != FILES[file]
    (folder / file).write_text(text)
    ran = edgeplace("validate", "--json")
    assert ran.status is ExitStatus.INVALID_INPUT
    (mistake,) = json.loads(ran.out)["mistakes"]
    assert (mistake["file"], mistake["line"]) == (file, line_of(text, at))
    assert cure in mistake["cure"]
    shown = edgeplace("validate")
    assert f"{file}:{mistake['line']}: " in shown.err
    assert shown.err.endswith("1 mistake\n")


def test_all_mistakes_are_said_at_once(edgeplace, folder):
    (folder / "job.yaml").write_text(JOB.replace("name: sum", "nme: sum"))
    (folder / "cluster.yaml").write_text("sites: [{id: north]\n")
    ran = edgeplace("validate")
    assert "job.yaml:11: " in ran.err
    assert "cluster.yaml:1: not valid YAML" in ran.err


def test_costs_of_a_job_that_is_not_there(edgeplace, folder):
    (folder / "other.yaml").write_text(JOB.replace("name: count", "name: other"))
    (folder / "costs.yaml").write_text(COSTS.replace("job: count", "job: cuont"))
    (folder / "edgeplace.yaml").write_text(
        FILES["edgeplace.yaml"].replace("[job.yaml]", "[job.yaml, other.yaml]")
    )
    ran = edgeplace("validate")
    assert "costs.yaml:1: job: there is no job 'cuont'\n  cure: did you mean 'count'?" in ran.err


def test_two_jobs_of_one_name(edgeplace, folder):
    (folder / "again.yaml").write_text(JOB)
    ran = edgeplace("validate", "job.yaml", "again.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "again.yaml:1: name: job.yaml has a job named 'count' too" in ran.err
    assert "cure: give each job a name of its own" in ran.err


@pytest.mark.parametrize(
    ("right", "wrong", "at", "said"),
    [
        ("jobs: [job.yaml]", "jobs:\n  - job.yaml\n  - job.yaml", 3, "jobs.1: 'job.yaml' is there"),
        ("jobs: [job.yaml]", "jobs:\n  - job.yaml\n  - ./job.yaml", 3, "first time as 'job.yaml'"),
        ("[costs.yaml]", "[costs.yaml,\n  costs.yaml]", 4, "costs.1: 'costs.yaml' is there twice"),
        (
            "rules: rules.yaml",
            "environments:\n  prod:\n    costs: [costs.yaml, costs.yaml]",
            6,
            "environments.prod.costs.1: 'costs.yaml' is there twice",
        ),
    ],
)
def test_a_file_that_a_project_names_twice(edgeplace, folder, right, wrong, at, said):
    (folder / "edgeplace.yaml").write_text(FILES["edgeplace.yaml"].replace(right, wrong))
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"edgeplace.yaml:{at}: " in ran.err
    assert said in ran.err
    assert ran.err.endswith("cure: leave one of the two out\n1 mistake\n")
    if "prod" not in wrong:
        solved = edgeplace("solve")
        assert solved.status is ExitStatus.INVALID_INPUT
        assert said in solved.err


def test_a_file_that_is_given_twice(edgeplace, folder):
    ran = edgeplace("validate", "job.yaml", "cluster.yaml", "./job.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "./job.yaml: the file is given twice\n  cure: give it once\n1 mistake" in ran.err
    ran = edgeplace("solve", "job.yaml", "job.yaml", "cluster.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "job.yaml is given twice\n  cure: give each job once" in ran.err


def test_two_costs_of_one_job(edgeplace, folder):
    (folder / "more.yaml").write_text(COSTS)
    (folder / "other.yaml").write_text(JOB.replace("name: count", "name: other"))
    ran = edgeplace("validate", "job.yaml", "other.yaml", "costs.yaml", "more.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "more.yaml:1: job: costs.yaml has costs of job 'count' too" in ran.err


@pytest.mark.parametrize(
    ("url", "said", "cure"),
    [
        ("localhost:8081", "does not begin with http", "write http://localhost:8081"),
        ("htp://flink:8081", "does not begin with http", "write http://flink:8081"),
        ("http:/flink:8081", "does not begin with http", "write http://flink:8081"),
        ("http://", "does not begin with http", "write http://HOST:8081"),
        ("http://:8081", "it has no host", "write http://HOST:8081"),
        ("http://flink:99999", "its port is no number from 1 to 65535", "write http://HOST"),
        ("http://flink:0", "its port is no number from 1 to 65535", "write http://HOST"),
        ("http://flink:port", "its port is no number from 1 to 65535", "write http://HOST"),
        ("http://my flink:8081", "its host has characters", "write http://HOST"),
        ("http://${HOST}:8081", "its host has characters", "write http://HOST"),
        ("http://[::1:8081", "is no URL", "write http://HOST"),
        ("http://me:secret@flink:8081", "holds a user or a password", "`credentials`"),
        ("http://flink:8081?token=secret", "a part behind ?", "write http://HOST"),
    ],
)
@pytest.mark.parametrize("environment", [False, True])
def test_an_address_of_a_wrong_form(edgeplace, folder, url, said, cure, environment):
    text = FILES["edgeplace.yaml"]
    text += "environments:\n  prod:\n    " if environment else ""
    (folder / "edgeplace.yaml").write_text(f"{text}jobmanager: '{url}'\n")
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    line = len(FILES["edgeplace.yaml"].splitlines()) + (3 if environment else 1)
    home = "environments.prod." if environment else ""
    assert f"edgeplace.yaml:{line}: {home}jobmanager: the address " in ran.err
    assert said in ran.err
    assert cure in ran.err.partition("cure: ")[2]
    assert "secret" not in ran.err
    assert ran.err.endswith("1 mistake\n")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8081",
        "https://flink.example/ui/",
        "http://[::1]:8081",
        "http://job_manager:8081",
        "HTTP://10.0.0.1",
    ],
)
def test_an_address_of_a_right_form(edgeplace, folder, url):
    (folder / "edgeplace.yaml").write_text(f"{FILES['edgeplace.yaml']}jobmanager: '{url}'\n")
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK, ran.err


@pytest.mark.parametrize(
    ("currency", "cure"),
    [
        ("€", "write EUR"),
        ("euro", "write EUR"),
        ("Euros", "write EUR"),
        ("eur", "write EUR"),
        ("$", "write USD"),
        ("doubloon", "write the code, such as EUR or USD"),
        ("5", "write the code, such as EUR or USD"),
    ],
)
@pytest.mark.parametrize("short", [False, True])
def test_a_currency_that_is_no_code(edgeplace, folder, currency, cure, short):
    text = CLUSTER.replace("both_ways: true", "price_per_byte: 4 EUR/GB, both_ways: true")
    if short:
        text = text.replace("id: n,", 'id: "n*", count: 2,')
    (folder / "cluster.yaml").write_text(f"{text}currency: {currency}\n")
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert (
        f"cluster.yaml:{len(text.splitlines()) + 1}: currency: a currency is written as" in ran.err
    )
    assert f"cure: {cure}\n1 mistake\n" in ran.err


def test_what_only_all_files_together_show(edgeplace, folder):
    """A source that is born nowhere, which is right in a job file alone."""
    (folder / "job.yaml").write_text(JOB.replace("    born_at: [north, south]\n", ""))
    assert edgeplace("validate", "job.yaml").status is ExitStatus.OK
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "source sensors (1/2) has no place where its data is born" in ran.err


def test_a_job_without_costs_is_noted(edgeplace, folder):
    job = yaml.safe_load(JOB)
    for part in (*job["operators"], *job["streams"]):
        part.pop("cost")
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    ran = edgeplace("validate", "job.yaml", "cluster.yaml")
    assert ran.status is ExitStatus.OK, ran.err
    assert "has no costs yet" in ran.out


def test_a_class_of_costs_that_no_node_has_is_noted(edgeplace, folder):
    (folder / "job.yaml").write_text(
        JOB.replace(
            "classes: [{node_class: pi,",
            "classes: [{node_class: pii, true_rate_per_s: 1}, {node_class: pi,",
            1,
        )
    )
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.OK
    assert (
        "job.yaml has costs on node class 'pii', and the cluster has none; is it 'pi'?" in ran.out
    )


def test_what_validate_calls_valid_can_be_solved(edgeplace, folder):
    assert edgeplace("validate").status is ExitStatus.OK
    assert edgeplace("solve").status in (ExitStatus.OK, ExitStatus.INFEASIBLE)


@pytest.mark.parametrize("text", ["", "nothing: known\n", "[1, 2]\n", "just text\n"])
def test_a_file_of_no_kind(edgeplace, folder, text):
    (folder / "x.yaml").write_text(text)
    ran = edgeplace("validate", "x.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert ran.err.startswith("x.yaml: ")


def test_an_empty_folder(edgeplace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = edgeplace("validate")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "edgeplace init" in ran.err
