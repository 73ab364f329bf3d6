"""A standalone Flink cluster of processes on loopback addresses."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import requests

from testbed.cpu_quota import CpuQuotas, CpuUse
from testbed.errors import TestbedError
from testbed.flink_rest import FlinkRest

JOB_MANAGER = "jobmanager"
_START_SECONDS = 240.0
_STOP_SECONDS = 15.0
_JOB_MANAGER_HOST = "127.0.0.1"
_SCRATCH_PREFIX = "edgeplace-testbed-"


@dataclass(frozen=True)
class TaskManagerSpec:
    """One TaskManager to start.

    Parameters
    ----------
    name
        Its ``taskmanager.resource-id``, the id it has in REST answers.
    host
        A loopback address of its own.
    slots
        Number of task slots.
    process_memory
        ``taskmanager.memory.process.size``.
    cores
        CPU quota, ``None`` for none.
    options
        Flink options on top of those of the cluster.
    """

    name: str
    host: str
    slots: int
    process_memory: str
    cores: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class LocalCluster:
    """A JobManager and TaskManagers that live as long as the ``with`` block.

    Parameters
    ----------
    home
        Flink home, see `testbed.flink_home`.
    task_managers
        The TaskManagers, started in this order.
    settings
        Flink options on top of those the cluster needs, the same for all processes.

    Raises
    ------
    TestbedError
        If a process ends early or the TaskManagers do not register in time.
    """

    def __init__(
        self,
        home: Path,
        task_managers: Sequence[TaskManagerSpec],
        settings: Mapping[str, str],
    ) -> None:
        self._home = home
        self._task_managers = task_managers
        self._settings = settings
        self._cleanup = ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            self._quotas = cleanup.enter_context(CpuQuotas())
            _remove_left_scratch()
            scratch = tempfile.TemporaryDirectory(
                prefix=_SCRATCH_PREFIX, ignore_cleanup_errors=True
            )
            self.scratch = Path(cleanup.enter_context(scratch))
            cleanup.callback(self._stop)
            self._start()
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def cpu_use(self, name: str) -> CpuUse:
        """Return what a process, by TaskManager name or `JOB_MANAGER`, has used so far."""
        return self._quotas.use(name)

    def check_alive(self) -> None:
        """Raise `TestbedError` with the end of its log if a process has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise TestbedError(
                    f"{name} ended with code {process.returncode}:\n{self._log_end(name)}"
                )

    def wait_until(self, met: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for a condition.

        Raises
        ------
        TestbedError
            If it is not met in this many seconds, or a process of the cluster ends meanwhile.
        """
        deadline = time.monotonic() + seconds
        while not met():
            self.check_alive()
            if time.monotonic() > deadline:
                raise TestbedError(f"{what}: not within {seconds:.0f} s")
            time.sleep(0.5)

    def _start(self) -> None:
        rpc_port, rest_port = _free_ports(2)
        common = {
            **self._settings,
            "env.java.opts.all": _java_options(self._home),
            "jobmanager.rpc.address": _JOB_MANAGER_HOST,
            "jobmanager.rpc.port": str(rpc_port),
            "rest.address": _JOB_MANAGER_HOST,
            "rest.port": str(rest_port),
            "execution.checkpointing.dir": (self.scratch / "checkpoints").as_uri(),
        }
        job_manager = {
            "jobmanager.bind-host": _JOB_MANAGER_HOST,
            "jobmanager.memory.process.size": "1000m",
            "rest.bind-address": _JOB_MANAGER_HOST,
            "web.tmpdir": str(self.scratch),
        }
        self._launch(JOB_MANAGER, {**common, **job_manager}, cores=None)
        self.rest = FlinkRest(f"http://{_JOB_MANAGER_HOST}:{rest_port}")
        for spec in self._task_managers:
            task_manager = {
                "taskmanager.resource-id": spec.name,
                "taskmanager.host": spec.host,
                "taskmanager.bind-host": spec.host,
                "taskmanager.numberOfTaskSlots": str(spec.slots),
                "taskmanager.memory.process.size": spec.process_memory,
            }
            self._launch(spec.name, {**common, **task_manager, **spec.options}, spec.cores)
        self.wait_until(self._complete, "start of the cluster", _START_SECONDS)

    def _launch(self, name: str, options: Mapping[str, str], cores: float | None) -> None:
        folder = self.scratch / name
        conf = folder / "conf"
        conf.mkdir(parents=True)
        config = config_yaml({**options, "io.tmp.dirs": str(folder)})
        (conf / "config.yaml").write_text(config, encoding="utf-8")
        log4j = (self._home / "conf" / "log4j-console.properties").read_text()
        (conf / "log4j-console.properties").write_text(log4j)
        script = "jobmanager.sh" if name == JOB_MANAGER else "taskmanager.sh"
        environment = {
            "PATH": os.environ["PATH"],
            "FLINK_CONF_DIR": str(conf),
            "FLINK_LOG_DIR": str(folder),
            "FLINK_PID_DIR": str(folder),
        }
        if "JAVA_HOME" in os.environ:
            environment["JAVA_HOME"] = os.environ["JAVA_HOME"]
        self._quotas.create(name, cores)
        with (folder / "console.log").open("wb") as log:
            # The script ends in an exec: its process id becomes the JVM's.
            process = subprocess.Popen(
                [str(self._home / "bin" / script), "start-foreground"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
            )
        self._processes[name] = process
        self._quotas.add(name, process.pid)

    def _complete(self) -> bool:
        try:
            registered = self.rest.get("/taskmanagers")["taskmanagers"]
        except requests.RequestException:
            return False
        return {tm["id"] for tm in registered} == {spec.name for spec in self._task_managers}

    def _stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _log_end(self, name: str) -> str:
        log = self.scratch / name / "console.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def config_yaml(options: Mapping[str, str]) -> str:
    """Return the text of a Flink configuration file."""
    # A JSON string is a YAML string too, whatever it holds.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in sorted(options.items()))


def _remove_left_scratch() -> None:
    """Remove the folders of killed testbeds; the quotas' lock says that none is running."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server((_JOB_MANAGER_HOST, 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _java_options(home: Path) -> str:
    """Return the module options of Flink's own configuration, without which Java 17 refuses."""
    lines = (home / "conf" / "config.yaml").read_text().splitlines()
    opens = [line.strip() for line in lines if line.strip().startswith("all: --add")]
    if len(opens) != 1:
        raise TestbedError(f"{home}/conf/config.yaml: no env.java.opts.all")
    return opens[0].removeprefix("all: ")
