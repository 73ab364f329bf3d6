"""A run of a job that goes on until a file is there, and whose results are compared then."""

from abc import ABC, abstractmethod

from testbed.flink.agent_cluster import AgentCluster

_FINISH_SECONDS = 180.0


class PacedRun(ABC):
    """A running job; who inherits submits it and sets `job_id`.

    Parameters
    ----------
    flink
        The cluster.
    records
        Count of numbers.
    name
        Name of the job and of its folder.
    """

    job_id: str

    def __init__(self, flink: AgentCluster, records: int, name: str) -> None:
        self._flink = flink
        self._records = records
        self.name = name
        folder = flink.cluster.scratch / name
        self._out = folder / "out"
        self._finish = folder / "finish"
        self._out.mkdir(parents=True)

    @property
    def _arguments(self) -> tuple[str, ...]:
        """What the job is told of all this."""
        return (
            f"records={self._records}",
            f"finish={self._finish}",
            f"out={self._out}",
            f"name={self.name}",
        )

    @abstractmethod
    def _wrong(self) -> list[str]:
        """Return the faults of the results, empty if there are none."""

    def hurry(self) -> None:
        """Let the rest of the numbers come at full speed."""
        self._finish.touch()

    def finish(self) -> list[str]:
        """Let the job finish and return the faults of its results, empty if there are none.

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
        return self._wrong()
