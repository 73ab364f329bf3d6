"""Where partials beyond the target come from, and what the router's thresholds trade them for.

    python -m benchmarks.partitioners.extra_partials

The target is keys + routers x (workers - 1). Beyond the keys, a slide has partials of *frequent*
keys that are at several workers, of *passed* keys: rare ones that one router sent to two workers,
and of keys on which routers *differ*: rare ones that each router has at a worker of its own. Slides
have 40,000 records, as a second of `benchmarks/skew.py`; the first two are not counted. The second
table has the rule with other thresholds for rare keys, in the case of `compare` with its least
share, and beside it what they cost where two routers know nothing of one another. Last, that case
slide by slide, as two routers drift apart and together again. All is deterministic.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import numpy as np
from benchmarks.partitioners import edgeplace_rule
from benchmarks.partitioners.compare import Setting, measured
from benchmarks.partitioners.edgeplace_rule import EdgeplaceRule
from benchmarks.partitioners.partitioner import mixed

SLIDES, UNCOUNTED, RECORDS = 10, 2, 40_000
LONG = 100
"""Slides of the last table, of which it has every tenth."""
CASES = tuple(
    Setting(16, 10_000, zipf, routers=routers)
    for routers in (1, 2)
    for zipf in (0.5, 1.0, 1.5, 2.0)
)
MILD = Setting(64, 10_000, 0.5, unlike=True, drift=3)
TWO_ROUTERS = Setting(16, 10_000, 0.5, routers=2)
THRESHOLDS = (
    (0.07, 0.10, 0.05),
    (0.05, 0.07, 0.05),
    (0.03, 0.05, 0.05),
    (0.02, 0.03, 0.05),
    (0.05, 0.07, 0.0),
    (0.02, 0.05, 0.0),
)
"""Ahead of the level: for a key that comes for the first time, for one that came before, and the
worker that it passes to."""


def extra(case: Setting) -> np.ndarray:
    """Return the means of a slide: frequent, passed and differing partials beyond the keys."""
    return np.mean(list(islice(slides(case), UNCOUNTED, SLIDES)), axis=0)


def slides(case: Setting) -> Iterator[np.ndarray]:
    """Yield frequent, passed and differing partials beyond the keys, slide after slide."""
    draw = np.random.default_rng(7)
    p = np.arange(1.0, case.keys + 1) ** -case.zipf
    routers = [EdgeplaceRule(case.workers, np.ones(case.workers)) for _ in range(case.routers)]
    while True:
        at: list[dict[int, set[int]]] = [defaultdict(set) for _ in routers]
        for i, key in enumerate(draw.choice(case.keys, RECORDS, p=p / p.sum()).tolist()):
            router = i % case.routers
            at[router][key].add(routers[router].route(key))
        frequent = {hash_ for each in routers for hash_ in each.frequent}
        sums = np.zeros(3)
        for key in set().union(*at):
            own = [each[key] for each in at if key in each]
            workers, most = len(set().union(*own)), max(map(len, own))
            if mixed(key) in frequent:
                sums[0] += workers - 1
            else:
                sums[1:] += most - 1, workers - most
        for each in routers:
            each.end_of_slide()
        yield sums


def main() -> None:
    print("| case | target | frequent | passed | routers differ | all |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        sums = extra(case)
        figures = " | ".join(f"{x:.0f}" for x in (*sums, sums.sum()))
        title = f"Zipf {case.zipf:g}, {case.routers} router{'s' * (case.routers > 1)}"
        print(f"| {title} | {case.routers * (case.workers - 1)} | {figures} |", flush=True)
    print(f"\n{MILD.title}; last: {TWO_ROUTERS.title}\n")
    print("| first, again, to | share | worst | partials beyond keys (target) | two routers |")
    print("|---|---|---|---|---|")
    for first, again, to in THRESHOLDS:
        edgeplace_rule._AHEAD_RARE, edgeplace_rule._AHEAD_RARE_AGAIN = first, again
        edgeplace_rule._PASSES_TO = to
        f = measured(EdgeplaceRule, MILD)
        beyond = f.partials - f.target + MILD.workers - 1
        row = f"| {first:.0%}, {again:.0%}, {to:.0%} | {f.share:.3f} | {f.worst_share:.3f}"
        two = extra(TWO_ROUTERS).sum()
        target = TWO_ROUTERS.routers * (TWO_ROUTERS.workers - 1)
        print(f"{row} | {beyond:.0f} ({MILD.workers - 1}) | {two:.0f} ({target}) |", flush=True)
    first, again, to = THRESHOLDS[0]
    edgeplace_rule._AHEAD_RARE, edgeplace_rule._AHEAD_RARE_AGAIN = first, again
    edgeplace_rule._PASSES_TO = to
    print(f"\n{TWO_ROUTERS.title}, {LONG} slides with the rule\n")
    print("| slide | frequent | passed | routers differ | all |")
    print("|---|---|---|---|---|")
    for t, sums in enumerate(islice(slides(TWO_ROUTERS), LONG), start=1):
        if t % 10 == 0:
            figures = " | ".join(f"{x:.0f}" for x in (*sums, sums.sum()))
            print(f"| {t} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
