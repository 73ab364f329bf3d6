"""The soak: many changes and failures of one job, which must count every number exactly once."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

from testbed.errors import TestbedError
from testbed.experiments.kinds_of_state import JOINED, KEY_GROUPS, TASKS, KindsRun
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home
from testbed.flink.local_cluster import JOB_MANAGER

MOVES = 40
KILLS = 5
JOB_MANAGER_KILLS = 2
STEPS = {
    "checkpoint": "takes a checkpoint, then is moved",
    "cancellation": "is rescaled",
    "cancelling": " to CANCELING",
    "new scheduler": "CREATED to SCHEDULED",
    "deployment": "SCHEDULED to DEPLOYING",
    "restoring": "DEPLOYING to INITIALIZING",
    "trial": "INITIALIZING to RUNNING",
}
"""The steps of a rescale, and what the JobManager's log says when they begin."""
_PER_SECOND = 300
_SECONDS_PER_EVENT = 40
_EVENT_SECONDS = 150.0
_TRY_AGAIN_SECONDS = 0.5
"""By then the agent has seen that the file is another one."""
_MOST = {"Source: numbers": 3, "keyed": KEY_GROUPS, "odd": 4} | dict.fromkeys(JOINED, 4)
"""Most subtasks of the tasks whose parallelism changes: every TaskManager has as many slots."""
Places = dict[str, str]


class Event(NamedTuple):
    """An event, and the time until the job ran as planned again."""

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
    run
        The job.
    random
        Random generator that chooses parallelism and places.
    """

    flink: AgentCluster
    run: KindsRun
    random: random.Random

    def __post_init__(self) -> None:
        self.places: Places = {}
        self._restored: int | None = None
        self.flink.wait_until(self._all_up, "all subtasks up", _EVENT_SECONDS)
        self._checkpoint = self._next_checkpoint()
        self.move()

    def move(self) -> Event:
        """Write a plan of other parallelism and places for the job while it runs."""
        former, start = self.places, time.monotonic()
        sha256 = self._write_other_plan()
        event = self._until_settled(f"{len(former)} -> {len(self.places)} subtasks", start, sha256)
        if self.flink.status(self.run.job_id)["state"] != "placed":  # type: ignore[index]
            raise TestbedError(f"not moved: {self.flink.status(self.run.job_id)}")
        return event

    def kill_task_manager(self) -> Event:
        """Kill a TaskManager that has work, and start it again."""
        return self._restart(self._any_used())

    def restart_job_manager(self) -> Event:
        """Kill the JobManager, and start it again."""
        return self._restart(JOB_MANAGER)

    def kill_at(self, step: str, of_job_manager: bool) -> Event:
        """Kill a process at a step of a rescale: the job is then at the plan or at the former."""
        log = self.flink.cluster.scratch / JOB_MANAGER / "console.log"
        former, said = self.places, log.stat().st_size
        start = time.monotonic()
        sha256 = self._write_other_plan()
        victim = JOB_MANAGER if of_job_manager else self._any_used()
        while STEPS[step] not in log.read_bytes()[said:].decode(errors="replace"):
            status = self.flink.status(self.run.job_id) or {}
            if time.monotonic() - start > _EVENT_SECONDS:
                raise TestbedError(f"a rescale never came to its {step}; status: {status}")
            # On a busy machine a checkpoint fails now and then, and nothing moves.
            if (status.get("state"), status.get("plan_sha256")) == ("rejected", sha256):
                print(f"{step}: once more, {status['reasons']}", flush=True)
                self.flink.write_plan(self.run.name, self.places)
                time.sleep(_TRY_AGAIN_SECONDS)
            time.sleep(0.002)
        self.flink.cluster.kill(victim)
        self.flink.cluster.start(victim)
        what = f"kill of {victim} at the {step}"
        event = self._until_settled(what, start, sha256, former)
        # The failure may have been noticed only then.
        self._until_settled(what, start, sha256, former)
        if self.places == former:
            # A job that is resumed from a savepoint would try the rejected plan anew.
            again = self.flink.write_plan(self.run.name, former)
            self._until_settled(f"{what}, and the former plan again", start, again)
        return event

    def savepoint_and_resume(self) -> Event:
        """Stop the job with a savepoint, and start it from there: the plan goes by its name."""
        start = time.monotonic()
        self.run.stop_and_resume()
        return self._until_settled("savepoint and resume", start)

    def _any_used(self) -> str:
        return self.random.choice(sorted({*self.places.values()}))

    def _write_other_plan(self) -> str:
        # Shorter or longer: two plans of the same tasks would only be a move.
        former = self.places
        while self.places.keys() == former.keys():
            self.places = some_places([t.name for t in self.flink.task_managers], self.random)
        return self.flink.write_plan(self.run.name, self.places)

    def _restart(self, name: str) -> Event:
        running = self.flink.rest.subtasks(self.run.job_id)
        start = time.monotonic()
        self.flink.cluster.kill(name)
        self.flink.cluster.start(name)

        # Until then REST may show the placement from before the failure.
        def restarted() -> bool:
            return self.flink.rest.subtasks(self.run.job_id) != running

        self.flink.wait_until(restarted, f"the failure of {name} noticed", _EVENT_SECONDS)
        return self._until_settled(f"kill of {name}", start)

    def _until_settled(
        self, what: str, start: float, sha256: str | None = None, former: Places | None = None
    ) -> Event:
        """Wait until the job is at its plan, or at the former one if that is allowed and told."""

        def settled() -> bool:
            status = self.flink.status(self.run.job_id)
            if status is None or sha256 not in (None, status["plan_sha256"]):
                return False
            if former and status["state"] == "rejected" and status["reasons"]:
                return self._places_now() == former
            return status["state"] == "placed" and self._places_now() == self.places

        try:
            self.flink.wait_until(settled, f"an end of the {what}", _EVENT_SECONDS)
        except TestbedError as error:
            status = self.flink.status(self.run.job_id)
            raise TestbedError(f"{error}\nplanned: {self.places}\nstatus: {status}") from None
        event = Event(what, time.monotonic() - start)
        self.places = self._places_now()
        # A job that starts from the beginning counts correctly, too.
        restored = self.flink.rest.latest_checkpoint(self.run.job_id, "restored")
        if restored is not None and restored != self._restored and restored < self._checkpoint:
            raise TestbedError(
                f"after {what} job {self.run.job_id} went on from checkpoint {restored}, "
                f"not from {self._checkpoint}"
            )
        self._restored = restored
        self._checkpoint = self._next_checkpoint()
        return event

    def _places_now(self) -> Places:
        """Return where each subtask is; the bounded source's has FINISHED there."""
        return {
            s.task: s.task_manager
            for s in self.flink.rest.subtasks(self.run.job_id)
            if s.state in ("RUNNING", "FINISHED")
        }

    def _all_up(self) -> bool:
        states = {s.state for s in self.flink.rest.subtasks(self.run.job_id)}
        return states == {"RUNNING", "FINISHED"}

    def _next_checkpoint(self) -> int:
        self.flink.wait_for_checkpoint(self.run.job_id)
        completed = self.flink.rest.latest_checkpoint(self.run.job_id, "completed")
        assert completed is not None  # noqa: S101 - one has just completed
        return completed


