"""The soak: many moves and failures of one job, which must count every number exactly once."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from testbed.errors import TestbedError
from testbed.experiments.counting import CountingRun
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home
from testbed.flink.local_cluster import JOB_MANAGER, TaskManagerSpec

MOVES = 20
KILLS = 5
_SECONDS_PER_EVENT = 90
_EVENT_SECONDS = 120.0


class Event(NamedTuple):
    """An event, and the time until all subtasks ran as planned again."""

    what: str
    seconds: float


@dataclass
class Soak:
    """Events of a planned job. After each event the job is checked, and may settle.

    Every event raises `TestbedError` if it does not end with every subtask where it is planned, or
    if the job did not go on from its latest checkpoint.

    Parameters
    ----------
    flink
        The cluster, with the agent.
    job_id
        The job.
    random
        Random generator that chooses places.
    """

    flink: AgentCluster
    job_id: str
    random: random.Random

    def __post_init__(self) -> None:
        self.places = self.flink.wait_for_running(self.job_id)
        self._checkpoint = self._next_checkpoint()
        self._kills = 0

    def move(self) -> Event:
        """Write another plan for the job while it runs."""
        former = self.places
        self.places = some_places(tuple(former), self.flink.task_managers, self.random)
        moved = sum(former[task] != place for task, place in self.places.items())
        start = time.monotonic()
        sha256 = self.flink.write_plan(self.job_id, self.places)
        event = self._until_placed(f"move of {moved} subtasks", start)
        self.flink.wait_for_status(self.job_id, "placed", sha256)
        return event

    def kill_task_manager(self) -> Event:
        """Kill a TaskManager that has work, in turn, and start it again."""
        candidates = sorted({*self.places.values()})
        victim = candidates[self._kills % len(candidates)]
        self._kills += 1
        return self._restart(victim)

    def restart_job_manager(self) -> Event:
        """Kill the JobManager, and start it again."""
        return self._restart(JOB_MANAGER)

    def _restart(self, name: str) -> Event:
        running = self.flink.rest.subtasks(self.job_id)
        start = time.monotonic()
        self.flink.cluster.kill(name)
        self.flink.cluster.start(name)

        # Until then REST may show the placement from before the failure.
        def restarted() -> bool:
            return self.flink.rest.subtasks(self.job_id) != running

        self.flink.wait_until(restarted, f"the failure of {name} noticed", _EVENT_SECONDS)
        return self._until_placed(f"kill of {name}", start)

    def _until_placed(self, what: str, start: float) -> Event:
        self.flink.wait_for_placement(self.job_id, self.places, _EVENT_SECONDS)
        event = Event(what, time.monotonic() - start)
        # A job that starts from the beginning counts correctly, too.
        restored = self.flink.rest.latest_checkpoint(self.job_id, "restored")
        if restored is None or restored < self._checkpoint:
            raise TestbedError(
                f"after {what} job {self.job_id} went on from checkpoint {restored}, "
                f"not from {self._checkpoint}"
            )
        self._checkpoint = self._next_checkpoint()
        return event

    def _next_checkpoint(self) -> int:
        self.flink.wait_for_checkpoint(self.job_id)
        completed = self.flink.rest.latest_checkpoint(self.job_id, "completed")
        assert completed is not None  # noqa: S101 - one has just completed
        return completed


def soak(version: str, moves: int = MOVES, kills: int = KILLS, seed: int = 0) -> bool:
    """Run the soak, print each event and its duration, and return whether all counts are exact.

    Parameters
    ----------
    version
        Release of Flink.
    moves, kills
        Number of live moves and of TaskManager kills. The JobManager is killed once, in the
        middle.
    seed
        Seed of the places.

    Raises
    ------
    TestbedError
        As for `Soak`, or if the cluster or the job does not start or end.
    """
    home = flink_home(version)
    with AgentCluster(home, JAR) as flink:
        run = CountingRun(flink, (moves + kills + 1) * _SECONDS_PER_EVENT)
        state = Soak(flink, run.job_id, random.Random(seed))  # noqa: S311 - no secret
        print(f"Flink {version}, job {run.job_id}\n{'event':30}{'until all runs as planned':>26}")
        for event in _schedule(state, moves, kills):
            what, seconds = event()
            print(f"{what:30}{seconds:>24.1f} s", flush=True)
        problems = run.finish()
    print("\n".join(problems) or "every number was counted exactly once")
    return not problems


def some_places(
    tasks: Sequence[str], task_managers: Sequence[TaskManagerSpec], chosen_by: random.Random
) -> dict[str, str]:
    """Return a TaskManager for each task, never more tasks than slots, one task a slot."""
    slots = [spec.name for spec in task_managers for _ in range(spec.slots)]
    return dict(zip(tasks, chosen_by.sample(slots, len(tasks)), strict=True))


def _schedule(soak: Soak, moves: int, kills: int) -> Iterator[Callable[[], Event]]:
    """Spread the kills evenly among the moves."""
    for move in range(1, moves + 1):
        yield soak.move
        for _ in range(move * kills // moves - (move - 1) * kills // moves):
            yield soak.kill_task_manager
        if move == (moves + 1) // 2:
            yield soak.restart_job_manager
