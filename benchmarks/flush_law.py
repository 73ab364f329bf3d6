"""The flush law on the headline's recorded figures: leave one rate out.

    python benchmarks/flush_law.py

For each stream whose output is not proportional to its input, the script predicts each measured
rate from the others: as the evaluator does without a law, and by both forms of the law. q-error is
the larger one of predicted / measured and measured / predicted. `nested` chooses the form without
the left-out rate, which needs four rates.
"""

import sys
from pathlib import Path
from statistics import median

from edgeplace.model import AtRate, JobGraph, read
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats.laws import Choice, HeldOut, held_out, learn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.at_rates import GATHERS, at_all_rates, gathers  # noqa: E402

FOLDER = ROOT / "benchmarks" / "headline"


def measured(name: str) -> tuple[Gathering, tuple[AtRate, ...]]:
    """Return when the gathering operator of a job flushes, and what it put out at all rates."""
    jobs = [job for job in map(_read, sorted(FOLDER.glob("*.job.json"))) if job.name == name]
    [found] = [
        (gathering, stream.cost.by_rate)
        for stream in at_all_rates(jobs[0], jobs).streams
        if stream.cost and (gathering := gathers(jobs[0], stream.source))
    ]
    return found


def _read(file: Path) -> JobGraph:
    return read(file, JobGraph)


def figures(errors: tuple[HeldOut, ...], between: bool) -> str:
    return ", ".join(f"{e.q:.2f}" for e in errors if e.between is between)


def row(name: str, gathering: Gathering, seen: tuple[AtRate, ...], choice: Choice) -> None:
    ways: dict[str, tuple[HeldOut, ...]] = {"no law": choice.without}
    ways |= {str(form): errors for form, errors in choice.errors.items()}
    if len(seen) > 3:
        ways["nested"] = held_out(seen, lambda others: learn(gathering, others).law)
    print(
        f"\n{name}: {len(seen)} rates, {seen[0].rate_per_s:,.0f} to "
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
    recorded = {_read(file).name for file in FOLDER.glob("*.job.json")}
    for name, _ in GATHERS:
        if name not in recorded:
            print(f"\n{name}: the headline has no such job")
            continue
        gathering, seen = measured(name)
        choice = learn(gathering, seen)
        row(name, gathering, seen, choice)
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
