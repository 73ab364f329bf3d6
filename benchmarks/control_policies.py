"""Every scaling policy on many loads: late time, units, changes and reversals, as a table.

    python benchmarks/control_policies.py [FOLDER ...] [--days 21] [--pause 2] [--json FILE]

* four loads of a known shape, a week each: a step by day, a steady load, a sawtooth of an hour, and
  two flash crowds;
* with FOLDERs, every `*.csv` in them. Of dos-group/load-prediction-dsp (MIT) take the nine
  `*_15min.csv`, of dos-group/demeter (Apache-2.0) the two `*_sub_*.csv`: those have a day of six
  hours, and are stretched to days of 24.

All policies choose between 1 and 24 equal units that are 80 % busy at the peak, and every change
stops the job for `--pause` seconds. The mean over loads gives each load the same weight. A policy
dominates ours on a load if it is less late and uses fewer units. Beside ours stands the least that
a policy could reach that decides by the half hour, knows the load, and changes at most 12
times a day. Simulated in seconds, no clock.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from edgeplace.control.fluid import PolicyOutcome, simulate
from edgeplace.control.load import DAY_S, Load, read_load
from edgeplace.control.options import Options, equal_units
from edgeplace.control.plan_ahead import plan_ahead, shadow_price
from edgeplace.control.policies import POLICIES

UNITS = 24
PEAK = 2400.0
STRETCHED = "_sub_"
STRETCH = 4
OURS = "edgeplace"
BIN_S = 1800


def shapes() -> Iterator[Load]:
    """Yield a week of each load of a known shape."""
    second = np.arange(7 * DAY_S)
    hour = second % DAY_S // 3600
    yield Load("step by day", np.where((hour >= 9) & (hour < 17), PEAK, PEAK / 5))
    yield Load("steady", np.full(7 * DAY_S, PEAK / 2))
    yield Load("sawtooth of an hour", PEAK * (0.4 + 0.6 * (second % 3600) / 3600))
    rates = np.full(7 * DAY_S, PEAK / 5)
    for at in (130_000, 400_000):
        since = second - at
        crowd = np.where(since < 60, since / 60, np.exp(-(since - 60) / 1200))
        rates += np.where(since >= 0, crowd, 0.0) * PEAK * 0.8
    yield Load("two flash crowds", rates)


def recorded(folders: Sequence[Path]) -> Iterator[Load]:
    """Yield the loads in folders."""
    for folder in folders:
        for file in sorted(folder.glob("*.csv")):
            load = read_load(file)
            if STRETCHED in file.name:
                load = Load(load.name, np.repeat(load.rates_per_s, STRETCH))
            yield load


def known_in_advance(load: Load, options: Options) -> float:
    """Return the least share of the units that serves each half hour, with at most 12 changes a
    day: what a policy of half hours could reach that knew the future.
    """
    whole = load.rates_per_s[: len(load.rates_per_s) // BIN_S * BIN_S]
    peaks = whole.reshape(-1, BIN_S).max(axis=1)
    units = options.units
    short = options.capacities < peaks[:, None] * (1 - 1e-9)
    costs = np.where(short, 1e3 * units.max(), units)
    price = shadow_price(costs, 12 * len(peaks) * BIN_S / DAY_S)
    chosen = plan_ahead(costs, price, int(costs[0].argmin())).options
    return float(units[chosen].mean() / units.max())


def row(load: Load, options: Options, outcome: PolicyOutcome) -> dict[str, object]:
    """Return the figures of a run."""
    return {
        "load": load.name,
        "policy": outcome.policy,
        "days": round(load.days, 2),
        "late_percent": 100 * outcome.late_share,
        "known_percent": 100 * known_in_advance(load, options),
        "units_percent": 100 * outcome.unit_share,
        "changes_per_day": outcome.changes_per_day,
        "fewer_per_day": float(np.count_nonzero(np.diff(outcome.option) < 0) / load.days),
        "reversals_per_day": outcome.reversals_per_day,
    }


def main() -> None:
    """Run all, print the means and where ours is dominated."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--days", type=float, default=21.0)
    parser.add_argument("--pause", type=float, default=2.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, object]] = []
    for load in (*shapes(), *recorded(args.folders)):
        load = load.first(min(args.days, load.days))
        options = equal_units(UNITS, float(load.rates_per_s.max()))
        for make in POLICIES.values():
            rows.append(
                row(load, options, simulate(load, options, make(DAY_S, args.pause), args.pause))
            )
        print(load.name, file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1) + "\n")
    table(rows)


def table(rows: Sequence[dict[str, object]]) -> None:
    """Print the mean of each policy, ours on each load, and who dominates it."""
    figures = (
        "late_percent",
        "units_percent",
        "changes_per_day",
        "fewer_per_day",
        "reversals_per_day",
    )
    policies = list(dict.fromkeys(r["policy"] for r in rows))
    print("| policy | late, % | units, % | changes a day | to fewer units | reversed within 1 h |")
    print("|---|---|---|---|---|---|")
    for policy in policies:
        mean = [np.mean([float(str(r[f])) for r in rows if r["policy"] == policy]) for f in figures]
        print(f"| {policy} | " + " | ".join(f"{v:.2f}" for v in mean) + " |")
    print(
        "\n| load | days | known in advance, % | late, % | units, % | changes a day "
        "| to fewer units | reversed | less late and fewer |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        if r["policy"] != OURS:
            continue
        late, units = float(str(r["late_percent"])), float(str(r["units_percent"]))
        better = [
            str(o["policy"])
            for o in rows
            if o["load"] == r["load"]
            and float(str(o["late_percent"])) < late
            and float(str(o["units_percent"])) < units
        ]
        mine = " | ".join(f"{float(str(r[f])):.2f}" for f in figures)
        known = f"{float(str(r['known_percent'])):.1f}"
        print(f"| {r['load']} | {r['days']} | {known} | {mine} | {', '.join(better) or '-'} |")


if __name__ == "__main__":
    main()
