"""Partitioners side by side on one stream of records: balance, partials, the worst window.

    python -m benchmarks.partitioners.compare [--markdown]

Each case has 12 slides of 10,000 records with keys of a Zipf distribution; the first two slides are
not counted. `share` is the rate that is sustained over the ideal one: mean load over that of the
fullest worker, each over its speed; its mean over the slides, and the worst one. `partials` are
pairs of a key and a worker in a slide; `of target` is their share of keys + workers - 1, which is
enough to balance perfectly (McNaughton 1959). All is deterministic.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from benchmarks.partitioners.cam import Cam
from benchmarks.partitioners.d_choices import DChoices
from benchmarks.partitioners.dagreedy import DaGreedy
from benchmarks.partitioners.dalton import Dalton
from benchmarks.partitioners.drifting_key_style import DriftingKeyStyle
from benchmarks.partitioners.edgeplace_rule import ColdByHash, EdgeplaceRule
from benchmarks.partitioners.flexd import FlexD
from benchmarks.partitioners.hashing import Hash
from benchmarks.partitioners.partitioner import Partitioner
from benchmarks.partitioners.pkg import Pkg
from benchmarks.partitioners.sas_style import SasStyle
from benchmarks.partitioners.shuffle import Shuffle
from benchmarks.partitioners.w_choices import WChoices

ALL: tuple[type[Partitioner], ...] = (
    Hash,
    Pkg,
    Cam,
    DaGreedy,
    Dalton,
    SasStyle,
    DChoices,
    WChoices,
    FlexD,
    DriftingKeyStyle,
    Shuffle,
    ColdByHash,
    EdgeplaceRule,
)
SLIDES, UNCOUNTED, RECORDS = 12, 2, 10_000


@dataclass(frozen=True)
class Setting:
    """Workers, keys, exponent; speeds from 0.5 to 1.5; new hot keys each so many slides."""

    workers: int
    keys: int
    zipf: float
    unlike: bool = False
    drift: int = 0
    routers: int = 1

    @property
    def title(self) -> str:
        more = ", unlike speeds" if self.unlike else ""
        more += f", drift each {self.drift}" if self.drift else ""
        more += f", {self.routers} routers" if self.routers > 1 else ""
        return f"P {self.workers}, {self.keys:,} keys, Zipf {self.zipf:g}{more}"


CASES = (
    Setting(4, 100, 1.5),
    Setting(16, 10_000, 0.5),
    Setting(16, 10_000, 1.0),
    Setting(16, 10_000, 1.5),
    Setting(16, 10_000, 2.0),
    Setting(64, 10_000, 1.5),
    Setting(16, 10_000, 1.5, drift=3),
    Setting(16, 10_000, 1.5, unlike=True),
    Setting(16, 10_000, 1.5, unlike=True, drift=3),
    Setting(16, 10_000, 1.5, unlike=True, drift=3, routers=4),
)

GRID = tuple(
    Setting(workers, 10_000, zipf, unlike=True, drift=3)
    for workers in (4, 16, 64)
    for zipf in (0.5, 1.0, 1.5, 2.0)
)
"""Unlike speeds and drift at once, for edgeplace's rule with and without its bound on cold keys."""


@dataclass(frozen=True)
class PartitionerFigures:
    """Of one partitioner in one case."""

    imbalance: float
    worst: float
    partials: float
    target: float

    @property
    def share(self) -> float:
        return 1 / (1 + self.imbalance)

    @property
    def worst_share(self) -> float:
        return 1 / (1 + self.worst)


def records(case: Setting) -> list[np.ndarray]:
    """Return the keys of each slide."""
    draw = np.random.default_rng(7)
    p = np.arange(1.0, case.keys + 1) ** -case.zipf
    names = draw.permutation(case.keys)
    slides = []
    for t in range(SLIDES):
        if case.drift and t and t % case.drift == 0:
            names = draw.permutation(case.keys)
        slides.append(names[draw.choice(case.keys, RECORDS, p=p / p.sum())])
    return slides


def measured(kind: type[Partitioner], case: Setting) -> PartitionerFigures:
    """Return the figures of a partitioner; several routers know nothing of one another."""
    speed = np.linspace(0.5, 1.5, case.workers) if case.unlike else np.ones(case.workers)
    routers = [kind(case.workers, speed) for _ in range(case.routers)]
    imbalance, partials, target = [], [], []
    for t, keys in enumerate(records(case)):
        load, pairs = np.zeros(case.workers), set()
        for i, key in enumerate(keys.tolist()):
            worker = routers[i % case.routers].route(key)
            load[worker] += 1
            pairs.add((key, worker))
        for router in routers:
            router.end_of_slide()
        if t >= UNCOUNTED:
            imbalance.append((load / speed).max() * speed.sum() / load.sum() - 1)
            partials.append(len(pairs))
            target.append(len(np.unique(keys)) + case.workers - 1)
    return PartitionerFigures(
        float(np.mean(imbalance)),
        float(np.max(imbalance)),
        float(np.mean(partials)),
        float(np.mean(target)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true")
    markdown = parser.parse_args().markdown
    for case in CASES:
        print(f"\n{'### ' if markdown else ''}{case.title}\n")
        head = ("partitioner", "share", "worst", "imbalance", "partials", "of target")
        rows = [head]
        for kind in ALL:
            f = measured(kind, case)
            rows.append(
                (
                    kind.title,
                    f"{f.share:.2f}",
                    f"{f.worst_share:.2f}",
                    f"{f.imbalance:.3f}",
                    f"{f.partials:.0f}",
                    f"{f.partials / f.target:.2f}",
                )
            )
        for i, row in enumerate(rows):
            if markdown:
                print(f"| {' | '.join(row)} |", flush=True)
                if i == 0:
                    print("|---" * len(row) + "|")
            else:
                print(
                    "".join(c.ljust(35) if j == 0 else c.rjust(13) for j, c in enumerate(row)),
                    flush=True,
                )
    for kind in (ColdByHash, EdgeplaceRule):
        figures = [(measured(kind, case), case) for case in GRID]
        share, case = min(((f.share, c) for f, c in figures), key=lambda x: x[0])
        worst, at = min(((f.worst_share, c) for f, c in figures), key=lambda x: x[0])
        most = max(f.partials / f.target for f, _ in figures)
        print(f"\n{kind.title}, {len(GRID)} cases: least share {share:.3f} ({case.title})")
        print(f"  worst window {worst:.3f} ({at.title}); partials {most:.2f} of target", flush=True)


if __name__ == "__main__":
    main()
