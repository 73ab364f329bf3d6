"""What jobs of the testbed must find out, by plain loops over all records.

Written from `testbed/jobs/README.md` and the comments of the jobs; only the dice of the records are
the jobs' own. Values are whole numbers, so that the results are equal to the last digit.
"""

import itertools
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

_MASK = (1 << 64) - 1
SITES = 2


def mix(state: int) -> int:
    """Return the output function of SplitMix64, on 64 bits."""
    z = (state + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def dice_of(site: int, number: int) -> int:
    return mix(mix(site) + number)


def below(bound: int, mixed: int) -> int:
    return ((mixed >> 32) * bound) >> 32


def unit(mixed: int) -> float:
    return (mixed >> 11) / (1 << 53)


def hash_of(text: str) -> int:
    value = len(text)
    for letter in text:
        value = mix(value ^ ord(letter))
    return value


@dataclass
class Said:
    """All results, in the form in which the sink writes them."""

    texts: Counter[str] = field(default_factory=Counter)
    latest: dict[str, str] = field(default_factory=dict)

    def add(self, *words: object) -> None:
        self.texts[" ".join(map(str, words))] += 1

    def put(self, key: str, text: str) -> None:
        self.latest[key] = text

    def json(self) -> dict[str, Any]:
        everything = self.texts + Counter(self.latest.values())
        return {
            "count": everything.total(),
            "checksum": signed(sum(n * hash_of(text) for text, n in everything.items())),
            "latest": self.latest,
        }


def signed(number: int) -> int:
    """Return the lowest 64 bits as a long of Java."""
    return ((number + (1 << 63)) & _MASK) - (1 << 63)


def all_of(*said: dict[str, Any]) -> dict[str, Any]:
    """Return what one job says that does the work of several."""
    return {
        "count": sum(each["count"] for each in said),
        "checksum": signed(sum(each["checksum"] for each in said)),
        "latest": {key: text for each in said for key, text in each["latest"].items()},
    }


def psm(records: int, time_ms: Callable[[int], int]) -> dict[str, Any]:
    """Five queries on clicks, impressions and searches; a minute is a second."""
    said, products, owners, categories = Said(), 2000, 100, 20
    clicks: list[tuple[int, int, int]] = []
    others: dict[str, list[tuple[int, int]]] = {"4": [], "5": []}
    for site in range(SITES):
        for number in range(records):
            dice = dice_of(site, number)
            product = below(products // SITES, dice) * SITES + site
            dice, at = mix(dice), time_ms(number)
            if number % 2:
                others["5"].append((at, product))
            elif unit(dice) < 0.5:
                clicks.append((at, product, 2000 + below(5000, mix(dice))))
            else:
                others["4"].append((at, product))
    best: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    costs: dict[tuple[int, int], list[int]] = defaultdict(list)
    of_product: dict[int, list[int]] = defaultdict(list)
    for at, product, cost in clicks:
        best[window_end(at, 10_000), product % owners][product % categories] += 1
        costs[window_end(at, 1000), product % owners].append(cost)
        of_product[product].append(cost)
        # The clicks of a product come from one site, in order.
        if len(of_product[product]) % 10 == 0:
            median = lower_median(of_product[product][-100:])
            said.add(2, at, f"product-{product}", median)
    for (end, owner), counts in best.items():
        most = max(counts.values())
        for category in (c for c, n in counts.items() if n == most):
            said.add(1, end, f"owner-{owner}", f"category-{category}", most)
    for (end, owner), paid in costs.items():
        said.add(3, end, f"owner-{owner}", lower_median(paid))
    for query, size_ms in (("4", 5000), ("5", 1000)):
        clicked = Counter((end, p) for at, p, _ in clicks for end in ends(at, size_ms, 1000))
        seen = Counter((end, p) for at, p in others[query] for end in ends(at, size_ms, 1000))
        for (end, product), n in clicked.items():
            said.add(query, f"product-{product}", seen[end, product], n)
    return said.json()


def dsop(
    records: int,
    time_ms: Callable[[int], int],
    keys: int = 100,
    shift_records: int = 0,
    selectivity: float = 1,
) -> dict[str, Any]:
    """Words of each key in windows of 5 s that slide by 1 s; how keys are split changes nothing."""
    shares = [(n + 1) ** -1.5 for n in range(keys)]
    up_to = [sum(shares[: n + 1]) for n in range(keys)]
    up_to = [each / up_to[-1] for each in up_to]
    words: Counter[tuple[int, int]] = Counter()
    for site in range(SITES):
        for number in range(records):
            dice = dice_of(site, number)
            key = bisect_left(up_to, unit(dice))
            key = (key + (number // shift_records if shift_records else 0)) % keys
            dice = mix(dice)
            line = []
            for _ in range(1 + below(10, dice)):
                dice = mix(dice)
                line.append("word" + chr(ord("a") + below(26, dice)))
            if selectivity < 1 and unit(hash_of(" ".join(line))) >= selectivity:
                continue
            for end in ends(time_ms(number), 5000, 1000):
                words[end, key] += len(line)
    said = Said()
    for (end, key), n in words.items():
        said.add(end, key, n)
    return said.json()


@dataclass(frozen=True)
class Measured:
    """A message of a weather station."""

    station: int
    number: int
    values: tuple[int, ...]


LEAST = (-20_000, 0, 0, 0, 0)
MOST = (50_000, 100_000, 80_000, 500_000, 120_000)
STATIONS = 20


def measured(records: int) -> Iterator[Measured]:
    for site in range(SITES):
        for message in range(records):
            station, number = site * STATIONS + message % STATIONS, message // STATIONS
            dice, values = dice_of(site, message), []
            for f, (least, most) in enumerate(zip(LEAST, MOST, strict=True)):
                dice = mix(dice)
                phase = (number + station * 7 + f * 19) % 96
                usual = least + (most - least) // 5 + (most - least) * min(phase, 96 - phase) // 96
                noise = below((most - least) // 20, mix(dice))
                values.append(most + 1_000_000 if unit(dice) < 0.02 else usual + noise)
            yield Measured(station, number, tuple(values))


def far(m: Measured, f: int) -> bool:
    return not LEAST[f] <= m.values[f] <= MOST[f]


def riot_etl(records: int) -> dict[str, Any]:
    said = Said()
    districts = ("harbour", "old town", "station", "park", "hill", "fair", "river bank")
    known = {
        below(512, mix(mix(s) + h))
        for s in range(SITES * STATIONS)
        if s % 11 != 10
        for h in (0, 1, 2)
    }
    before = {
        s: [[(least + most) // 2] * 4 for least, most in zip(LEAST, MOST, strict=True)]
        for s in range(SITES * STATIONS)
    }
    for m in measured(records):
        if not {below(512, mix(mix(m.station) + h)) for h in (0, 1, 2)} <= known:
            continue
        line = []
        for f, value in enumerate(m.values):
            past = before[m.station][f]
            line.append(sum(past[-4:]) // 4 if far(m, f) else value)
            past.append(line[-1])
        parts = (m.station, m.number, *line, districts[m.station % 7])
        said.add("etl", ",".join(map(str, parts)))
    return said.json()


def riot_stats(records: int) -> dict[str, Any]:
    said = Said()
    past: dict[int, list[Measured]] = defaultdict(list)
    bits: dict[int, set[int]] = defaultdict(set)
    for m in measured(records):
        past[m.station].append(m)
        for f, value in enumerate(m.values):
            bits[f].add(below(1024, mix(value // 100 & _MASK)))
        if len(past[m.station]) % 10 == 0:
            for f in range(len(LEAST)):
                ten = [each.values[f] for each in past[m.station][-10:]]
                said.add("stats mean", m.station, f, m.number, sum(ten) // 10)
    for station, all_ in past.items():
        counters = [0] * 16
        for m in all_:
            for value in m.values:
                for i in range(16):
                    negative = mix((value // 1000 * 16 + i) & _MASK) >> 63
                    counters[i] += -1 if negative else 1
            if m.number % 10 == 9:
                said.add("stats moment", station, m.number, sum(c * c for c in counters) // 16)
    for f, ones in bits.items():
        estimate = math.floor(-1024 * math.log(max(1, 1024 - len(ones)) / 1024) + 0.5)
        said.put(f"stats distinct {f}", f"stats distinct {f} {estimate}")
    return said.json()


def riot_predict(records: int) -> dict[str, Any]:
    said = Said()
    past: dict[int, list[int]] = defaultdict(list)
    for m in measured(records):
        temperature, humidity, _, dust, noise = m.values
        named = None
        if far(m, 3):
            named = "fault"
        elif dust > 300_000:
            named = "fog" if humidity > 60_000 else "smog"
        elif temperature > 20_000 and noise > 70_000:
            named = "crowd"
        if named:
            said.add("predict class", m.station, m.number, named)
        last = past[m.station][-10:]
        if len(last) == 10:
            said.add("predict error", m.station, m.number, temperature - extended(last))
        past[m.station].append(temperature)
    return said.json()


def extended(values: Sequence[int]) -> int:
    """Return the line of least squares at the place behind the values, rounded down."""
    n = len(values)
    mean_x2 = n - 1  # Twice the mean, to stay with whole numbers.
    # slope = sum((x - mean) y) / sum((x - mean)^2), all doubled.
    above = sum((2 * x - mean_x2) * y for x, y in enumerate(values))
    spread = sum((2 * x - mean_x2) ** 2 for x in range(n))
    # mean(y) + slope * (n - mean(x)); the doubled factors make it 2 * above / spread * (n + 1) / 2.
    return (sum(values) * spread + above * (n + 1) * n) // (n * spread)


def riot_train(records: int) -> dict[str, Any]:
    said = Said()
    past: dict[int, list[Measured]] = defaultdict(list)
    for m in measured(records):
        past[m.station].append(m)
        if len(past[m.station]) % 50 == 0:
            batch = past[m.station][-50:]
            xs = [each.values[0] // 100 for each in batch]
            ys = [each.values[3] // 100 for each in batch]
            above = 50 * sum(x * y for x, y in zip(xs, ys, strict=True)) - sum(xs) * sum(ys)
            spread = 50 * sum(x * x for x in xs) - sum(xs) ** 2
            said.add("train", m.station, m.number, 1000 * above // spread if spread else 0)
    return said.json()


def times_of(curve: str, records: int) -> list[int]:
    """Return the event time of each record in ms: when as many were offered, in exact numbers."""
    lines = [line.split(",") for line in curve.splitlines()[1:]]
    points = [(Fraction(at), Fraction(rate)) for at, rate in lines]

    def offered(at: Fraction) -> Fraction:
        total = Fraction(0)
        for (a, low), (b, high) in itertools.pairwise(points):
            end = min(at, b)
            if end > a:
                there = low + (high - low) * (end - a) / (b - a)
                total += (low + there) / 2 * (end - a)
        return total

    times, ms = [], 0
    for number in range(records):
        while offered(Fraction(ms + 1, 1000)) < number:
            ms += 1
        # The record is within this millisecond, or at its very end.
        times.append(ms + (offered(Fraction(ms + 1, 1000)) == number))
    return times


def lower_median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


def window_end(at_ms: int, size_ms: int) -> int:
    return (at_ms // size_ms + 1) * size_ms


def ends(at_ms: int, size_ms: int, slide_ms: int) -> range:
    """Return the ends of all sliding windows that hold a time."""
    first = window_end(at_ms, slide_ms)
    return range(first, at_ms + size_ms + 1, slide_ms)
