"""The JVMs of a cluster are started as Flink's own scripts start them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
config = pytest.importorskip("testbed.flink.config", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
flink_home = pytest.importorskip("testbed.flink.home", reason=REASON)
flink_jvm = pytest.importorskip("testbed.flink.flink_jvm", reason=REASON)
pytestmark = [pytest.mark.live, pytest.mark.slow]

# Says what it is asked to run where that is a process of Flink's, and runs everything else.
JAVA = """#!/bin/sh
case "$*" in
  *BashJavaUtils*|*-XshowSettings*) exec "{java}" "$@" ;;
  *) printf '%s\\n' "$@" > said; env > environment ;;
esac
"""
OPTIONS = {
    **config.QUICK,
    "jobmanager.rpc.address": "127.0.0.1",
    "taskmanager.memory.process.size": "700m",
    "taskmanager.numberOfTaskSlots": "3",
    "taskmanager.resource-id": "pi-1",
    "env.java.opts.jobmanager": "-javaagent:/x/agent.jar=lost=fallback -Dmine=2",
    "env.java.opts.taskmanager": "-Dmine=1 -Xss1m",
    "external-resources": "edge",
    "external-resource.edge.amount": "2",
}
OF_THE_SCRIPTS_ONLY = ("-Dlog.file=", "-Dlog4j.configuration=", "-Dlogback.", "-XX:+IgnoreUn")
"""Another name for the log, two other logging libraries, and leave for options that Java lacks."""
JOB_MANAGER, TASK_MANAGER = flink_jvm.JOB_MANAGER_ROLE, flink_jvm.TASK_MANAGER_ROLE
SCRIPTS = {
    "2.3.0-jobmanager": ("2.3.0", JOB_MANAGER),
    "2.3.0-taskmanager": ("2.3.0", TASK_MANAGER),
    # It has an argument more.
    "1.20.3-jobmanager": ("1.20.3", JOB_MANAGER),
}


@pytest.fixture
def home(request: pytest.FixtureRequest) -> Path:
    if not shutil.which("java"):
        pytest.skip("no java")
    try:
        return Path(flink_home.flink_home(request.param))
    except errors.TestbedError as error:
        pytest.skip(f"no Flink {request.param} in the cache, and {error}")


def parts_of(command: list[str]) -> tuple[list[str], list[str], str, list[str]]:
    """Return the JVM's options in any order, the class path, the class, and its arguments."""
    at = command.index("-classpath")
    of_jvm = [word for word in command[:at] if not word.startswith(OF_THE_SCRIPTS_ONLY)]
    jars = [jar for jar in command[at + 1].split(":") if jar]
    return sorted(of_jvm), jars, command[at + 2], sorted(command[at + 3 :])


@pytest.mark.parametrize(("home", "role"), SCRIPTS.values(), ids=SCRIPTS, indirect=["home"])
def test_the_command_is_that_of_the_script(home: Path, role: object, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA.format(java=shutil.which("java")))
    java.chmod(0o755)
    conf = tmp_path / "process" / "conf"
    options = config.write_config(conf, home, OPTIONS)
    environment = {"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path / "jdk")}
    folders = {"FLINK_CONF_DIR": conf, "FLINK_LOG_DIR": conf.parent, "FLINK_PID_DIR": tmp_path}
    subprocess.run(
        [home / "bin" / f"{role.name}.sh", "start-foreground"],
        env={**environment, **{name: str(folder) for name, folder in folders.items()}},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )

    ours = flink_jvm.jvm_command(role, home, conf, options, environment)

    assert ours[0] == str(java)
    assert parts_of(ours[1:]) == parts_of((tmp_path / "said").read_text().splitlines())
    lines = (tmp_path / "environment").read_text().splitlines()
    theirs = dict(line.split("=", 1) for line in lines if "=" in line)
    variables = flink_jvm.script_variables(home, conf)
    assert {name: theirs[name] for name in variables} == variables


@pytest.mark.parametrize("home", ["2.3.0"], indirect=True)
def test_sizes_that_do_not_fit_are_told(home: Path, tmp_path: Path) -> None:
    options = {**OPTIONS, "taskmanager.memory.process.size": "1m"}
    with pytest.raises(errors.TestbedError, match="finds no sizes") as raised:
        flink_jvm.jvm_command(TASK_MANAGER, home, tmp_path / "conf", options, {})
    assert "1m" in str(raised.value)
