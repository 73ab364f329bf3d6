"""D-Choices: frequent keys have d choices, the fewest that balance (Nasir et al., 1510.05714).

For the keys of the head, those with at least 1/(5 n) of the records, d is the least number with

    Σ_{i<=h} p_i + (b_h/n)^d Σ_{h<i<=H} p_i + (b_h/n)^2 Σ_{i>H} p_i <= b_h (1/n + ε)

for all h <= H, where b_h = n - n ((n-1)/n)^{h d}. If that takes all n, the head goes anywhere.
"""

import numpy as np
from benchmarks.partitioners.partitioner import Partitioner, hashed

EPSILON = 1e-4
EACH = 1000
"""Records after which d is computed anew."""


class DChoices(Partitioner):
    title = "D-Choices"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._count: dict[int, int] = {}
        self._records = 0
        self._choices = 2

    def route(self, key: int) -> int:
        self._records += 1
        self._count[key] = self._count.get(key, 0) + 1
        if self._records % EACH == 0:
            self._choices = self._fewest()
        choices = 2
        if self._records > EACH and self._count[key] * 5 * self.workers >= self._records:
            choices = self._choices
        if choices >= self.workers:
            worker = int(self.load.argmin())
        else:
            among = [hashed(key, seed, self.workers) for seed in range(1, choices + 1)]
            worker = min(among, key=self.load.__getitem__)
        self.load[worker] += 1
        return worker

    def _fewest(self) -> int:
        n = self.workers
        share = np.sort(np.array(list(self._count.values())) / self._records)[::-1]
        head = share[share >= 1 / (5 * n)]
        if not len(head):
            return 2
        tail = 1 - head.sum()
        h = np.arange(1, len(head) + 1)
        before = head.cumsum()
        for d in range(2, n):
            reached = n - n * ((n - 1) / n) ** (h * d)
            part = reached / n
            load = before + part**d * (head.sum() - before) + part**2 * tail
            if (load <= reached * (1 / n + EPSILON)).all():
                return d
        return n
