"""CPU time of operators on a full Pi, against a log at two thirds of that load.

    python benchmarks/full_pi.py [FOLDER]

The headline stores what each of its logs alone says of an operator's CPU time. On a full Pi threads
wait for a core, and waiting counts as busy. The script compares costs by the log at full speed, and
those that are kept (by regression over all rates where it holds), with costs by the log at two
thirds. Cores are not equally fast in all logs, so costs are first converted to the speed of the log
at two thirds. q-error is the larger one of a / b and b / a. Weak costs are left out, and counted.
"""

import argparse
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
FULL, TWO_THIRDS = "at_the_edge-100", "at_the_edge-67"


def main() -> None:
    """Print a row for each operator on a Pi, and the quantiles."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=ROOT / "benchmarks" / "headline", metavar="FOLDER"
    )
    folder = parser.parse_args().folder
    file = folder / "costs_by_log.jsonl"
    if not file.is_file():
        parser.error(f"no {file}: `make headline` writes it; cells of 22 November 2026 have none")
    lines = file.read_text().splitlines()
    # A job that was measured again is there twice; the last one counts.
    logs = {
        (c["workload"], c["operator"], c["node_class"], c["log"]): c for c in map(json.loads, lines)
    }
    errors: dict[str, list[float]] = {"full": [], "kept": []}
    weak = 0
    print(f"{'operator':50} {'2/3, µs':>9} {'full, q':>8} {'kept, q':>8}  kept by")
    for (workload, operator, node_class, log), full in logs.items():
        least = logs.get((workload, operator, node_class, TWO_THIRDS))
        if log != FULL or node_class != "pi" or least is None:
            continue
        if full["weak"] or least["weak"]:
            weak += 1
            continue
        right = least["cpu_ms_per_record"]
        for name, found in (
            ("full", full["cpu_ms_per_record"] * full["core_speed"] / least["core_speed"]),
            ("kept", least["kept_ms_per_record"] * least["kept_core_speed"] / least["core_speed"]),
        ):
            errors[name].append(max(found / right, right / found))
        print(
            f"{f'{workload}: {operator}'[:50]:50} {1000 * right:9.2f} {errors['full'][-1]:8.2f} "
            f"{errors['kept'][-1]:8.2f}  {least['kept_by']}"
        )
    for name, found in errors.items():
        middle, most = np.quantile(found, (0.5, 0.95))
        print(f"{name}: q-error median {middle:.2f}, 95 % {most:.2f}, worst {max(found):.2f}")
    print(f"{len(errors['full'])} operators; {weak} are weak in one of the logs")


if __name__ == "__main__":
    main()
