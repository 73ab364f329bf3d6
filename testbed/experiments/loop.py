"""edgeplace's commands in the order of a user: discover, collect, costs, apply."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from edgeplace import Cluster, Costs, JobGraph, Plan, read
from edgeplace.model import write
from testbed.errors import TestbedError
from testbed.world import CORES

_COMMAND_SECONDS = 900.0
_WATERMARK_MS = 200.0
"""Flink's default, which REST does not show. All jobs here use event time."""
_COLLECT_INTERVAL_S = 5


class Reached(Protocol):
    """A testbed that runs in this or in another process."""

    @property
    def url(self) -> str:
        """Address of Flink's REST API."""

    def sites_file(self) -> str:
        """Return the content of a user's file for ``edgeplace flink discover --sites``."""


@dataclass(frozen=True)
class FoundCase:
    """edgeplace's data of a running job, and of the cluster with its current links."""

    job: JobGraph
    cluster: Cluster


class Loop:
    """The commands, on one testbed.

    Parameters
    ----------
    world
        The cluster; its JobManager has the agent.
    folder
        Existing folder for all files.
    cores
        CPU quota of each machine, which Flink does not know.
    job
        Name or id of the job; None: the only one.
    """

    def __init__(
        self,
        world: Reached,
        folder: Path,
        cores: Mapping[str, float] = CORES,
        job: str | None = None,
    ) -> None:
        self._world = world
        self._folder = folder
        self._cores = cores
        self._of_job = ("--job", job) if job else ()

    def discover(self) -> FoundCase:
        """Return the job, without costs, and the cluster."""
        sites, cluster, job = (self._folder / n for n in ("sites.json", "cluster.yaml", "job.json"))
        for old in (cluster, job):
            # The command refuses to overwrite a file that a user may have edited.
            old.unlink(missing_ok=True)
        sites.write_text(self._world.sites_file())
        self._edgeplace(
            *("flink", "discover", *self._of_job, "--sites", str(sites)),
            *("-o", str(cluster), "--job-out", str(job)),
        )
        found = read(job, JobGraph)
        timed = found.revised(watermark_interval_ms=_WATERMARK_MS, notes=found.notes)
        return FoundCase(timed, self._with_cores(read(cluster, Cluster)))

    def record(self, name: str, seconds: int) -> Path:
        """Return a metric log of the next seconds of the job."""
        log = self._folder / f"{name}.jsonl.gz"
        log.unlink(missing_ok=True)
        self._edgeplace(
            "flink",
            "collect",
            *self._of_job,
            *("--duration", f"{seconds}s", "--interval", str(_COLLECT_INTERVAL_S)),
            *("-o", str(log)),
        )
        return log

    def costs(self, logs: Sequence[Path], found: FoundCase) -> JobGraph:
        """Return a job with the costs of its logs."""
        return found.job.with_costs(self.measured(logs, found))

    def measured(self, logs: Sequence[Path], found: FoundCase) -> Costs:
        """Return the costs of logs of one job."""
        cluster, costs = self._folder / "measured-cluster.json", self._folder / "costs.json"
        write(found.cluster, cluster)
        self._edgeplace("costs", *map(str, logs), "--cluster", str(cluster), "-o", str(costs))
        return read(costs, Costs)

    def apply(self, plan: Plan, cluster: Cluster) -> None:
        """Move the jobs of a plan, verified.

        Raises
        ------
        TestbedError
            If the job is not where the plan says; the message has the command's output.
        """
        plan_file, cluster_file = self._folder / "plan.json", self._folder / "plan-cluster.json"
        write(plan, plan_file)
        write(cluster, cluster_file)
        self._edgeplace("flink", "apply", str(plan_file), "--cluster", str(cluster_file))

    def _with_cores(self, cluster: Cluster) -> Cluster:
        nodes = tuple(n.model_copy(update={"cores": self._cores[n.id]}) for n in cluster.nodes)
        return cluster.model_copy(update={"nodes": nodes})

    def _edgeplace(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "edgeplace", *arguments]
        if arguments[0] == "flink":
            command += ["--jobmanager", self._world.url]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise TestbedError(
                f"edgeplace {' '.join(arguments)} has not ended after {_COMMAND_SECONDS:.0f} s: is "
                "this machine busy with other things?"
            ) from None
        if done.returncode:
            said = "\n".join([done.stdout[-2000:], done.stderr[-4000:]])
            raise TestbedError(
                f"edgeplace {' '.join(arguments)} ended with {done.returncode}:\n{said}"
            )
        return done.stdout
