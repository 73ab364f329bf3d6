"""How long the loop's next decision takes after one rate has changed, against the first one.

    python benchmarks/control_again.py [INSTANCE ...]

Each instance is decided on as the loop does, with six levels of the next day. Then one source's
rate grows by a tenth, is a tenth less, and is back again. Each decision is made with what the
decisions before it proved, and once more with nothing kept, every question searched. One search of
the largest level alone is the least for a decision that needs a plan which nobody has found yet.
Processor seconds, so that other work on the machine does not count; what a process takes to start
is not in them.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from edgeplace.control.loop.answering.answer import answer  # noqa: E402
from edgeplace.control.loop.answering.known import Known, KnownBest  # noqa: E402
from edgeplace.control.loop.events import Rates, Solve, Solved  # noqa: E402
from edgeplace.instances.families import generate  # noqa: E402
from edgeplace.solver import solve  # noqa: E402

LEVELS = tuple(1.15**k for k in (0, -2, -4, -6, 1, 2))
INSTANCES = (
    "seed-pis-20-5",
    "riotbench-6-3",
    "nexmark-4-2",
    "scale-100-1",
    "scale-300-1",
    "scale-1000-1",
)


@dataclass
class Forgetful(Known):
    """Keeps nothing."""

    def best(self, *args: object, **more: object) -> KnownBest:
        """Search for the answer."""
        return Known().best(*args, **{**more, "near": 0.0})  # type: ignore[arg-type]


def measure(name: str) -> None:
    """Measure an instance, and print a line for each decision."""
    case = generate(name)
    (job,), cluster, rules = case.jobs, case.cluster, case.rules
    rates = {
        op.id: sum(op.cost.demand.rates_per_s) for op in job.sources() if op.cost and op.cost.demand
    }
    rates = {op: 0.5 * rate for op, rate in rates.items()}
    best = solve(job, cluster, rules, time_limit_s=60).plan
    if best is None:
        raise RuntimeError(f"{name}: no plan at half of its rates")
    places = best.of(job.name)
    changed = next(iter(rates))

    def decided(asked: Rates, known: Known) -> tuple[Solved, float]:
        ask = Solve(ticket=1, places=places, rates=asked, day=LEVELS, limit_s=10.0)
        began_s = time.process_time()
        return answer(ask, job, cluster, rules, 0.0, known=known), time.process_time() - began_s

    def searched(level: float) -> float:
        at = job
        for op, rate in rates.items():
            at = at.with_source_rate(op, level * rate)
        began_s = time.process_time()
        solve(at, cluster, rules, ("wan",), time_limit_s=10.0)
        return time.process_time() - began_s

    # The first call loads what is loaded once.
    decided(rates, Known())
    known = Known()
    alone_s = searched(LEVELS[-1])
    print(f"{name}: {sum(op.parallelism for op in job.operators)} subtasks, {len(rates)} sources")
    for what, factor in (
        ("first", 1.0),
        ("the same rates", 1.0),
        ("one rate 10 % more", 1.1),
        ("one rate 10 % less", 0.9),
        ("one rate 5 % more", 1.05),
        ("all as at first", 1.0),
    ):
        asked = {**rates, changed: factor * rates[changed]}
        solved, took_s = decided(asked, known)
        cold, cold_s = decided(asked, Forgetful())
        if solved.problem or cold.problem:
            raise RuntimeError(solved.problem or cold.problem)
        least = (
            min(option.wan_cost[0] for option in solved.day if option.fits[0]),
            min(option.wan_cost[0] for option in cold.day if option.fits[0]),
        )
        print(
            f"  {what}: {1000 * took_s:.0f} ms, with nothing kept {1000 * cold_s:.0f} ms: "
            f"{took_s / cold_s:.1%}; WAN {least[0] / least[1] - 1:+.2%}",
            flush=True,
        )
        if what == "first":
            share = alone_s / took_s
            print(f"  one search alone: {1000 * alone_s:.0f} ms, {share:.0%} of the first decision")


def main() -> None:
    """Measure all instances."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("instances", nargs="*", default=INSTANCES)
    for name in parser.parse_args().instances:
        measure(name)


if __name__ == "__main__":
    main()
