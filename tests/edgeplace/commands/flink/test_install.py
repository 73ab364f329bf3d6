"""`edgeplace flink install`, as a user sees it."""

import json
from pathlib import Path

import pytest

from edgeplace.cli.exit_status import ExitStatus


@pytest.fixture
def home(tmp_path) -> Path:
    home = tmp_path / "flink"
    for folder in ("bin", "conf", "lib", "opt"):
        (home / folder).mkdir(parents=True)
    (home / "lib" / "flink-dist-2.3.0.jar").touch()
    (home / "conf" / "config.yaml").write_text("rest.port: 8081\n")
    return home


@pytest.fixture(autouse=True)
def packaged(monkeypatch, tmp_path):
    """Stand in for the jar of the package, which is a build product."""
    (tmp_path / "package" / "agent").mkdir(parents=True)
    (tmp_path / "package" / "agent" / "edgeplace-flink-agent.jar").write_bytes(b"PK")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path / "package")


def jar(home: Path) -> Path:
    return home / "opt" / "edgeplace-flink-agent.jar"


def test_it_says_what_was_done_and_what_is_left(edgeplace, home):
    ran = edgeplace("flink", "install", home)
    assert ran.status is ExitStatus.OK
    assert ran.err == ""
    assert ran.out == (
        f"Flink 2.3.0 at {home}\n"
        f"agent's jar copied to {jar(home)}\n"
        "\n"
        f"1. in {home}/conf/config.yaml, add this line at the end:\n"
        f"     env.java.opts.jobmanager: -javaagent:{jar(home)}\n"
        "   (as a line of its own, also where the file has a nested `env:`)\n"
        "   (if the JobManager runs with another FLINK_CONF_DIR, in that folder's file)\n"
        "2. restart the JobManager, and only it (without high availability its jobs end: stop them "
        "with a savepoint first)\n"
        "3. check:\n"
        "     edgeplace flink doctor --jobmanager http://localhost:8081\n"
    )


def test_a_value_that_is_there_is_to_be_replaced(edgeplace, home):
    (home / "conf" / "config.yaml").write_text("env.java.opts.jobmanager: -Xmx1g\n")
    ran = edgeplace("flink", "install", home, "--lost", "fallback")
    assert "config.yaml, replace the value of env.java.opts.jobmanager:\n" in ran.out
    assert f"-Xmx1g -javaagent:{jar(home)}=lost=fallback\n" in ran.out
    assert "it is now: -Xmx1g\n" in ran.out


def test_a_line_in_place_needs_no_more_than_a_restart(edgeplace, home):
    line = f"env.java.opts.jobmanager: -javaagent:{jar(home)}\n"
    (home / "conf" / "config.yaml").write_text(line)
    ran = edgeplace("flink", "install", home)
    assert f"{home}/conf/config.yaml has the line already:\n  {line}" in ran.out
    assert "add this line" not in ran.out


def test_undo_says_the_order_of_steps(edgeplace, home):
    edgeplace("flink", "install", home)
    line = f"env.java.opts.jobmanager: -javaagent:{jar(home)}\n"
    (home / "conf" / "config.yaml").write_text(line)
    refused = edgeplace("flink", "install", home, "--undo")
    assert refused.status is ExitStatus.INVALID_INPUT
    assert "does not start: nothing was removed" in refused.err
    assert jar(home).exists()
    (home / "conf" / "config.yaml").write_text("")
    ran = edgeplace("flink", "install", home, "--undo")
    assert ran.status is ExitStatus.OK
    assert f"agent's jar removed from {jar(home)}\n" in ran.out
    assert "keeps it until it restarts" in ran.out
    assert not jar(home).exists()
    again = edgeplace("flink", "install", home, "--undo")
    assert again.status is ExitStatus.OK
    assert again.out == f"Flink 2.3.0 at {home}\nthere is no agent's jar at {jar(home)}\n"


def test_json_has_everything(edgeplace, home):
    ran = edgeplace("flink", "install", home, "--plans", "/var/plans", "--json")
    assert json.loads(ran.out) == {
        "flink_home": str(home),
        "flink": "2.3.0",
        "jar": str(jar(home)),
        "action": "copied",
        "configuration_file": str(home / "conf" / "config.yaml"),
        "line": f"env.java.opts.jobmanager: -javaagent:{jar(home)}=plans=/var/plans",
        "line_in_place": False,
        "replaces": None,
        "warnings": [],
    }


def test_a_warning_goes_to_standard_error(edgeplace, home):
    (home / "lib" / "flink-dist-2.3.0.jar").rename(home / "lib" / "flink-dist-2.9.0.jar")
    ran = edgeplace("flink", "install", home)
    assert ran.status is ExitStatus.OK
    assert ran.err.startswith("warning: Flink 2.9.0 is not among the releases")


def test_no_flink_home_exits_2_with_a_cure(edgeplace, tmp_path):
    ran = edgeplace("flink", "install", tmp_path)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert ran.err.startswith(f"edgeplace flink install: {tmp_path} is not a Flink home")
    assert "\n  cure: give the folder that holds Flink's bin/, conf/ and lib/\n" in ran.err


def test_a_package_without_the_jar_exits_6(edgeplace, home, tmp_path):
    jar_of_package = tmp_path / "package" / "agent" / "edgeplace-flink-agent.jar"
    jar_of_package.unlink()
    assert edgeplace("flink", "install", home).status is ExitStatus.MISSING_EXTRA
