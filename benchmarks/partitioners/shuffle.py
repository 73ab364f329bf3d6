"""Shuffle: round robin, whatever the key."""

from benchmarks.partitioners.partitioner import Partitioner


class Shuffle(Partitioner):
    title = "shuffle"
    _last = -1

    def route(self, key: int) -> int:
        self._last = (self._last + 1) % self.workers
        return self._last
