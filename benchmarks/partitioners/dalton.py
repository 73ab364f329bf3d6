"""Dalton: a contextual bandit for each hot key (Zapridou et al., PVLDB 16(3) 2022).

With the parameters of its public code: ε 0.1, learning rate 0.1, first values -2; hot as in
DAGreedy; reward -(0.5 (load - mean) / max + 0.5 fan-out / n); a key has at most 2 workers at first,
and up to 6 once 70 % of the hot keys have as many as they may.
"""

import numpy as np
from benchmarks.partitioners.dagreedy import DaGreedy

_EXPLORE, _RATE, _FIRST, _MOST, _REACHED = 0.1, 0.1, -2.0, 6, 0.7


class Dalton(DaGreedy):
    title = "Dalton"

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._random = np.random.default_rng(11)
        self._value: dict[int, np.ndarray] = {}
        self._split = 2

    def choose(self, key: int) -> int:
        value = self._value.setdefault(key, np.full(self.workers, _FIRST))
        own = sorted(self._on.get(key, ()))
        among = own if len(own) >= self._split else list(range(self.workers))
        if self._random.random() < _EXPLORE:
            worker = int(self._random.choice(among))
        else:
            worker = max(among, key=lambda w: (value[w], -self.load[w]))
        fan_out = len(self._on.get(key, set()) | {worker})
        most = max(float(self.load.max()), 1.0)
        reward = -0.5 * (self.load[worker] - self.load.mean()) / most
        reward -= 0.5 * fan_out / self.workers
        value[worker] += _RATE * (reward - value[worker])
        return worker

    def end_of_slide(self) -> None:
        hot = [k for k in self._count if self.is_hot(k)]
        full = sum(len(self._on[k]) >= self._split for k in hot)
        if hot and full >= _REACHED * len(hot):
            self._split = min(self._split + 1, _MOST)
        super().end_of_slide()
