"""Configuration of one Flink process: a folder for FLINK_CONF_DIR."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from testbed.errors import TestbedError

JAVA_OPTIONS = "env.java.opts.all"
LOG4J = "log4j-console.properties"
_YAML = "config.yaml"
_LEGACY = "flink-conf.yaml"

# Options for test clusters: several on one small machine, with a start and a detection of failures
# within seconds. Times without a unit are in milliseconds, as Flink 1.18 requires.
QUICK: Mapping[str, str] = {
    "jobmanager.memory.process.size": "900m",
    "jobmanager.memory.jvm-metaspace.size": "192m",
    "jobmanager.memory.off-heap.size": "64m",
    "taskmanager.memory.managed.fraction": "0.2",
    "taskmanager.memory.jvm-metaspace.size": "160m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.jvm-overhead.max": "64m",
    "taskmanager.memory.framework.heap.size": "64m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    # The first compiler and the plain garbage collector: less work at start.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Otherwise a TaskManager that starts before the JobManager waits 10 s.
    "cluster.registration.error-delay": "300",
    "cluster.registration.refused-registration-delay": "1000",
    "heartbeat.interval": "500",
    # This is long, because a busy machine is not a failure. A killed process is detected by its
    # closed ports.
    "heartbeat.timeout": "10000",
    "heartbeat.rpc-failure-threshold": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000000",
    "restart-strategy.fixed-delay.delay": "200 ms",
    # Maximum age of a REST answer about a job.
    "web.refresh-interval": "200",
}


def write_config(folder: Path, home: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Write a configuration folder in the form of the release in a Flink home; return its options.

    Parameters
    ----------
    folder
        The folder; made here.
    home
        The Flink home: its logging set-up and its module options of Java are kept.
    options
        Flink's options; ``env.java.opts.all`` goes behind the home's.
    """
    folder.mkdir(parents=True)
    java_options = f"{_java_options(home)} {options.get(JAVA_OPTIONS, '')}".strip()
    complete = {**options, JAVA_OPTIONS: java_options}
    # Flink 1.18 knows the old file only, and Flink 2 the new one only.
    modern = (home / "conf" / _YAML).is_file()
    text = config_yaml(complete) if modern else legacy_config(complete)
    (folder / (_YAML if modern else _LEGACY)).write_text(text, encoding="utf-8")
    shutil.copyfile(home / "conf" / LOG4J, folder / LOG4J)
    return complete


def config_yaml(options: Mapping[str, str]) -> str:
    """Return the text of a configuration file of Flink 1.19 or later."""
    # A JSON string is a YAML string too, whatever it holds.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in sorted(options.items()))


def legacy_config(options: Mapping[str, str]) -> str:
    """Return the text of a ``flink-conf.yaml``, which is no YAML: nothing can be quoted in it.

    Raises
    ------
    TestbedError
        If a value cannot be written in it.
    """
    for key, value in options.items():
        if "#" in value or ": " in value or value != " ".join(value.split()):
            raise TestbedError(f"Flink's older configuration cannot hold {key}: {value!r}")
    return "".join(f"{key}: {value}\n" for key, value in sorted(options.items()) if value)


def _java_options(home: Path) -> str:
    """Return the module options of Flink's own configuration, without which Java 17 refuses."""
    files = [path for name in (_YAML, _LEGACY) if (path := home / "conf" / name).is_file()]
    for line in (line.strip() for path in files for line in path.read_text().splitlines()):
        key, _, value = line.partition(": ")
        if key in ("all", JAVA_OPTIONS) and value.startswith("--add"):
            return value
    raise TestbedError(f"{home}/conf: no {JAVA_OPTIONS}")
