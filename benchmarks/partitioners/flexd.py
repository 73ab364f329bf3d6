"""FlexD: a hot key gets one more worker each time its frequency passes a growing threshold.

As in the public baselines of SaSPartitioner: hot from 1 % of the records; the threshold of a key
grows by 1.1 with each worker; all is forgotten every 60 slides (60 s).
"""

from benchmarks.partitioners.partitioner import Partitioner

_HOT, _GROWTH, _RESET = 0.01, 1.1, 60


class FlexD(Partitioner):
    title = "FlexD"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._slides = 0
        self._forget()

    def _forget(self) -> None:
        self._records = 0
        self._count: dict[int, int] = {}
        self._on: dict[int, list[int]] = {}
        self._threshold: dict[int, float] = {}

    def route(self, key: int) -> int:
        self._records += 1
        self._count[key] = self._count.get(key, 0) + 1
        frequency = self._count[key] / self._records
        if frequency < _HOT:
            worker = key % self.workers
        else:
            own = self._on.setdefault(key, [])
            threshold = self._threshold.setdefault(key, _HOT)
            others = [w for w in range(self.workers) if w not in own]
            if not own or (frequency > threshold and others):
                worker = min(others, key=self.load.__getitem__)
                own.append(worker)
                self._threshold[key] = threshold * _GROWTH
            else:
                worker = min(own, key=self.load.__getitem__)
        self.load[worker] += 1
        return worker

    def end_of_slide(self) -> None:
        self._slides += 1
        if self._slides % _RESET == 0:
            self._forget()
            self.load[:] = 0
