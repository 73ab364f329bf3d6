"""The rule of edgeplace's router, record by record as `Rule.java`: a test holds them together.

The level is the load for a worker's weight if all had their shares; a worker is full if it is ahead
of it by 5 % of a slide's level. A key of 1/(20 n) of the records or more has a set of workers, and
the least loaded of them takes its record; if that is full, the least loaded of all joins the set
(bounded loads: Mirrokni, Thorup and Zadimoghaddam, SODA 2018). At the end of a slide the sets
shrink to a spanning forest of keys and workers, by the edges with the most records: keys + workers
- 1 edges are enough to balance perfectly (McNaughton 1959). Another key goes to a worker by a
weighted hash. If that is 7 % ahead, it passes to the first one of further hashes that is not full,
and stays there; if it came in this slide or the one before, it passes only if that is 10 % ahead.

`ColdByHash` is without the further hashes: what they are good for.
"""

import numpy as np
from benchmarks.partitioners.partitioner import Partitioner, mixed

_AHEAD, _AHEAD_RARE, _AHEAD_RARE_AGAIN, _HOT = 0.05, 0.07, 0.10, 20
_PASSES_TO = _AHEAD
_FEWEST_RECORDS, _FEWEST_OF_HOT = 1000, 8


class EdgeplaceRule(Partitioner):
    title = "edgeplace"
    passes_full = True

    def __init__(self, workers: int, speed: np.ndarray) -> None:
        super().__init__(workers, speed)
        self._up_to: list[float] = np.cumsum(speed).tolist()
        self._sum = self._up_to[-1]
        self._per_weight = [1 / w if w > 0 else float("inf") for w in speed.tolist()]
        self._positive = [i for i, w in enumerate(speed.tolist()) if w > 0]
        self._loads = [0] * workers
        self._keys = FrequentKeys(min(1 << 16, 4 * _HOT * workers))
        self._rare = RareKeys(workers)
        self._records = 0
        self._expect(_FEWEST_RECORDS)

    def route(self, key: int) -> int:
        self._records += 1
        hash_ = mixed(key)
        count = self._keys.add(hash_)
        if count and (hash_ in self._keys.workers or count >= self._threshold):
            worker = self._hot(hash_)
        else:
            worker = self._cold(hash_)
        self._loads[worker] += 1
        return worker

    @property
    def frequent(self) -> set[int]:
        """Hashes of the keys that have a set of workers."""
        return set(self._keys.workers)

    def end_of_slide(self) -> None:
        workers = self._keys.workers
        for hash_ in [h for h in workers if self._keys.counts[h] < self._threshold / 2]:
            del workers[hash_]
        forest(workers)
        self._keys.restart()
        self._rare.end()
        self._loads = [0] * self.workers
        self._expect(max(_FEWEST_RECORDS, self._records))
        self._records = 0

    def _expect(self, records: int) -> None:
        self._expected = records
        self._threshold = max(_FEWEST_OF_HOT, records / (_HOT * self.workers))

    def _cold(self, hash_: int) -> int:
        worker = self._usual(hash_)
        ahead = _AHEAD_RARE_AGAIN if self._rare.came_before(hash_) else _AHEAD_RARE
        if not self.passes_full or self._load(worker) <= self._most(ahead):
            return worker
        most, further = self._most(_PASSES_TO), hash_
        for _ in range(self.workers):
            further = mixed(further)
            worker = self._by_hash(further)
            if self._load(worker) <= most:
                break
        else:
            worker = self._least_loaded()
        self._rare.to_pass(hash_, worker)
        return worker

    def _usual(self, hash_: int) -> int:
        passed_to = self._rare.worker(hash_)
        return self._by_hash(hash_) if passed_to is None else passed_to

    def _by_hash(self, hash_: int) -> int:
        mark = (hash_ >> 11) * 2.0**-53 * self._sum
        return next(i for i, to in enumerate(self._up_to) if mark < to)

    def _hot(self, hash_: int) -> int:
        its = self._keys.workers.setdefault(hash_, {})  # Worker -> its records in this slide.
        worker = min(its, key=self._load) if its else self._usual(hash_)
        if self._load(worker) > self._most(_AHEAD):
            worker = self._least_loaded()
        its[worker] = its.get(worker, 0) + 1
        return worker

    def _least_loaded(self) -> int:
        return min(self._positive, key=self._load)

    def _most(self, ahead: float) -> float:
        return (self._records + ahead * max(self._records, self._expected)) / self._sum

    def _load(self, worker: int) -> float:
        return self._loads[worker] * self._per_weight[worker]


