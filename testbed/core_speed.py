"""How fast the cores of this machine are, from moment to moment.

A core of a virtual machine is a thread of the host's. What others do on the second thread of the
same core makes it slower, by 40 % on some hosts, for seconds or minutes; no counter of the guest
shows it. So a process on each core repeats a piece of work, and clocks the CPU time that it takes
(`testbed.core_clock`).
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.process import launch, stop

_CLOCK = Path(__file__).with_name("core_clock.py")


class CoreSpeed:
    """The speed of the cores for the time of the ``with`` block.

    Parameters
    ----------
    folder
        Existing folder for what is clocked.

    Raises
    ------
    TestbedError
        As for `launch`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[Path] = []
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            for core in sorted(os.sched_getaffinity(0)):
                file = self._folder / f"core-{core}.clocked"
                process = launch([sys.executable, str(_CLOCK), str(core)], file, os.environ)
                cleanup.callback(stop, process)
                self._files.append(file)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def between(self, begin_s: float, end_s: float) -> float:
        """Return steps of work per µs of CPU time between two times of the clock, all cores' mean.

        Raises
        ------
        TestbedError
            If nothing was clocked on a core meanwhile.
        """
        return fmean(_mean(file, begin_s, end_s) for file in self._files)


def _mean(file: Path, begin_s: float, end_s: float) -> float:
    clocked = (line.split() for line in file.read_text().splitlines())
    speeds = [float(speed) for at, speed in clocked if begin_s <= float(at) < end_s]
    if not speeds:
        raise TestbedError(f"{file}: no speed was clocked between {begin_s:.1f} and {end_s:.1f}")
    return fmean(speeds)
