"""cAM: of two choices one that has the key in this window (Katsipoulakis et al., PVLDB 10(11))."""

from benchmarks.partitioners.partitioner import Partitioner, hashed


class Cam(Partitioner):
    title = "cAM"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._seen: set[tuple[int, int]] = set()

    def route(self, key: int) -> int:
        a, b = hashed(key, 1, self.workers), hashed(key, 2, self.workers)
        if (key, a) in self._seen:
            worker = a
        elif (key, b) in self._seen:
            worker = b
        else:
            worker = self.less_loaded(a, b)
        self._seen.add((key, worker))
        self.load[worker] += 1
        return worker

    def end_of_slide(self) -> None:
        self._seen.clear()
        self.load[:] = 0
