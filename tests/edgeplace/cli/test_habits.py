"""What people expect of any command: help, versions, near misses, how much it says, colours."""

import re
import subprocess
import sys

import pytest

from edgeplace.cli.exit_status import ExitStatus

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("argv", [(), ("flink",), ("control",)], ids=" ".join)
def test_no_command_shows_the_help(edgeplace, argv):
    ran = edgeplace(*argv)
    assert ran.status is ExitStatus.OK
    assert ran.out == edgeplace(*argv, "--help").out
    assert ran.err == ""


@pytest.mark.parametrize("words", [("solve",), ("flink", "apply"), ("control",)], ids=" ".join)
def test_help_of_a_command_is_its_help(edgeplace, words):
    assert edgeplace("help", *words).out == edgeplace(*words, "--help").out


def test_help_of_no_command_names_the_near_one(edgeplace):
    ran = edgeplace("help", "flink", "aply")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "did you mean 'apply'?" in ran.err


def test_the_version_is_short(edgeplace):
    assert edgeplace("-V").out == edgeplace("--version").out


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (("sovle",), "'solve'"),
        (("flink", "drian", "pi"), "'drain'"),
        (("solve", "a", "b", "--cost", "c", "--schedulercgf", "d"), "'--schedulercfg'"),
        (("solve", "a", "b", "--optimise", "bytse"), "'bytes'"),
    ],
)
def test_a_near_miss_is_named(edgeplace, argv, meant):
    ran = edgeplace(*argv)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"did you mean {meant}?" in ran.err


def test_what_is_near_nothing_is_only_refused(edgeplace):
    assert "did you mean" not in edgeplace("bench", "--zzzz").err


@pytest.mark.parametrize("words", [("bench",), ("flink", "doctor")], ids=" ".join)
def test_a_wrong_option_shows_the_usage_of_its_command(edgeplace, words):
    ran = edgeplace(*words, "--zzzz")
    assert ran.err.startswith(f"usage: edgeplace {' '.join(words)} [-h]")


@pytest.fixture
def project(tmp_path, monkeypatch, job, cluster):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edgeplace.yaml").write_text("jobs: [job.json]\ncluster: cluster.yaml\n")


@pytest.mark.parametrize("argv", [("solve", "-q"), ("--quiet", "solve")], ids=" ".join)
def test_quiet_leaves_the_result(edgeplace, project, argv):
    ran = edgeplace(*argv)
    assert ran.err == ""
    assert "optimal" in ran.out


def test_quiet_leaves_warnings(edgeplace, project, tmp_path):
    (tmp_path / "edgeplace.yaml").write_text("jobs: []\n")
    assert "there is no field 'jobs', 'cluster'" in edgeplace("-q", "solve").err


def test_verbose_says_what_is_read_and_searched(edgeplace, project):
    ran = edgeplace("solve", "-v")
    assert re.search(r"^read job\.json: \d+ bytes$", ran.err, re.MULTILINE)
    assert re.search(r"^wan: ", ran.err, re.MULTILINE)
    assert "read job.json" not in edgeplace("solve").err


def test_verbose_says_what_flink_is_asked_and_no_secret(edgeplace, flink, monkeypatch):
    monkeypatch.setenv("EDGEPLACE_FLINK_TOKEN", "s3cret")
    ran = edgeplace("flink", "doctor", "--jobmanager", flink.url, "-v")
    assert '"GET /jobs/overview HTTP/1.1" 200' in ran.err
    assert "s3cret" not in ran.err + ran.out


def test_forced_colours_change_no_letter_and_no_document(edgeplace, project, monkeypatch):
    plain = edgeplace("validate")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = edgeplace("validate")
    assert COLOUR.search(coloured.out)
    uncoloured = [line.rstrip() for line in COLOUR.sub("", coloured.out).splitlines()]
    assert uncoloured == plain.out.splitlines()
    assert not COLOUR.search(edgeplace("validate", "--json").out)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in edgeplace("validate").out


@pytest.mark.slow
def test_a_minus_is_standard_input(project, job):
    command = [sys.executable, "-m", "edgeplace", "validate", "-", "cluster.yaml"]
    ran = subprocess.run(command, input=job.read_bytes(), capture_output=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert b"-             job      'filter'" in ran.stdout
