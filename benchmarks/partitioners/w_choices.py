"""W-Choices: frequent keys go to the least loaded worker (Nasir et al., ICDE 2016)."""

from benchmarks.partitioners.partitioner import Partitioner, hashed

_FIRST = 100
"""Records before anything is called frequent."""


class WChoices(Partitioner):
    title = "W-Choices"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._count: dict[int, int] = {}
        self._records = 0

    def route(self, key: int) -> int:
        self._records += 1
        self._count[key] = self._count.get(key, 0) + 1
        if self._records > _FIRST and self._count[key] * 5 * self.workers >= self._records:
            worker = int(self.load.argmin())
        else:
            worker = self.less_loaded(hashed(key, 1, self.workers), hashed(key, 2, self.workers))
        self.load[worker] += 1
        return worker
