"""The commands that Flink's scripts end in for a JobManager and a TaskManager.

A script starts four JVMs to read one configuration: two seconds of processor time at each start.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink.config import JAVA_OPTIONS, LOG4J

_SIZES_MAIN = "org.apache.flink.runtime.util.bash.BashJavaUtils"
_RESULT = "BASH_JAVA_UTILS_EXEC_RESULT:"
_SECONDS = 120


@dataclass(frozen=True)
class Role:
    """What a JVM of Flink's is for.

    Attributes
    ----------
    name
        As in the names of options.
    main
        Its class.
    sizes_command
        Asks Flink for its sizes of memory.
    sizes
        Prefixes of the options that Flink computes the sizes from.
    """

    name: str
    main: str
    sizes_command: str
    sizes: tuple[str, ...]


JOB_MANAGER_ROLE = Role(
    "jobmanager",
    "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
    "GET_JM_RESOURCE_PARAMS",
    ("jobmanager.memory.",),
)
TASK_MANAGER_ROLE = Role(
    "taskmanager",
    "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
    "GET_TM_RESOURCE_PARAMS",
    ("taskmanager.memory.", "taskmanager.numberOfTaskSlots", "taskmanager.cpu", "external-"),
)


def java(environment: Mapping[str, str]) -> str:
    """Return the ``java`` of an environment."""
    home = environment.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def jvm_command(
    role: Role, home: Path, conf: Path, options: Mapping[str, str], environment: Mapping[str, str]
) -> list[str]:
    """Return the command of a JVM of Flink's.

    Parameters
    ----------
    role
        What it is for.
    home
        The Flink home.
    conf
        The folder of its configuration; its log goes into the folder above.
    options
        Flink's options in that folder.
    environment
        Of the process; ``JAVA_HOME`` names its Java.

    Raises
    ------
    TestbedError
        If Flink finds no sizes of memory for the options.
    """
    sizes = tuple(sorted(item for item in options.items() if item[0].startswith(role.sizes)))
    jvm_parameters, dynamic_options = _resources(role, java(environment), home, sizes)
    java_options = " ".join(
        options.get(key, "") for key in (JAVA_OPTIONS, f"env.java.opts.{role.name}")
    )
    return [
        java(environment),
        *jvm_parameters,
        *java_options.split(),
        f"-Dlog.file={conf.parent / role.name}.log",
        f"-Dlog4j.configurationFile=file:{conf / LOG4J}",
        *("-classpath", _class_path(home), role.main),
        *("--configDir", str(conf), *_arguments(role, home), *dynamic_options),
    ]


def class_archive(home: Path, role: Role) -> Path:
    """Return the file for the classes of a JVM: `testbed.flink.class_archive` writes it."""
    return home / f"{role.name}.jsa"


def script_variables(home: Path, conf: Path) -> dict[str, str]:
    """Return the environment variables that the scripts set, and that Flink and its jobs read."""
    folders = {f"FLINK_{name.upper()}_DIR": str(home / name) for name in ("lib", "opt", "plugins")}
    return {"FLINK_CONF_DIR": str(conf), "FLINK_LOG_DIR": str(conf.parent), **folders}


@cache
def _resources(
    role: Role, java: str, home: Path, sizes: tuple[tuple[str, str], ...]
) -> tuple[list[str], list[str]]:
    """Return the JVM's parameters and Flink's dynamic options for some sizes."""
    (dist,) = (home / "lib").glob("flink-dist*.jar")
    command = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-classpath", f"{home}/bin/bash-java-utils.jar:{dist}", _SIZES_MAIN]
    command += [role.sizes_command, "--configDir", str(home / "conf")]
    for key, value in sizes:
        command += ["-D", f"{key}={value}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    found = [x.removeprefix(_RESULT) for x in ran.stdout.splitlines() if x.startswith(_RESULT)]
    if ran.returncode or len(found) != 2:
        raise TestbedError(f"Flink finds no sizes for {dict(sizes)}:\n{ran.stdout}{ran.stderr}")
    jvm_parameters, dynamic_options = (words.split() for words in found)
    return jvm_parameters, dynamic_options


def _class_path(home: Path) -> str:
    """Return the jars in the order of the scripts: by name, Flink itself last."""
    jars = sorted((home / "lib").glob("*.jar"), key=lambda p: (p.match("flink-dist*"), p.name))
    return ":".join(map(str, jars))


def _arguments(role: Role, home: Path) -> list[str]:
    """Return what the JobManager's script of Flink 1 adds."""
    word = "--executionMode"
    script = (home / "bin" / f"{role.name}.sh").read_text()
    return [word, "cluster"] if f'"{word}"' in script else []
