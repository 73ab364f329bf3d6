"""The loop's WAN bytes beside those of the best plan of each moment, known in hindsight.

    python benchmarks/control_hindsight.py [FOLDER ...] [--days 3]

The real loop runs in a simulated Flink on the loads of `control_policies.py` (FOLDERs too). Four
Pis, each behind a link of its own, have 600 records/s at the peak of the load: they bear the filter
always, the features up to 73 % of the peak and the summary up to 40 %; a server bears all. The
summary has 2 MB of state a subtask, and checkpoints are stored at the server.

Hindsight knows each second's rate and moves at no price: it pays for each second the proved least
bytes of a plan that sustains that rate (rates are rounded down to one of 400 levels, so it pays
rather less than it could). Once with no reserve, and once with the reserve of 15 % that the loop's
plans have to have. The loop pays for what ran, and for the state that its changes read back over
the WAN. Until its first day is known the loop only guards, so the days after it stand apart.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.control_policies import recorded, shapes  # noqa: E402

from edgeplace.control.load import DAY_S, Load  # noqa: E402
from edgeplace.control.loop.simulated.simulated_flink import SimulatedFlink  # noqa: E402
from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop  # noqa: E402
from edgeplace.control.settings import ControlSettings  # noqa: E402
from edgeplace.model import JobGraph, Pin, Rules, ShipStrategy, SourceDemand  # noqa: E402
from edgeplace.solver import solve  # noqa: E402
from tests.support.seeds import cost, filter_cluster, operator, stream  # noqa: E402

PEAK = 600.0
"""Records per second of each Pi."""
PIS = tuple(f"pi-{i}" for i in range(4))
LEVELS = 400
RESERVE = 1.15
"""The default of `headroom` in a control file."""
CLUSTER = filter_cluster().model_copy(update={"checkpoint_storage": "cloud"})
RULES = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
FAST = 200_000.0


class WatchedFlink(SimulatedFlink):
    """Remembers the bytes of the first day."""

    first_day_bytes = 0.0

    def advance(self, seconds: int) -> None:
        """Let time pass."""
        super().advance(seconds)
        if self.now_s <= self.began_s + DAY_S:
            self.first_day_bytes = self.wan_bytes


def job(rate_per_s: float) -> JobGraph:
    """Return the job with so many records per second of each Pi."""
    demand = SourceDemand(rates_per_s=(rate_per_s,) * len(PIS))
    # What a subtask on a Pi bears: the features get half of the records.
    features, summary = 0.73 * PEAK / 2, 0.4 * PEAK / 2
    state = {"selectivity": 0.1, "state_bytes": 8e6}
    return JobGraph(
        name="sensors",
        operators=(
            operator("source", 4, cost("source", 1e6, 1e6, demand=demand), born_at=PIS),
            operator("filter", 4, cost("filter", 5000.0, FAST, selectivity=0.5)),
            operator("features", 4, cost("features", features, FAST, selectivity=1.0)),
            operator("summary", 4, cost("summary", summary, FAST, **state)),
            operator("sink", 1, cost("sink", 1e6, 1e6, selectivity=0.0)),
        ),
        streams=(
            stream("source", "filter", ShipStrategy.FORWARD, 100),
            stream("filter", "features", ShipStrategy.FORWARD, 100),
            stream("features", "summary", ShipStrategy.FORWARD, 60),
            stream("summary", "sink", ShipStrategy.REBALANCE, 60),
        ),
    )


def least_bytes(levels: np.ndarray) -> np.ndarray:
    """Return the proved least WAN bytes per second of a plan at each share of the peak."""
    found = []
    for level in levels:
        result = solve(job(PEAK * level), CLUSTER, RULES)
        assert result.evaluation is not None and result.status == "optimal", result.status
        found.append(result.evaluation.wan_bytes_per_s)
    return np.array(found)


def ran(load: Load) -> tuple[SimulatedLoop, WatchedFlink]:
    """Run the loop on a load whose peak is that of the job."""
    start = solve(job(PEAK), CLUSTER, RULES).plan
    assert start is not None
    rates = load.rates_per_s * (4 * PEAK / load.rates_per_s.max())
    flink = WatchedFlink(
        job(PEAK), CLUSTER, RULES, Load(load.name, rates), start.of("sensors"), 4.0 * DAY_S
    )
    told = {"jobmanager": "http://flink", "job": "sensors", "cluster": "c", "costs": "k"}
    settings = ControlSettings.model_validate({**told, "mode": "apply"})
    loop = SimulatedLoop(flink, settings, i_know=True)
    loop.run()
    return loop, flink


def main() -> None:
    """Print a row for each load."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--days", type=float, default=3.0)
    args = parser.parse_args()
    levels = np.arange(1, int(LEVELS * RESERVE) + 1) / LEVELS
    # Of the whole peak's records: at a level's rate a plan sends this for each.
    a_record = least_bytes(levels) / levels
    a_record = np.r_[a_record[0], a_record]
    print(
        "| load | WAN, ran / hindsight | after day 1 | ran / hindsight with reserve | after day 1 "
        "| state, % | changes a day | late, % |\n|---|---|---|---|---|---|---|---|"
    )
    for load in (*shapes(), *recorded(args.folders)):
        load = load.first(min(args.days, load.days))
        share = load.rates_per_s / load.rates_per_s.max()
        bests = [
            share * a_record[np.floor(share * factor * LEVELS).astype(int)]
            for factor in (1.0, RESERVE)
        ]
        loop, flink = ran(load)
        state = dict(pair for _, memory, _ in loop.steps for pair in memory.restored)
        later_state = sum(b for at_s, b in state.items() if at_s > flink.began_s + DAY_S)
        later = flink.wan_bytes - flink.first_day_bytes + later_state
        changes = sum(e.kind == "apply" for _, _, stepped in loop.steps for e in stepped.effects)
        cells = (
            load.name,
            *(
                f"{ratio:.3f}"
                for best in bests
                for ratio in (
                    (flink.wan_bytes + sum(state.values())) / best.sum(),
                    later / best[int(DAY_S) :].sum(),
                )
            ),
            f"{100 * sum(state.values()) / flink.wan_bytes:.2f}",
            f"{changes / load.days:.1f}",
            f"{100 * flink.late_s / len(share):.3f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
