"""How much of the rate of full Pis the clocked speed of this machine's cores explains.

    sudo .venv/bin/python benchmarks/core_speed.py [--windows N]

Nexmark's Q2 runs in the testbed at full speed, so that both Pis are full and little crosses the
WAN. For each window of 5 s the script prints the records per second of both sources and the speed
of the cores. Then it prints how far the rates are from their mean, without the speed and in
proportion to it, and the exponent with which they follow it. Nothing may run beside it.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.core_speed import clocked_cores  # noqa: E402
from testbed.experiments.headline import running  # noqa: E402
from testbed.experiments.observe import source_rates, windows  # noqa: E402
from testbed.experiments.placement_measurement import WIDE, Schedule  # noqa: E402
from testbed.experiments.policies import at_the_edge  # noqa: E402
from testbed.experiments.workloads import WORKLOADS, compile_workloads  # noqa: E402
from testbed.flink.home import flink_home  # noqa: E402
from testbed.world import World  # noqa: E402

WORKLOAD = "q2-filter"


def main() -> None:
    """Print a row for each window, and what the speed explains."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=48, metavar="N")
    count = parser.parse_args().windows
    schedule, home = Schedule(), flink_home()
    [workload] = (w for w in WORKLOADS if w.name == WORKLOAD)
    with World(home, WIDE) as world, clocked_cores(world.cluster.scratch) as core_speed:
        jar = world.cluster.rest.upload(compile_workloads(home, world.cluster.scratch))
        with running(world, jar, workload, schedule, core_speed) as run:
            stock = run.loop.discover()
            run.loop.apply(at_the_edge(stock.job), stock.cluster)
            run.rate("max")
            time.sleep(schedule.warm_up_s)
            seen = windows(world, count, schedule.window_s)
            rates = source_rates(run.out, seen).sum(axis=0)
            speeds = np.array([core_speed.between(w.begin_s, w.end_s) for w in seen])
    print(f"{'window':>6} {'records/s':>10} {'steps/µs':>9} {'machine busy':>13}")
    for i, (window, rate, speed) in enumerate(zip(seen, rates, speeds, strict=True), 1):
        print(f"{i:6} {rate:10,.0f} {speed:9.2f} {window.machine_busy:13.0%}")
    rate, speed = np.log(rates), np.log(speeds)
    exponent = np.polyfit(speed, rate, 1)[0]
    print(
        f"rates are off their mean by {rate.std():.1%}; in proportion to the speed, by "
        f"{(rate - speed).std():.1%}\n"
        f"they follow it with the exponent {exponent:.2f}, correlation "
        f"{np.corrcoef(speed, rate)[0, 1]:.2f}"
    )


if __name__ == "__main__":
    main()
