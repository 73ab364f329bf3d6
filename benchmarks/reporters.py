"""Costs of one run by each way that Flink's metrics can go, against Flink's REST API.

The ways are Prometheus, VictoriaMetrics, InfluxDB, OpenTelemetry and Whisper.

    python benchmarks/reporters.py FOLDER [--seconds 120]

If FOLDER is new, a Flink on this machine runs a job with all four reporters, while `edgeplace
flink collect` polls it: the logs go into FOLDER. Then the costs of each log are compared with those
of the polls, over the same time. tests/live/test_reporters.py asks for the same within 2 %. Needs
Debian's `prometheus`, `victoria-metrics` and `graphite-carbon`. Debian and PyPI have no collector
of OpenTelemetry, so the reporter's requests are written as the JSON of a collector's file exporter.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from testbed.flink.home import flink_home
from testbed.reporters.comparison import REST, costs, figures
from testbed.reporters.recording import record


def compare(folder: Path) -> None:
    """Print each cost of the polls, and how far those of the other logs are from it."""
    window = json.loads((folder / "window.json").read_text())
    print(f"load before {window['load_before']}, after {window['load_after']}")
    measured = costs(folder)
    for op in measured[REST].operators:
        for cost in op.classes:
            share, weak = 100 * (cost.busy_share or 0), cost.weak or "no"
            print(f"{op.name}: busy {cost.busy_s:.1f} s, {share:.1f} % of the time; weak: {weak}")
    found = {name: figures(each) for name, each in measured.items()}
    print(f"{'':48}{REST:>14}" + "".join(f"{name:>17}" for name in list(found)[1:]))
    for figure, value in found[REST].items():
        others = (100 * (of[figure] / value - 1) for of in list(found.values())[1:])
        print(f"{figure:48}{value:14.6g}" + "".join(f"{other:+16.2f}%" for other in others))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=120)
    args = parser.parse_args()
    if not args.folder.exists():
        record(args.folder, flink_home(), args.seconds)
    compare(args.folder)
