"""A night's run of the conformance suite: generated instances, held against docs/formulation.md.

    python benchmarks/conformance.py --out conformance.jsonl [--seeds 0-10000] [--plans 2000]
        [--backends pulp:CBC]

Each seed is a line of the output file; seeds that the file has are not run again, so that an ended
run goes on where it was. The summary counts what differs by kind; `tests/conformance/shrink.py`
makes a case small.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.check import BACKENDS, BY_PULP, Solver, check
from tests.conformance.generate import generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="0-10000", help="from-to, the last left out")
    parser.add_argument("--plans", type=int, default=2000, help="most plans of an instance")
    parser.add_argument("--seconds", type=float, default=20.0, help="of CPU: more does not end")
    parser.add_argument(
        "--backends", nargs="+", choices=(*BACKENDS, BY_PULP), default=list(BACKENDS)
    )
    parser.add_argument("--family", help="this one only")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    rows = []
    if options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {r["seed"] for r in rows}
    begun, run = time.monotonic(), 0
    with Solver(options.seconds) as solver, options.out.open("a") as out:
        for seed in range(first, last):
            if seed in done:
                continue
            case = generate(seed, options.plans, options.family)
            found = check(case, solver, tuple(options.backends))
            row = {
                "seed": seed,
                "family": case["family"],
                "mismatches": [[m.kind, m.backend, m.said] for m in found],
            }
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
            run += 1
            bad = sum(bool(r["mismatches"]) for r in rows)
            each = (time.monotonic() - begun) / run
            if run % 100 == 0:
                print(
                    f"{len(rows)} cases, {bad} with mismatches, {each:.2f} s each, seed {seed}",
                    file=sys.stderr,
                    flush=True,
                )
    kinds = Counter((k, b) for r in rows for k, b in {(k, b) for k, b, _ in r["mismatches"]})
    bad_rows = [r for r in rows if r["mismatches"]]
    print(f"{len(rows)} cases, {len(bad_rows)} with mismatches")
    for (kind, backend), count in kinds.most_common():
        of_kind = [
            r["seed"] for r in bad_rows if [kind, backend] in [m[:2] for m in r["mismatches"]]
        ]
        print(f"{count:6} {backend:10} {kind:24} seeds {of_kind[:8]}")


if __name__ == "__main__":
    main()
