"""A run of `KindsOfState`, whose result shows lost and doubled numbers in each kind of state."""

from collections.abc import Sequence
from pathlib import Path

from testbed.flink.agent_cluster import AgentCluster

TASKS = ("Source: numbers", "listed", "union", "checked", "keyed", "odd", "Source: rules", "sink")
PARALLELISM = 2
_FINISH_SECONDS = 180.0
_WORD = 1 << 64


class KindsRun:
    """A running job with each kind of state.

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
        self,
        flink: AgentCluster,
        records: int,
        name: str,
        more: Sequence[str] = (),
    ) -> None:
        self._flink = flink
        self._records = records
        folder = flink.cluster.scratch / name
        self._out = folder / "out"
        self._finish = folder / "finish"
        self._out.mkdir(parents=True)
        self.job_id = flink.submit(
            "KindsOfState",
            f"records={records}",
            f"finish={self._finish}",
            f"out={self._out}",
            f"parallelism={PARALLELISM}",
            f"name={name}",
            *more,
        )

    def hurry(self) -> None:
        """Let the rest of the numbers come at full speed."""
        self._finish.touch()

    def finish(self) -> list[str]:
        """Let the job finish and return the faults of its result, empty if there are none.

        Raises
        ------
        TestbedError
            If the job does not finish in time.
        """
        self.hurry()
        self._flink.wait_until(
            lambda: self._flink.rest.state(self.job_id) == "FINISHED",
            f"end of job {self.job_id}",
            _FINISH_SECONDS,
        )
        return wrong_totals(self._out, self._records)


def wrong_totals(folder: Path, records: int) -> list[str]:
    """Compare the files of a finished job with the numbers from 0 to ``records`` - 1."""
    everything, odd = range(records), range(1, records, 2)
    problems = []
    for kind, numbers in (
        ("listed", everything),
        ("union", everything),
        ("keyed", everything),
        ("odd", odd),
    ):
        file = folder / kind
        if not file.is_file():
            problems.append(f"{kind}: no result")
            continue
        found = tuple(int(word) for word in file.read_text().split())
        wanted = (len(numbers), sum(numbers) % _WORD, sum(i * i for i in numbers) % _WORD)
        if found != wanted:
            problems.append(f"{kind}: count, sum and squares are {found} instead of {wanted}")
    return problems
