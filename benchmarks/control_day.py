"""The testbed's day under several policies: late seconds and bytes on the WAN, side by side.

    sudo python benchmarks/control_day.py FOLDER [--schedule benchmarks/control_days/day.yaml]

Each policy has a testbed of its own, one after the other, with the same schedule: `edgeplace`, its
loop with all it may do; `autoscaler` and `thesis`, the formula of Flink's autoscaler and the rule
of a thesis, with edgeplace's plans and its way to change a job; `static`, nobody. If asked for:
`no-survive`, the loop without plans for the loss of a site, and `recommend`, the loop that changes
nothing. Results that are in FOLDER are not measured again.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from edgeplace.control.rehearsal import read_rehearsal  # noqa: E402
from testbed.rehearsal.rehearse import rehearse  # noqa: E402

POLICIES: dict[str, dict[str, Any]] = {
    "edgeplace": {},
    "autoscaler": {"policy": "autoscaler"},
    "thesis": {"policy": "thesis"},
    "static": {"policy": "static"},
    "no-survive": {"control": {"survive": []}},
    "recommend": {"control": {"mode": "recommend"}},
}
FOUR = ("edgeplace", "autoscaler", "thesis", "static")


def main() -> None:
    """Run what is missing, and print a row for each policy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--schedule", default=str(ROOT / "benchmarks" / "control_days" / "day.yaml")
    )
    parser.add_argument("--policies", nargs="*", default=FOUR, choices=list(POLICIES))
    args = parser.parse_args()
    schedule = read_rehearsal(args.schedule)
    rows = []
    for name in args.policies:
        out = args.folder / name
        found = out / "rehearsal.json"
        if not found.is_file():
            more = POLICIES[name]
            control = {**schedule.control, **more.get("control", {})}
            rehearse(schedule.model_copy(update={**more, "control": control}), out)
        seen = json.loads(found.read_text())
        rows.append((name, seen["late_s"], seen["wan_bytes"] / 1e6, seen["changes"]))
    print("\n| policy | late, s | WAN, MB | changes |\n|---|---|---|---|")
    for name, late_s, wan_mb, changes in rows:
        print(f"| {name} | {late_s:.0f} | {wan_mb:,.1f} | {changes} |")


if __name__ == "__main__":
    main()
