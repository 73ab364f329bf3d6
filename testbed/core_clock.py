"""Clocks the speed of one core until it is ended: a script of its own, for `testbed.core_speed`."""

import os
import sys
import time

_STEPS = 10_000
"""Of a piece of work: half a millisecond of CPU time, 1 % of a core."""
_PAUSE_S = 0.05


def main(core: int) -> None:
    """Print the time, and the steps of work per microsecond of CPU time, again and again."""
    os.sched_setaffinity(0, {core})
    while True:
        before = time.thread_time()
        total = 0
        for i in range(_STEPS):
            total += i * i
        speed = 1e-6 * _STEPS / (time.thread_time() - before)
        print(f"{time.time():.3f} {speed:.3f}", flush=True)
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main(int(sys.argv[1]))
