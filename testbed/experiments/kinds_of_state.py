"""A run of `KindsOfState`, whose result shows lost and doubled numbers in each kind of state."""

from collections.abc import Sequence
from pathlib import Path

from testbed.experiments.paced_run import PacedRun
from testbed.flink.agent_cluster import AgentCluster

JOINED = ("listed", "union", "checked", "committed: Writer", "committed: Committer")
"""Tasks that FORWARD joins."""
TASKS = ("Source: numbers", *JOINED, "keyed", "odd", "Source: rules", "sink")
PARALLELISM = 2
KEY_GROUPS = 4
"""Of ``keyed``: its max parallelism."""
_WORD = 1 << 64


class KindsRun(PacedRun):
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
        super().__init__(flink, records, name)
        self._more = more
        self.job_id = self._submit(None)

    def _submit(self, savepoint: str | None) -> str:
        parallelism = f"parallelism={PARALLELISM}"
        return self._flink.submit(
            "KindsOfState", *self._arguments, parallelism, *self._more, savepoint=savepoint
        )

    def stop_and_resume(self) -> None:
        """Stop the job with a savepoint and start it from there: it gets another id."""
        folder = self._out.with_name("savepoints")
        self.job_id = self._submit(self._flink.rest.stop_with_savepoint(self.job_id, folder))

    def _wrong(self) -> list[str]:
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
    return problems + wrong_lines(folder / "committed", records)


def wrong_lines(folder: Path, records: int) -> list[str]:
    """Compare what an exactly-once sink has committed with the numbers from 0 to ``records`` - 1.

    Parameters
    ----------
    folder
        Has files with a number on each line; those that begin with a dot were never committed.
    records
        Count of numbers.
    """
    seen = bytearray(records)
    doubled = 0
    for file in folder.glob("[!.]*"):
        for line in file.read_text().splitlines():
            doubled += seen[int(line)]
            seen[int(line)] = 1
    lost = seen.count(0)
    return [f"committed: {lost} numbers lost, {doubled} doubled"] if lost or doubled else []
