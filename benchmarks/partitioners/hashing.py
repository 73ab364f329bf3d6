"""Hash: what `keyBy` does, but for key groups."""

from benchmarks.partitioners.partitioner import Partitioner, hashed


class Hash(Partitioner):
    title = "hash"

    def route(self, key: int) -> int:
        return hashed(key, 1, self.workers)
