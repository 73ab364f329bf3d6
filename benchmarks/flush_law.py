"""The flush law on the headline's recorded figures: leave one rate out.

    python benchmarks/flush_law.py

For each stream whose output is not proportional to its input, the script predicts each measured
rate from the others: as the evaluator does without a law, and by both forms of the law. q-error is
the larger one of predicted / measured and measured / predicted. `nested` chooses the form without
the left-out rate, which needs four rates.
"""

import math
import sys
from pathlib import Path
from statistics import median

from edgeplace.model import AtRate, JobGraph, read
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats.laws import Choice, HeldOut, learn, selectivity_at

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.at_rates import at_all_rates  # noqa: E402

FOLDER = ROOT / "benchmarks" / "headline"
CHECKPOINT_S = 5.0
BY_COUNT = Gathering(interval_s=1, records=20_000, checkpoint_s=CHECKPOINT_S)
STREAMS = {
    ("word-count", "combine"): BY_COUNT.model_copy(update={"keys_per_record": 10.0}),
    ("t-digest", "combine"): BY_COUNT,
    ("sql-two-phase", "DataStreamToTable"): BY_COUNT,
    ("q5-hot-items", "combine"): Gathering(interval_s=1, checkpoint_s=CHECKPOINT_S),
    ("q11-sessions", "sessions"): Gathering(interval_s=10),
}
"""Workload and first word of the operator -> when it flushes, by testbed/jobs."""


def measured(workload: str, operator: str) -> tuple[AtRate, ...]:
    """Return what the only stream of an operator carried, at all rates of the headline."""
    jobs = [read(file, JobGraph) for file in sorted(FOLDER.glob(f"{workload}-*.job.json"))]
    names = {op.id: op.name for op in jobs[0].operators}
    [stream] = [
        s
        for s in at_all_rates(jobs[0], jobs).streams
        if names[s.source].split("[")[0].split()[0] == operator
    ]
    assert stream.cost is not None
    return stream.cost.by_rate


def nested(gathering: Gathering, seen: tuple[AtRate, ...]) -> list[HeldOut]:
    """Return the errors where the form is chosen, or refused, without the left-out rate."""
    found = []
    for i, left_out in enumerate(seen):
        others = (*seen[:i], *seen[i + 1 :])
        law = learn(gathering, others).law
        said = selectivity_at(left_out.rate_per_s, others, law)
        q = math.exp(abs(math.log(said / left_out.selectivity)))
        found.append(HeldOut(left_out.rate_per_s, 0 < i < len(seen) - 1, q))
    return found


def figures(errors: tuple[HeldOut, ...] | list[HeldOut], between: bool) -> str:
    return ", ".join(f"{e.q:.2f}" for e in errors if e.between is between)


def row(workload: str, gathering: Gathering, seen: tuple[AtRate, ...], choice: Choice) -> None:
    ways: dict[str, tuple[HeldOut, ...]] = {"no law": choice.without}
    ways |= {str(form): errors for form, errors in choice.errors.items()}
    if len(seen) > 3:
        ways["nested"] = tuple(nested(gathering, seen))
    print(
        f"\n{workload}: {len(seen)} rates, {seen[0].rate_per_s:,.0f} to "
        f"{seen[-1].rate_per_s:,.0f} records/s"
    )
    for way, errors in ways.items():
        print(f"  {way:13} between {figures(errors, True):12} beyond {figures(errors, False)}")
    law = choice.law
    print(
        f"  kept: {law.form}, {law.keys:,.0f} keys, shape {law.shape:.3f}"
        if law
        else f"  refused: {choice.reason}"
    )


def main() -> None:
    """Print the errors of each stream, and their medians."""
    old: dict[bool, list[float]] = {True: [], False: []}
    new: dict[bool, list[float]] = {True: [], False: []}
    for (workload, operator), gathering in STREAMS.items():
        seen = measured(workload, operator)
        choice = learn(gathering, seen)
        row(workload, gathering, seen, choice)
        if choice.law is None:
            continue
        for before, after in zip(choice.without, choice.errors[choice.law.form], strict=True):
            old[before.between].append(before.q)
            new[after.between].append(after.q)
    print("\nwhere a law is kept, q-error, median (worst)")
    for between, name in ((True, "between"), (False, "beyond")):
        print(
            f"  {name}: without {median(old[between]):.2f} ({max(old[between]):.2f}), "
            f"with {median(new[between]):.2f} ({max(new[between]):.2f})"
        )


if __name__ == "__main__":
    main()
