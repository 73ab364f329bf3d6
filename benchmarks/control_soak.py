"""The loop in a simulated Flink for weeks, with faults injected at every effect.

    python benchmarks/control_soak.py [--weeks 24] [--seed 1]

Weeks of a load that swings through the day, in days of their own seed: broken answers, a solver
that is silent, changes that fail, kills between any two acts, a full disk, restarts, people who
move the job, and clocks that are set. After each day the list of what must never happen is asserted
on its journal, and the journal is replayed to the byte. A line a day; the first fault ends it.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from edgeplace.control.loop.journal import replay  # noqa: E402
from edgeplace.control.loop.simulated.simulated_flink import Faults  # noqa: E402
from tests.support.loops import (  # noqa: E402
    applies,
    assert_nothing_that_must_never_happen,
    ran,
    ran_with_outages,
)

DAY_S = 86_400
FAULTS = Faults(
    answers=0.1, solver=0.1, apply=0.3, kill=0.002, disk=0.01, job=0.0005, hand=0.001, clock=0.001
)


def a_day(seed: int) -> Counter[str]:
    """Run a day, assert the list, and return what happened how often."""
    chance = np.random.default_rng(seed)
    if seed % 4 == 0:
        minutes = sorted(chance.integers(60, 1380, 6).tolist())
        outages = [("cloud", a, a + 10) for a in minutes[::2]]
        loop = ran_with_outages(24, outages, faults=FAULTS, seed=seed)
    else:
        hours = chance.choice([2, 3, 6, 12, 24])
        swing = np.sin(2 * np.pi * np.arange(DAY_S) / (3600 * hours))
        loop = ran(2400 * (0.6 + 0.35 * swing), faults=FAULTS, seed=seed)
    assert_nothing_that_must_never_happen(loop)
    assert [line.text for line, _, _ in replay(loop.lines, "journal")] == loop.lines
    return Counter(
        lines=len(loop.lines),
        kills=loop.kills,
        changes=len(applies(loop)),
        back=sum(effect.id.endswith("-back") for _, _, effect, _ in applies(loop)),
    )


def main() -> None:
    """Run all days, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weeks", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total: Counter[str] = Counter()
    days = round(7 * args.weeks)
    for day in range(days):
        began_s = time.monotonic()
        total += a_day(args.seed + day)
        told = ", ".join(f"{n:,} {what}" for what, n in total.items())
        print(f"day {day + 1} of {days}: {told}; {time.monotonic() - began_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
