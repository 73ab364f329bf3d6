"""A standalone Flink cluster of processes, on loopback addresses or in network namespaces."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import requests

from testbed.errors import TestbedError
from testbed.flink.config import write_config
from testbed.flink.flink_jvm import (
    JOB_MANAGER_ROLE,
    TASK_MANAGER_ROLE,
    class_archive,
    jvm_command,
    script_variables,
)
from testbed.flink.job_jar import compile_file_system
from testbed.flink.rest import FlinkRest
from testbed.flink.zookeeper import high_availability, start_zookeeper
from testbed.network.cpu_quota import CpuQuotas, CpuUse
from testbed.process import STOP_SECONDS, kill, launch, log_end, stop
from testbed.scratch import scratch_folder
from testbed.server import LOOPBACK, free_ports

JOB_MANAGER = "jobmanager"
_ZOOKEEPER = "zookeeper"
_START_SECONDS = 240.0
_REGISTERED = b"Successful registration at resource manager"
"""What a TaskManager says in its log, in all releases from 1.17 to 2.3."""
_POLL_SECONDS = 0.2
_LOG_LINES = 40
_JOB_MANAGER_MEMORY = "jobmanager.memory.process.size"


@dataclass(frozen=True)
class TaskManagerSpec:
    """One TaskManager to start.

    Parameters
    ----------
    name
        Its ``taskmanager.resource-id``, the id it has in REST answers.
    host
        A loopback address, or one of its namespace; several TaskManagers may share one.
    slots
        Number of task slots.
    process_memory
        ``taskmanager.memory.process.size``.
    cores
        CPU quota, ``None`` for none; needs root.
    options
        Flink options on top of those of the cluster.
    namespace
        Network namespace to run in, empty for this process's own.
    """

    name: str
    host: str
    slots: int
    process_memory: str
    cores: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""


@dataclass(frozen=True)
class JobManagerSpec:
    """The host of the JobManager.

    Parameters
    ----------
    host
        Address that TaskManagers reach it at.
    rest_host
        Address that this process reaches it at.
    options
        Flink options of the JobManager only.
    namespace
        Network namespace to run in, empty for this process's own.
    """

    host: str = LOOPBACK
    rest_host: str = LOOPBACK
    options: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""


class LocalCluster:
    """A JobManager and TaskManagers that live as long as the ``with`` block.

    The processes end with the thread that starts them at the latest.

    Parameters
    ----------
    home
        Flink home, see `testbed.flink.home`.
    task_managers
        The TaskManagers, started in this order.
    settings
        Flink options on top of those the cluster needs, the same for all processes.
    job_manager
        Where the JobManager runs.
    ha
        Whether jobs survive the JobManager: its state is in a ZooKeeper and the scratch folder.
    file_system
        One of the testbed's file systems, by its class, for checkpoints; empty for local files.

    Attributes
    ----------
    scratch
        Folder that is gone after the ``with`` block.
    rest
        Client of the JobManager.

    Raises
    ------
    TestbedError
        If a process ends early or the TaskManagers do not register in time.
    """

    scratch: Path
    rest: FlinkRest

    def __init__(
        self,
        home: Path,
        task_managers: Sequence[TaskManagerSpec],
        settings: Mapping[str, str],
        job_manager: JobManagerSpec = JobManagerSpec(),
        ha: bool = False,
        file_system: str = "",
    ) -> None:
        self._home = home
        self._task_managers = task_managers
        self._settings = settings
        self._job_manager = job_manager
        self._ha = ha
        self._file_system = file_system
        self._cleanup = ExitStack()
        self._quotas: CpuQuotas | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._log_starts: dict[str, int] = {}
        self._options: dict[str, dict[str, str]] = {}
        self._common: Mapping[str, str] = {}

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            if any(spec.cores is not None for spec in self._task_managers):
                self._quotas = cleanup.enter_context(CpuQuotas())
                for name in (JOB_MANAGER, *(spec.name for spec in self._task_managers)):
                    self._quotas.create(name)
            self.scratch = cleanup.enter_context(scratch_folder())
            cleanup.callback(self._kill_all)
            if self._file_system:
                compile_file_system(self._file_system, self._home, self.scratch)
            self._configure()
            self.start_missing()
            # Only now: a JVM that starts on a quarter of a core takes minutes.
            for spec in self._task_managers:
                if self._quotas and spec.cores is not None:
                    self._quotas.limit(spec.name, spec.cores)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def conf_dir(self, name: str) -> Path:
        """Return the ``FLINK_CONF_DIR`` of a process, by TaskManager name or `JOB_MANAGER`."""
        return self.scratch / name / "conf"

    @property
    def _ha_folder(self) -> Path:
        return self.scratch / _ZOOKEEPER / "ha"

    def start(self, name: str) -> None:
        """Start a process that is not running; it takes some seconds to be of use."""
        conf = self.conf_dir(name)
        environment = {**_environment(), **script_variables(self._home, conf)}
        if self._file_system:
            environment["FLINK_PLUGINS_DIR"] = str(self.scratch / "plugins")
        role = JOB_MANAGER_ROLE if name == JOB_MANAGER else TASK_MANAGER_ROLE
        command = jvm_command(role, self._home, conf, self._options[name], environment)
        archive = class_archive(self._home, role)
        if archive.is_file():
            # Behind the program. A JVM that cannot use it starts without.
            command.insert(1, f"-XX:SharedArchiveFile={archive}")
        if namespace := self._namespace(name):
            command = ["ip", "netns", "exec", namespace, *command]
        log = self._log(name)
        self._log_starts[name] = log.stat().st_size if log.exists() else 0
        self._processes[name] = launch(command, log, environment)
        if self._quotas:
            self._quotas.add(name, self._processes[name].pid)

    def add(self, spec: TaskManagerSpec) -> None:
        """Start one more TaskManager; its options may give it another resource id than its name."""
        self._task_managers = (*self._task_managers, spec)
        self._write_config(spec.name, self._options_of(spec))
        self.start(spec.name)

    def start_missing(self) -> None:
        """Start all processes that do not run, whatever has ended them, and wait for them."""
        for name in (JOB_MANAGER, *(spec.name for spec in self._task_managers)):
            process = self._processes.get(name)
            if process is None or process.poll() is not None:
                self.start(name)
        self.wait_for_task_managers()

    def start_ended(self) -> None:
        """Start those again that have ended by themselves, as a supervisor does; do not wait."""
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                self.start(name)

    def nothing_to_clean_up(self) -> bool:
        """Whether high availability keeps nothing of any job, once all have ended."""
        kept = ("*/submitted*", "*-result-store/**/*_DIRTY.json")
        return not any(any(self._ha_folder.glob(pattern)) for pattern in kept)

    def stop(self, name: str, seconds: float = STOP_SECONDS) -> None:
        """End a process in order, or after so many seconds by force."""
        stop(self._processes.pop(name), seconds)

    def kill(self, name: str) -> None:
        """Kill a process at once, like a power failure."""
        kill(self._processes.pop(name))

    def freeze(self, name: str) -> None:
        """Stop a process without closing its connections, like a cut link: nothing answers."""
        self._processes[name].send_signal(signal.SIGSTOP)

    def limit(self, name: str, cores: float) -> None:
        """Set the CPU quota of a process; only if a TaskManager has one."""
        if self._quotas is None:
            raise ValueError("no TaskManager of this cluster has a CPU quota")
        self._quotas.limit(name, cores)

    def cpu_use(self, name: str) -> CpuUse:
        """Return the CPU use of a process so far; only if a TaskManager has a quota."""
        if self._quotas is None:
            raise ValueError("no TaskManager of this cluster has a CPU quota")
        return self._quotas.use(name)

    def log_end(self, name: str, lines: int = _LOG_LINES) -> str:
        """Return the last lines of a process's log."""
        return log_end(self._log(name), lines)

    def check_alive(self) -> None:
        """Raise `TestbedError` with the end of its log if a process has ended by itself."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                said = log_end(self._log(name), _LOG_LINES, self._log_starts.get(name, 0))
                raise TestbedError(f"{name} ended with code {process.returncode}:\n{said}")

    def wait_until(self, met: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for a condition; a REST call that fails means that it is not met yet.

        Raises
        ------
        TestbedError
            If it is not met in this many seconds, or a process of the cluster ends meanwhile.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                if met():
                    return
                problem = ""
            except requests.RequestException as error:
                problem = f" ({error})"
            self.check_alive()
            if time.monotonic() > deadline:
                raise TestbedError(f"{what}: not within {seconds:.0f} s{problem}")
            time.sleep(_POLL_SECONDS)

    def wait_for_task_managers(self) -> None:
        """Wait until exactly the TaskManagers that run are registered, each since its last start.

        One that was killed stays in REST for some time, and its successor has the same id: each
        must have said in its own log that it is registered.

        Raises
        ------
        TestbedError
            As for `wait_until`.
        """
        expected = self._processes.keys() - {JOB_MANAGER, _ZOOKEEPER}

        def registered() -> bool:
            listed = {tm["id"] for tm in self.rest.get("/taskmanagers")["taskmanagers"]}
            return listed == expected and all(map(self._has_registered, expected))

        self.wait_until(registered, "registration of the TaskManagers", _START_SECONDS)

    def _has_registered(self, name: str) -> bool:
        with self._log(name).open("rb") as log:
            log.seek(self._log_starts[name])
            return any(_REGISTERED in line for line in log)

    def _configure(self) -> None:
        """Write every process's configuration, and start ZooKeeper if wanted."""
        rpc_port, rest_port, zookeeper_port = free_ports(3)
        where = self._job_manager
        self.rest = FlinkRest(f"http://{where.rest_host}:{rest_port}")
        checkpoints = (self.scratch / "checkpoints").as_uri()
        common = {
            "jobmanager.rpc.address": where.host,
            "jobmanager.rpc.port": str(rpc_port),
            "rest.address": where.rest_host,
            "rest.port": str(rest_port),
            "execution.checkpointing.dir": checkpoints,
            "state.checkpoints.dir": checkpoints,  # Its name before Flink 1.20.
            **self._settings,
        }
        if self._ha:
            folder = self.scratch / _ZOOKEEPER
            self._processes[_ZOOKEEPER] = start_zookeeper(
                self._home, folder, zookeeper_port, _environment()
            )
            common |= high_availability(self._ha_folder, zookeeper_port, rpc_port)
        job_manager = {
            "jobmanager.bind-host": where.host,
            "rest.bind-address": where.rest_host,
            "web.tmpdir": str(self.scratch),
            **where.options,
        }
        self._write_config(JOB_MANAGER, {_JOB_MANAGER_MEMORY: "1000m", **common, **job_manager})
        self._common = common
        for spec in self._task_managers:
            self._write_config(spec.name, self._options_of(spec))

    def _options_of(self, spec: TaskManagerSpec) -> dict[str, str]:
        return {
            **self._common,
            "taskmanager.resource-id": spec.name,
            "taskmanager.host": spec.host,
            "taskmanager.bind-host": spec.host,
            "taskmanager.numberOfTaskSlots": str(spec.slots),
            "taskmanager.memory.process.size": spec.process_memory,
            **spec.options,
        }

    def _write_config(self, name: str, options: Mapping[str, str]) -> None:
        own_folder = {"io.tmp.dirs": str(self.scratch / name)}
        self._options[name] = write_config(
            self.conf_dir(name), self._home, {**options, **own_folder}
        )

    def _namespace(self, name: str) -> str:
        specs = {spec.name: spec.namespace for spec in self._task_managers}
        return {**specs, JOB_MANAGER: self._job_manager.namespace}.get(name, "")

    def _kill_all(self) -> None:
        for process in self._processes.values():
            kill(process)

    def _log(self, name: str) -> Path:
        return self.scratch / name / "console.log"


def _environment() -> dict[str, str]:
    """Return the environment variables that the processes need."""
    return {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
