"""Every scaling policy on many loads: late time, units, changes and reversals, as a table.

    python benchmarks/control_policies.py [FOLDER ...] [--days 21] [--pause 2] [--json FILE]

* four loads of a known shape, a week each: a step by day, a steady load, a sawtooth of an hour, and
  two flash crowds;
* with FOLDERs, every `*.csv` in them. Of dos-group/load-prediction-dsp (MIT) take the nine
  `*_15min.csv`, of dos-group/demeter (Apache-2.0) the two `*_sub_*.csv`: those have a day of six
  hours, and are stretched to days of 24.

All policies choose between 1 and 24 equal units that are 80 % busy at the peak, and every change
stops the job for `--pause` seconds. The mean over loads gives each load the same weight. A policy
dominates ours on a load if it is less late and uses fewer units. Simulated in seconds, no clock.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from edgeplace.control.fluid import PolicyOutcome, simulate
from edgeplace.control.load import DAY_S, Load, read_load
from edgeplace.control.options import equal_units
from edgeplace.control.policies import POLICIES

UNITS = 24
PEAK = 2400.0
STRETCHED = "_sub_"
STRETCH = 4
OURS = "edgeplace"


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


def row(load: Load, outcome: PolicyOutcome) -> dict[str, object]:
    """Return the figures of a run."""
    return {
        "load": load.name,
        "policy": outcome.policy,
        "days": round(load.days, 2),
        "late_percent": 100 * outcome.late_share,
        "units_percent": 100 * outcome.unit_share,
        "changes_per_day": outcome.changes_per_day,
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
            rows.append(row(load, simulate(load, options, make(DAY_S), args.pause)))
        print(load.name, file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1) + "\n")
    table(rows)


def table(rows: Sequence[dict[str, object]]) -> None:
    """Print the mean of each policy, ours on each load, and who dominates it."""
    figures = ("late_percent", "units_percent", "changes_per_day", "reversals_per_day")
    policies = list(dict.fromkeys(r["policy"] for r in rows))
    print("| policy | late, % | units, % | changes a day | reversed within 1 h, a day |")
    print("|---|---|---|---|---|")
    for policy in policies:
        mean = [np.mean([float(str(r[f])) for r in rows if r["policy"] == policy]) for f in figures]
        print(f"| {policy} | " + " | ".join(f"{v:.2f}" for v in mean) + " |")
    print("\n| load | days | late, % | units, % | changes a day | reversed | less late and fewer |")
    print("|---|---|---|---|---|---|---|")
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
        print(f"| {r['load']} | {r['days']} | {mine} | {', '.join(better) or '-'} |")


if __name__ == "__main__":
    main()
