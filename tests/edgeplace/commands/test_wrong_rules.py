"""A rule that fits neither jobs nor cluster: each command that reads it says file and line."""

import pytest

from edgeplace.cli.exit_status import ExitStatus

FILES = {
    "rules": "rules:\n  - {kind: exclusive, operators: [sink]}\n  - %s\n",
    "wishes": "wishes:\n  - {kind: spread, operators: [sink]}\n  - %s\n",
}
WRONG = [
    ("rules", "{kind: pin, operators: [nope], to: cloud}", "'nope'"),
    ("rules", "{kind: pin, operators: [sink], to: clod}", "'clod'"),
    ("rules", "{kind: pin, operators: [sink], subtasks: [7], to: cloud}", "no subtask 7"),
    ("rules", "{kind: pin, job: other, operators: [sink], to: cloud}", "'other'"),
    ("rules", "{kind: colocate, operators: [filter, sink]}", "parallelisms"),
    ("rules", "{kind: own_data, operators: [nope]}", "'nope'"),
    ("rules", "{kind: never_move, operators: [sink]}", "needs a current placement"),
    ("rules", "{kind: own_data, operators: [sink], open_sites: [nowhere]}", "'nowhere'"),
    ("wishes", "{kind: pin, operators: [nope], to: cloud}", "'nope'"),
    ("wishes", "{kind: spread, operators: [nope]}", "'nope'"),
]


@pytest.fixture
def case(edgeplace, tmp_path, monkeypatch):
    """A folder with the case that `init` writes."""
    monkeypatch.chdir(tmp_path)
    edgeplace("init", "--paid", "yes")
    return tmp_path


@pytest.mark.parametrize(("kind", "rule", "named"), WRONG)
def test_a_rule_that_does_not_fit_is_told_with_its_line(edgeplace, case, kind, rule, named):
    (case / "mine.yaml").write_text(FILES[kind] % rule)
    ran = edgeplace("solve", "job.yaml", "cluster.yaml", "--rules", "mine.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert ran.err.startswith("edgeplace solve: mine.yaml:3: rule ")
    assert named in ran.err


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("rules: []\nmax_moves: 3\n", 2, "max_moves needs a current placement"),
        ("jobs:\n  - {job: exampel, max_moves: 3}\n", 2, "job 'exampel'"),
        (
            "jobs:\n  - {job: example, max_moves: 3}\n",
            2,
            "max_moves needs a current placement",
        ),
    ],
)
def test_what_is_said_of_moves_and_of_jobs_is_told_with_its_line(
    edgeplace, case, text, line, named
):
    (case / "mine.yaml").write_text(text)
    ran = edgeplace("solve", "job.yaml", "cluster.yaml", "--rules", "mine.yaml")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert ran.err.startswith(f"edgeplace solve: mine.yaml:{line}: ")
    assert named in ran.err


def test_a_project_names_the_file_of_its_rules(edgeplace, case):
    (case / "mine.yaml").write_text(FILES["rules"] % WRONG[0][1])
    project = case / "edgeplace.yaml"
    project.write_text(project.read_text() + "rules: mine.yaml\n")
    for command in ("solve", "balance"):
        ran = edgeplace(command)
        assert "mine.yaml:3: rule 'pin nope to cloud'" in ran.err
