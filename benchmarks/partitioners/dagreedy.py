"""DAGreedy: load against fan-out, greedily, for keys above the mean load of a worker.

As in the public baselines of SaSPartitioner: a key is hot if it has more than 1/n of the records of
the slide before; it goes to the worker with the most of
0.5 [it has the key] - 0.5 (load - mean) / mean.
"""

from benchmarks.partitioners.partitioner import Partitioner


class DaGreedy(Partitioner):
    title = "DAGreedy"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._before = 1000.0
        self._count: dict[int, int] = {}
        self._on: dict[int, set[int]] = {}

    def route(self, key: int) -> int:
        self._count[key] = self._count.get(key, 0) + 1
        worker = self.choose(key) if self.is_hot(key) else key % self.workers
        self._on.setdefault(key, set()).add(worker)
        self.load[worker] += 1
        return worker

    def is_hot(self, key: int) -> bool:
        return self._count[key] * self.workers > self._before

    def choose(self, key: int) -> int:
        mean = max(float(self.load.mean()), 1.0)
        score = -0.5 * (self.load - mean) / mean
        for worker in self._on.get(key, ()):
            score[worker] += 0.5
        return int(score.argmax())

    def end_of_slide(self) -> None:
        self._before = max(float(self.load.sum()), 1.0)
        self.load[:] = 0
        self._count, self._on = {}, {}
