"""Costs on node classes never seen: leave one operator out on one class.

    python benchmarks/pooling.py [CAPSYS]

For each operator that the headline measured on both classes, the script leaves out its cost on one
of them and estimates it from the rest: from that job alone, and from all jobs. Beside it stand the
operator's cost on the other class by the ratio of the classes' speeds, as plans take it without an
estimate, and by nothing. CAPSYS is a folder with the project's `profiles/`; its pipeline of images
was measured on two types of machine. q-error is the larger one of predicted / measured and
measured / predicted.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from edgeplace.model import Cluster, JobGraph, read
from edgeplace.spark_stats.pooling import Estimate, MeasuredCost, Pool

FOLDER = Path(__file__).parents[1] / "benchmarks" / "headline"
ENOUGH_S = 1.0
"""Busy seconds from which a cost counts as well measured."""


@dataclass(frozen=True)
class LeftOut:
    """One cost, and what the others say of it."""

    measured: MeasuredCost
    pooled: Estimate | None
    by_speed: float
    as_elsewhere: float


def headline(figure: str) -> dict[str, list[MeasuredCost]]:
    """Return the costs of each job, from the logs at full speed."""
    found = {}
    for file in sorted(FOLDER.glob("*-50.job.json")):
        job = read(file, JobGraph)
        found[job.name] = [
            MeasuredCost.of_samples(
                f"{job.name} {op.name}",
                c.node_class,
                1 / c.true_rate_per_s if figure == "busy time" else (c.cpu_ms_per_record or 0.0),
                c.relative_spread or 0.5,
                c.samples,
                c.busy_s,
            )
            for op in job.operators
            for c in (op.cost.classes if op.cost else ())
            if figure == "busy time" or c.cpu_ms_per_record
        ]
    return found


def capsys(folder: Path) -> list[MeasuredCost]:
    """Return busy seconds a record of the same operators on two types of machine."""
    found = []
    for kind, pattern in (("caps-go", "*deem.json"), ("cloudlab", "*q3-inf*.json")):
        [file] = folder.glob(f"profiles/{pattern}")
        for node in json.loads(file.read_text())["nodes"]:
            samples = [sample for [sample] in node["_pertask"]]
            each = [(sum(s["_busytime"]) / 1000, sum(s["_oip"])) for s in samples if sum(s["_oip"])]
            busy, records = (sum(part) for part in zip(*each, strict=True)) if each else (0, 0)
            if records and busy > 0:
                mean = busy / records
                errors = [(b / r / mean - 1) ** 2 for b, r in each]
                spread = (sum(errors) / len(errors)) ** 0.5
                name = node["name"].removeprefix("Q3_")
                found.append(MeasuredCost.of_samples(name, kind, mean, spread, len(each), 5 * busy))
    return found


def left_out(measured: Sequence[MeasuredCost], speed: dict[str, float]) -> list[LeftOut]:
    """Return the estimate of each cost from the others, where its operator has another."""
    found = []
    for m in measured:
        rest = [x for x in measured if x is not m]
        elsewhere = [x for x in rest if x.operator == m.operator]
        if elsewhere:
            factor = speed.get(elsewhere[0].node_class, 1.0) / speed.get(m.node_class, 1.0)
            other = elsewhere[0].cost
            pooled = Pool(rest).estimate(m.operator, m.node_class)
            found.append(LeftOut(m, pooled, factor * other, other))
    return found


def show(name: str, found: Sequence[LeftOut]) -> None:
    """Print q-errors, and how often the interval holds."""
    kept = [x for x in found if x.pooled]
    if len(kept) < 2:
        print(f"{name}: too few costs")
        return

    def q(predicted: float, x: LeftOut) -> float:
        return max(predicted / x.measured.cost, x.measured.cost / predicted)

    ways = {
        "pooled": [q(x.pooled.cost, x) for x in kept if x.pooled],
        "by speed": [q(x.by_speed, x) for x in kept],
        "as elsewhere": [q(x.as_elsewhere, x) for x in kept],
    }
    held = sum(x.pooled.low <= x.measured.cost <= x.pooled.high for x in kept if x.pooled)
    print(f"{name}: {len(kept)} left out, {held / len(kept):.0%} within the 90 % interval")
    for way, errors in ways.items():
        cuts = quantiles(errors, n=20, method="inclusive")
        print(f"  {way:13} q50 {cuts[9]:.2f}, q95 {cuts[18]:.2f}, worst {max(errors):.2f}")


def main() -> None:
    """Print what is found."""
    cluster = read(FOLDER / "cluster.json", Cluster)
    speed = {c.id: c.speed for c in cluster.node_classes}
    for figure in ("busy time", "CPU time"):
        jobs = headline(figure)
        own = [x for each in jobs.values() for x in left_out(each, speed)]
        every = left_out([m for each in jobs.values() for m in each], speed)
        for name, found in (("own job", own), ("all jobs", every)):
            show(f"headline, {figure}, {name}", found)
            strong = [x for x in found if _strong(x.measured, jobs)]
            show(f"headline, {figure}, {name}, {ENOUGH_S:g} s busy on both", strong)
    if len(sys.argv) > 1:
        show("CAPSys, busy time", left_out(capsys(Path(sys.argv[1])), {}))


def _strong(m: MeasuredCost, jobs: dict[str, list[MeasuredCost]]) -> bool:
    """Return whether both costs of an operator rest on enough busy time."""
    both = [x for each in jobs.values() for x in each if x.operator == m.operator]
    return all(x.busy_s >= ENOUGH_S for x in both)


if __name__ == "__main__":
    main()
