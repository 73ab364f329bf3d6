"""How fast the cores of this machine are, from moment to moment.

A core of a virtual machine is a thread of the host's. What others do on the second thread of the
same core makes it slower, by 40 % on some hosts, for seconds or minutes; no counter of the guest
shows it. So a process on each core repeats a piece of work, and clocks the CPU time that it takes
(`testbed.core_clock`).
"""

import os
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from typing import TextIO

from testbed.errors import TestbedError
from testbed.process import launch, stop

_CLOCK = Path(__file__).with_name("core_clock.py")


class CoreSpeed:
    """What the clocks of all cores say.

    Parameters
    ----------
    clocks
        Of each core, the open file to which its clock writes.
    """

    def __init__(self, clocks: Sequence[TextIO]) -> None:
        self._clocks = [_Clock(clock) for clock in clocks]

    def between(self, begin_s: float, end_s: float) -> float:
        """Return steps of work per µs of CPU time between two times of the clock, all cores' mean.

        Raises
        ------
        TestbedError
            If nothing was clocked on a core meanwhile.
        """
        return fmean(clock.mean(begin_s, end_s) for clock in self._clocks)


class _Clock:
    """The clock of one core. Each line is read once: reading must not be work beside a job's."""

    def __init__(self, written: TextIO) -> None:
        self._written = written
        self._unfinished = ""
        self._at_s: list[float] = []
        self._speed: list[float] = []

    def mean(self, begin_s: float, end_s: float) -> float:
        *lines, self._unfinished = (self._unfinished + self._written.read()).split("\n")
        for line in lines:
            at, speed = line.split()
            self._at_s.append(float(at))
            self._speed.append(float(speed))
        first, after = (bisect_left(self._at_s, end) for end in (begin_s, end_s))
        if first == after:
            raise TestbedError(
                f"{self._written.name}: no speed was clocked between {begin_s:.1f} and {end_s:.1f}"
            )
        return fmean(self._speed[first:after])


@contextmanager
def clocked_cores(folder: Path) -> Iterator[CoreSpeed]:
    """Clock the cores for the time of the ``with`` block.

    Parameters
    ----------
    folder
        Existing folder for what is clocked.

    Raises
    ------
    TestbedError
        As for `launch`.
    """
    with ExitStack() as cleanup:
        clocks = []
        for core in sorted(os.sched_getaffinity(0)):
            file = folder / f"core-{core}.clocked"
            process = launch([sys.executable, str(_CLOCK), str(core)], file, os.environ)
            cleanup.callback(stop, process)
            clocks.append(cleanup.enter_context(file.open()))
        yield CoreSpeed(clocks)