class ColdByHash(EdgeplaceRule):
    title = "edgeplace, cold keys by hash alone"
    passes_full = False


def forest(workers: dict[int, dict[int, int]]) -> None:
    """Leave keys a spanning forest of their workers, and begin to count anew."""
    split = {hash_: its for hash_, its in workers.items() if len(its) > 1}
    edges = sorted(
        (-n, hash_, worker) for hash_, its in split.items() for worker, n in its.items() if n
    )
    for its in split.values():
        its.clear()
    # Hashes and workers are nodes; each tree is a set of them.
    trees: dict[tuple[str, int], set[tuple[str, int]]] = {}
    for _, hash_, worker in edges:
        key, at = ("key", hash_), ("worker", worker)
        one, other = trees.setdefault(key, {key}), trees.setdefault(at, {at})
        if one is not other:
            one |= other
            trees.update(dict.fromkeys(one, one))
            split[hash_][worker] = 0
    for its in workers.values():
        its.update(dict.fromkeys(its, 0))


class RareKeys:
    """Which rare keys came in this slide or the one before, and where those are that passed."""

    _MARKS, _PASSED = 1 << 16, 64

    def __init__(self, workers: int) -> None:
        self._slots = self._PASSED << (max(4, workers) - 1).bit_length()
        self._passed: dict[int, tuple[int, int, int]] = {}  # Slot -> key, worker, slide.
        self._marks: set[int] = set()
        self._before: set[int] = set()
        self._slide = 1

    def came_before(self, hash_: int) -> bool:
        mark = hash_ % self._MARKS
        came = mark in self._marks or mark in self._before
        self._marks.add(mark)
        return came

    def worker(self, hash_: int) -> int | None:
        key, worker, slide = self._passed.get(hash_ % self._slots, (0, 0, 0))
        return worker if key == hash_ and slide and slide >= self._slide - 1 else None

    def to_pass(self, hash_: int, worker: int) -> None:
        self._passed[hash_ % self._slots] = hash_, worker, self._slide

    def end(self) -> None:
        self._before, self._marks = self._marks, set()
        self._slide += 1


class FrequentKeys:
    """Counts of frequent keys in bounded memory (Misra and Gries 1982; Anderson et al. 2017)."""

    def __init__(self, capacity: int) -> None:
        self.counts: dict[int, int] = {}
        self.workers: dict[int, dict[int, int]] = {}
        slots = 1 << (max(64, capacity) * 2 - 1).bit_length()
        self._most = int(slots * 0.6)

    def add(self, hash_: int) -> int:
        """Count a key and return its count, 0 if there is no room for it."""
        if hash_ not in self.counts and len(self.counts) >= self._most:
            self._make_room()
            if len(self.counts) >= self._most:
                return 0
        self.counts[hash_] = self.counts.get(hash_, 0) + 1
        return self.counts[hash_]

    def restart(self) -> None:
        """Count anew, and forget the keys without workers."""
        self.counts = dict.fromkeys(self.workers, 0)

    def _make_room(self) -> None:
        found = sorted(n for key, n in self.counts.items() if key not in self.workers)
        median = found[len(found) // 2] if found else 0
        self.counts = {
            key: n if key in self.workers else n - median
            for key, n in self.counts.items()
            if key in self.workers or n > median
        }
