"""In the style of SaSPartitioner: its masks and its routing, with the table it would learn at best.

Its learned table (reinforcement over Ray) is not public. Here each true hot key has the workers of
the public mask, [⌊c_k⌋, ⌈c_k+1⌉) with c the running sum of shares times n, and gets of each what
overlaps: the best table for workers alike. A key is truly hot while n d_i > Σ_{j<=i} d_j, of the
ten most frequent ones of the slide before; the others of them go evenly to all. A record goes where
the share so far is furthest behind the table.
"""

import math

import numpy as np
from benchmarks.partitioners.partitioner import Partitioner, hashed

_HOT = 10


class SasStyle(Partitioner):
    title = "SaS-style"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._count: dict[int, int] = {}
        self._table: dict[int, np.ndarray] = {}
        self._sent: dict[int, np.ndarray] = {}

    def route(self, key: int) -> int:
        self._count[key] = self._count.get(key, 0) + 1
        share = self._table.get(key)
        if share is None:
            return hashed(key, 1, self.workers)
        sent = self._sent[key]
        worker = int((share * (sent.sum() + 1) - sent).argmax())
        sent[worker] += 1
        return worker

    def end_of_slide(self) -> None:
        hot = sorted(self._count, key=lambda k: (-self._count[k], k))[:_HOT]
        whole, n = sum(self._count[k] for k in hot), self.workers
        self._table, before, until = {}, 0.0, 0
        truly = True
        for key in hot:
            d = self._count[key]
            until += d
            truly = truly and n * d > until
            start, end = before, before + d / whole * n
            if truly:
                workers = range(math.floor(start), min(math.ceil(end), n))
                row = np.zeros(n)
                for w in workers:
                    row[w] = min(end, w + 1) - max(start, w)
                self._table[key] = row / row.sum()
            else:
                self._table[key] = np.full(n, 1 / n)
            before = end
        self._sent = {key: np.zeros(n) for key in self._table}
        self._count = {}
