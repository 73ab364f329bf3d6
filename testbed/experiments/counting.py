"""A run of `CountingJob`, whose result shows each number that was lost or counted twice."""

from collections.abc import Sequence
from pathlib import Path

from testbed.experiments.paced_run import PacedRun
from testbed.flink.agent_cluster import AgentCluster

KEYS = 24
PARALLELISM = 3
# Enough for dozens of numbers on the way at any time. What is left of them when a run finishes
# comes at full speed, and takes processor time by their number.
PER_SECOND = 600


class CountingRun(PacedRun):
    """A running job with 12 subtasks in slots of their own.

    Parameters
    ----------
    flink
        The cluster.
    seconds
        Longest time of the job before `finish` is called.
    name
        Name of the job and of its folder.
    more
        More arguments of the job; see the class.
    """

    def __init__(
        self, flink: AgentCluster, seconds: int, name: str = "counting", more: Sequence[str] = ()
    ) -> None:
        step = 2 * KEYS * PARALLELISM
        super().__init__(flink, -(-PER_SECOND * seconds // step) * step, name)
        self.job_id = flink.submit(
            "CountingJob",
            *self._arguments,
            f"per-second={PER_SECOND}",
            f"keys={KEYS}",
            f"parallelism={PARALLELISM}",
            "chaining=false",
            "sharing=false",
            *more,
        )

    def _wrong(self) -> list[str]:
        return wrong_results(self._out, self._records, KEYS)


def wrong_results(folder: Path, records: int, keys: int) -> list[str]:
    """Compare the files of a finished job with the expected counts.

    Parameters
    ----------
    folder
        Has a file for each key, with ``count sum faults``.
    records
        Number of counted numbers.
    keys
        Number of keys.
    """
    problems = []
    for key in range(keys):
        # The even rounds: key, key + 2 * keys, key + 4 * keys ...
        wanted = range(key, records, 2 * keys)
        file = folder / str(key)
        if not file.is_file():
            problems.append(f"key {key}: no result")
            continue
        count, total, faults = (int(field) for field in file.read_text().split())
        if (count, total, faults) != (len(wanted), sum(wanted), 0):
            problems.append(
                f"key {key}: {count} numbers instead of {len(wanted)}, sum {total} instead of "
                f"{sum(wanted)}, {faults} lost or doubled"
            )
    return problems
