"""A run of `SplitWords`, whose results are compared with plain loops."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from testbed.experiments.paced_run import PacedRun
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.split_jar import JAR

COMBINE = "windows: combine"
SOURCES = 2
_WORDS = 1000
_SIZE_MS, _SLIDE_MS = 10_000, 3_000
_MASK = (1 << 64) - 1


class SplitRun(PacedRun):
    """A running job of split aggregates.

    Parameters
    ----------
    flink
        The cluster.
    records
        Count of numbers.
    name
        Name of the job and of its folder.
    more
        More arguments of the job; see the class.
    """

    def __init__(
        self, flink: AgentCluster, records: int, name: str, more: Sequence[str] = ()
    ) -> None:
        super().__init__(flink, records, name)
        self._more = more
        self.job_id = self._submit(None)

    def _submit(self, savepoint: str | None) -> str:
        return self._flink.submit(
            "SplitWords", *self._arguments, *self._more, savepoint=savepoint, libraries=[JAR]
        )

    def stop_and_resume(self) -> None:
        """Stop the job with a savepoint, and start it from there."""
        folder = self._flink.cluster.scratch / "savepoints"
        self.job_id = self._submit(self._flink.rest.stop_with_savepoint(self.job_id, folder))

    def write_shares(self, weights: Sequence[float], top: str = "") -> str:
        """Write weights of the spread combining subtasks; return the SHA-256 of the file."""
        n = len(weights)
        lines = [f"{COMBINE} ({i}/{n}); {weight}\n" for i, weight in enumerate(weights, 1)]
        return self._flink.write_plan_file(f"{self.name}.shares", "".join([top, *lines]).encode())

    def _wrong(self) -> list[str]:
        return wrong_results(self._out, self._records)


def wrong_results(folder: Path, records: int) -> list[str]:
    """Compare the committed lines of a finished job with plain loops over its records."""
    windows: Counter[tuple[int, str]] = Counter()
    sums: defaultdict[tuple[int, str], int] = defaultdict(int)
    totals: Counter[str] = Counter()
    for number in range(records):
        word = _word(number)
        totals[word] += 1
        time = number % (records // SOURCES)
        for end in range((time // _SLIDE_MS) * _SLIDE_MS + _SIZE_MS, time, -_SLIDE_MS):
            windows[end, word] += 1
            sums[end, word] += number
    wanted = sorted(f"{end} {word} {n} {sums[end, word]}" for (end, word), n in windows.items())
    found = sorted(_lines(folder / "windows"))
    problems = []
    if found != wanted:
        lost, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
        problems.append(
            f"windows: {lost.total()} results are missing, such as {list(lost)[:3]}, and "
            f"{more.total()} should not be there, such as {list(more)[:3]}"
        )
    counted: defaultdict[str, list[int]] = defaultdict(list)
    for line in _lines(folder / "totals"):
        word, count, _ = line.split()
        counted[word].append(int(count))
    last = {word: max(counts) for word, counts in counted.items()}
    if last != dict(totals):
        wrong = {w: (last.get(w), n) for w, n in totals.items() if last.get(w) != n}
        problems.append(f"totals: {len(wrong)} words are wrong, such as {list(wrong.items())[:3]}")
    doubled = sum(len(counts) - len(set(counts)) for counts in counted.values())
    if doubled:
        problems.append(f"totals: {doubled} were committed twice")
    return problems


def _lines(folder: Path) -> Iterator[str]:
    for file in folder.glob("[!.]*"):
        yield from file.read_text().splitlines()


def _word(number: int) -> str:
    place = (mixed(number) >> 11) * 2.0**-53
    return f"w{int(_WORDS * place * place * place * place)}"


def mixed(state: int) -> int:
    """Return the output of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (state + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
