"""Partial key grouping: the less loaded of two choices (Nasir et al., ICDE 2015, 1504.00788)."""

from benchmarks.partitioners.partitioner import Partitioner, hashed


class Pkg(Partitioner):
    title = "PKG"

    def route(self, key: int) -> int:
        worker = self.less_loaded(hashed(key, 1, self.workers), hashed(key, 2, self.workers))
        self.load[worker] += 1
        return worker
