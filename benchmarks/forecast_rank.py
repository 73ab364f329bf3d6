"""The loop's forecast beside the published methods, on the nine traces that they were scored on.

    python benchmarks/forecast_rank.py FOLDER [--rate 15min]

FOLDER is a clone of dos-group/load-prediction-dsp (MIT): its `data/` has the traces, its
`*_experiments/results/` what each method forecast for the last fifth of each ("Evaluation of Load
Prediction Techniques for Distributed Stream Processing", IC2E 2021). As theirs, our forecast of a
bin is the mean of those made one to four bins before, each from the past alone. The error is the
mean absolute one over the mean of the trace. Rank 1 is the best; equal errors share their mean
rank. Coverage is the share of bins below the bound of 90 %, for each number of bins ahead.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from edgeplace.control.forecast import Forecaster

BINS_A_DAY = {"5min": 288, "15min": 96, "1h": 24}
AHEAD = 4
QUANTILE = 0.9
OURS = "edgeplace"
KNOWN_COLUMNS = ("date", "t", "messages")


def ours(series: np.ndarray, first: int, day: int) -> tuple[np.ndarray, np.ndarray]:
    """Return our forecast of each bin from `first` on, and the coverage by bins ahead."""
    forecaster = Forecaster((day, 7 * day), AHEAD, QUANTILE, 7 * day)
    bins = len(series) - first
    expected = np.full((AHEAD, bins), np.nan)
    upper = np.full((AHEAD, bins), np.nan)
    for origin in range(first - AHEAD + 1, len(series)):
        made = forecaster.forecast(series[:origin])
        for h in range(AHEAD):
            if first <= origin + h < len(series):
                expected[h, origin + h - first] = made.expected[h]
                upper[h, origin + h - first] = made.upper[h]
    return expected.mean(axis=0), (series[first:] <= upper).mean(axis=1)


def published(folder: Path, name: str, truth: np.ndarray) -> dict[str, float]:
    """Return the error of each published method on the last bins of a trace."""
    errors = {}
    for file in sorted(folder.glob(f"*_experiments/results/{name}_*results.csv")):
        table = pd.read_csv(file)
        for method in table.columns.difference(KNOWN_COLUMNS):
            said, came = table[method].to_numpy(float), table["t"].to_numpy(float)
            last = min(len(said), len(truth))
            errors[method] = float(np.nanmean(np.abs(said - came)[-last:]) / truth.mean())
    return errors


def main() -> None:
    """Print the errors, the ranks and the coverage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", choices=list(BINS_A_DAY), default="15min")
    args = parser.parse_args()
    files = sorted((args.folder / "data").glob(f"*_{args.rate}.csv"))
    if not files:
        sys.exit(f"no *_{args.rate}.csv in {args.folder / 'data'}: clone the traces there")
    rows, coverage = {}, {}
    for file in files:
        series = pd.read_csv(file, index_col=0).dropna().iloc[:, 0].to_numpy(float)
        first = int(len(series) * 0.8)
        expected, below = ours(series, first, BINS_A_DAY[args.rate])
        truth = series[first:]
        rows[file.stem] = published(args.folder, file.stem, truth) | {
            OURS: float(np.abs(expected - truth).mean() / truth.mean())
        }
        coverage[file.stem] = below
    table = pd.DataFrame(rows)
    table["mean rank"] = table.rank().mean(axis=1)
    print("error, % of the mean\n")
    percent = table.assign(**{name: 100 * table[name] for name in rows})
    print(percent.sort_values("mean rank").round(2).to_string())
    print(f"\nof {len(table)} methods; ours:\n")
    print(
        "| trace | " + " | ".join(f"{h + 1} ahead, % below the bound" for h in range(AHEAD)) + " |"
    )
    print("|---|" + "---|" * AHEAD)
    for name, below in coverage.items():
        print(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in below) + " |")


if __name__ == "__main__":
    main()
