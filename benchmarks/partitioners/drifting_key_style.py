"""In the style of `drifting-key`, which is a probe: one key has a worker of its own.

The public one gives the key with the highest number worker 0, and hashes the others over the rest.
Here it is the most frequent key of the slide before, since numbers mean nothing.
"""

from benchmarks.partitioners.partitioner import Partitioner, hashed


class DriftingKeyStyle(Partitioner):
    title = "drifting-key-style"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._count: dict[int, int] = {}
        self._alone: int | None = None

    def route(self, key: int) -> int:
        self._count[key] = self._count.get(key, 0) + 1
        return 0 if key == self._alone else 1 + hashed(key, 1, self.workers - 1)

    def end_of_slide(self) -> None:
        self._alone = min(self._count, key=lambda k: (-self._count[k], k), default=None)
        self._count = {}
