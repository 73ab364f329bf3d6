"""A standalone Spark cluster and a Spark Connect server, of the PySpark that is installed."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pyspark

from edgeplace.spark_stats.jvm import find_java_home

T = TypeVar("T")

HOME = Path(pyspark.__file__).parent
_STARTS_S = 180
_BEGUN = re.compile(r"Running task \S+ in stage (\d+)")
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def settings() -> dict[str, str]:
    """Return the settings of a session of such a cluster.

    Queries are not compiled: for small logs, that takes more than it saves.
    """
    return {
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": _SMALL,
        "spark.pyspark.python": sys.executable,
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
    }


def plain_python(folder: Path) -> str:
    """Write a program that starts this Python without its packages, and return its name, by which
    the workers of a cluster in this folder find it.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = folder / "bin" / name
    program.parent.mkdir()
    base = getattr(sys, "_base_executable", sys.executable)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(base)} -S "$@"\n')
    program.chmod(0o755)
    return name


class SparkCluster:
    """A master and two workers of one core each, on the loopback interface.

    Programs in the folder `bin` of theirs come first.

    Parameters
    ----------
    folder
        For their files.
    worker_memory
        What each worker has for executors, as Spark writes it.
    """

    def __init__(self, folder: Path, worker_memory: str = "600m") -> None:
        self._folder = folder
        self.plain_python = plain_python(folder)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        said = self._start("master", ["master.Master", "--port", "0"])
        self.master = self._word(said, r"Starting Spark master at (\S+)")
        for name in ("worker-0", "worker-1"):
            offers = [self.master, "--cores", "1", "--memory", worker_memory]
            self._start(name, ["worker.Worker", *offers, "--work-dir", str(folder / name)])
        for name in ("worker-0", "worker-1"):
            self._word(folder / f"{name}.log", r"Successfully registered with master")

    def connect_server(self) -> str:
        """Start a Spark Connect server with a Spark of its own if none runs; return its URL."""
        conf = {
            **_LOOPBACK,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "3",
        }
        flags = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        command = ["spark-submit", "--master", "local[1]", "--driver-memory", "600m", *flags]
        if "connect" not in self.processes:
            self._run("connect", [*command, *server, "spark-internal"], {})
        return "sc://" + self.wait_for("connect", r"server started at: \S*?(127\.0\.0\.1:\d+)")

    def wait_for(self, name: str, pattern: str) -> str:
        """Return what a pattern finds in the log of a process, as soon as it does."""
        return self._word(self._folder / f"{name}.log", pattern)

    def wait_for_task(self, name: str, stage: int) -> None:
        """Wait until an executor of a worker has begun a task of a stage or of a later one."""

        def has_begun() -> bool:
            said = (log.read_text() for log in (self._folder / name).glob("app-*/*/stderr"))
            stages = (number for text in said for number in _BEGUN.findall(text))
            return any(int(number) >= stage for number in stages)

        self._wait(has_begun, f"task on {name}")

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _start(self, name: str, words: list[str]) -> Path:
        command = ["spark-class", f"org.apache.spark.deploy.{words[0]}", *words[1:]]
        more = ["--host", "127.0.0.1", "--webui-port", "0"]
        return self._run(name, [*command, *more], {"SPARK_DAEMON_MEMORY": "256m"})

    def _run(self, name: str, command: list[str], environ: Mapping[str, str]) -> Path:
        said = self._folder / f"{name}.log"
        with said.open("wb") as out:
            self.processes[name] = subprocess.Popen(
                [HOME / "bin" / command[0], *command[1:]],
                env={
                    **environment(),
                    "PATH": f"{self._folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
                    **environ,
                },
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
            )
        return said

    def _word(self, said: Path, pattern: str) -> str:
        found = self._wait(lambda: re.search(pattern, said.read_text()), f"{pattern!r} in {said}")
        return found.group(found.re.groups)

    def _wait(self, look: Callable[[], T | None], what: str) -> T:
        deadline = time.monotonic() + _STARTS_S
        while not (found := look()):
            if time.monotonic() > deadline:
                logs = "".join(log.read_text()[-2000:] for log in self._folder.glob("*.log"))
                raise AssertionError(f"no {what}: {logs}")
            time.sleep(0.1)
        return found


def environment() -> dict[str, str]:
    """Return the environment of Spark's own scripts."""
    return {
        **os.environ,
        "JAVA_HOME": str(find_java_home()),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": _SMALL,
        "SPARK_SUBMIT_OPTS": _SMALL,
        "PYSPARK_PYTHON": sys.executable,
    }
