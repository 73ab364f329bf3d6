"""CPU quotas of processes, by the kernel's cgroups (version 1, root needed)."""

import math
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from edgeplace.model import lock
from testbed.errors import TestbedError

_ROOT_NAME = "edgeplace-testbed"
# Short, so that a throttled thread crawls evenly. The kernel's least quota is 1 ms, so below a
# quarter of a core the period is longer.
_PERIOD_US = 4_000
_LONGEST_PERIOD_US = 100_000
_MIN_QUOTA_US = 1_000
# The kernel weighs a group like a single thread (1024) unless told otherwise, so a busy machine
# would slow the whole cluster as if by another quota.
_SHARES = 8 * 1024
_KILL_SECONDS = 10.0


@dataclass(frozen=True)
class CpuUse:
    """The processor time that a group of processes has used and been denied."""

    cpu_s: float
    throttled_s: float


class CpuQuotas:
    """Groups of processes with a limit on their processor time, below one root group.

    Only one testbed can hold the root group. What a killed testbed left in it is ended and removed
    when the next one starts: a process is in there only because a testbed has started it.

    Raises
    ------
    TestbedError
        If this is not root, the kernel has no cgroup version 1 ``cpu`` controller mounted, or
        another testbed is running.
    """

    def __init__(self) -> None:
        self._root = require_quotas() / _ROOT_NAME
        self._root.mkdir(exist_ok=True)
        try:
            self._lock = lock(self._root, os.O_RDONLY | os.O_DIRECTORY)
        except BlockingIOError:
            raise TestbedError("another testbed is running on this machine") from None
        self._empty()
        (self._root / "cpu.shares").write_text(str(_SHARES))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._empty()
        self._root.rmdir()
        os.close(self._lock)

    def create(self, name: str) -> None:
        """Create a group without a limit."""
        (self._root / name).mkdir()

    def limit(self, name: str, cores: float) -> None:
        """Set the maximum number of cores of a group.

        Raises
        ------
        ValueError
            If it is below 0.01. The kernel would take one below 0 for no limit.
        """
        if not cores >= _MIN_QUOTA_US / _LONGEST_PERIOD_US:
            raise ValueError(f"a quota of {cores} cores is below 0.01")
        period = max(_PERIOD_US, math.ceil(_MIN_QUOTA_US / cores))
        group = self._root / name
        (group / "cpu.cfs_period_us").write_text(str(period))
        (group / "cpu.cfs_quota_us").write_text(str(round(cores * period)))

    def add(self, name: str, pid: int) -> None:
        """Move a process into a group; its later children follow it."""
        (self._root / name / "cgroup.procs").write_text(str(pid))

    def use(self, name: str) -> CpuUse:
        """Return the processor time a group's living processes have used and been denied."""
        group = self._root / name
        ticks = os.sysconf("SC_CLK_TCK")
        cpu_s = sum(_ticks(pid) for pid in _pids(group)) / ticks
        stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return CpuUse(cpu_s=cpu_s, throttled_s=int(stat["throttled_time"]) / 1e9)

    def _empty(self) -> None:
        deadline = time.monotonic() + _KILL_SECONDS
        for group in [child for child in self._root.iterdir() if child.is_dir()]:
            while pids := _pids(group):
                for pid in pids:
                    _kill(pid)
                if time.monotonic() > deadline:
                    raise TestbedError(f"processes {pids} of an earlier testbed do not end")
                time.sleep(0.1)
            group.rmdir()


def require_quotas() -> Path:
    """Return the folder of the kernel's CPU groups.

    Raises
    ------
    TestbedError
        If this is not root or the kernel has no cgroup version 1 ``cpu`` controller mounted.
    """
    if os.geteuid() != 0:
        raise TestbedError("root is needed: the Pis are slowed by CPU quotas (cgroups)")
    if (folder := _mounted("cpu")) is None:
        raise TestbedError("no cgroup version 1 'cpu' controller is mounted")
    return folder


def machine_busy_s() -> float:
    """Return the processor time of this machine that was not idle, of all processors, so far.

    `/proc/stat` counts what runs at ticks of the clock, 4 ms apart on many kernels. So are the
    periods of the quotas: a throttled process is seen at each tick, or at none. The sum of run
    times has no such error.
    """
    if (folder := _mounted("cpuacct")) is not None:
        return int((folder / "cpuacct.usage").read_text()) / 1e9
    user, nice, system, _idle, _iowait, irq, softirq, *_ = (
        int(ticks) for ticks in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _mounted(controller: str) -> Path | None:
    """Return the folder of a cgroup version 1 controller."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, path, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            return Path(path)
    return None


def _pids(group: Path) -> list[int]:
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _ticks(pid: int) -> int:
    """Return the user and system time of a process, in clock ticks."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return 0
    # The second field, the name in brackets, may hold blanks.
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