def soak(version: str, moves: int = MOVES, kills: int = KILLS, seed: int = 0) -> bool:
    """Run the soak, print each event and its duration, and return whether all counts are exact.

    The JobManager is killed twice, the job is once stopped with a savepoint and resumed, and at
    each step of a rescale a TaskManager and the JobManager are killed.

    Parameters
    ----------
    version
        Release of Flink.
    moves, kills
        Number of changes of the parallelism and the places, and of TaskManager kills.
    seed
        Seed of the events' order, the parallelism and the places.

    Raises
    ------
    TestbedError
        As for `Soak`, or if the cluster or the job does not start or end.
    """
    with AgentCluster(flink_home(version), JAR) as flink:
        events = moves + kills + JOB_MANAGER_KILLS + 1 + 2 * len(STEPS)
        records = events * _SECONDS_PER_EVENT * _PER_SECOND * _MOST["Source: numbers"]
        run = KindsRun(flink, records, "soak", [f"per-second={_PER_SECOND}"])
        state = Soak(flink, run, random.Random(seed))  # noqa: S311 - no secret
        print(f"Flink {version}, job {run.job_id}\n{'event':44}{'until all runs as planned':>26}")
        for event in _schedule(state, moves, kills):
            what, seconds = event()
            print(f"{what:44}{seconds:>24.1f} s", flush=True)
        problems = run.finish()
    print("\n".join(problems) or f"{records} numbers: each was counted exactly once")
    return not problems


def some_places(task_managers: list[str], chosen_by: random.Random) -> Places:
    """Return a parallelism and places for the job, of TaskManagers with four slots or more."""
    joined = chosen_by.randint(1, _MOST["listed"])
    n: Mapping[str, int] = {
        task: joined if task in JOINED else chosen_by.randint(1, _MOST.get(task, 1))
        for task in TASKS
    }
    return {
        f"{task} ({i}/{k})": chosen_by.choice(task_managers)
        for task, k in n.items()
        for i in range(1, k + 1)
    }


def _schedule(soak: Soak, moves: int, kills: int) -> Iterator[Callable[[], Event]]:
    """Spread the failures evenly among the moves, in random order."""
    failures: list[Callable[[], Event]] = [soak.savepoint_and_resume]
    failures += [soak.kill_task_manager] * kills + [soak.restart_job_manager] * JOB_MANAGER_KILLS
    failures += [partial(soak.kill_at, step, jm) for step, jm in product(STEPS, (False, True))]
    soak.random.shuffle(failures)
    for move in range(moves):
        yield soak.move
        share = slice(move * len(failures) // moves, (move + 1) * len(failures) // moves)
        yield from failures[share]
