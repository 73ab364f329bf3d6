"""Split aggregates under moves, kills, rescales, changes of weights: is a record lost or doubled?

    python benchmarks/split_soak.py [--seed 0]        (needs a JDK 17; 5 min)

One job on stock Flink with the agent: a router before four workers, windows, and running totals,
into exactly-once files. 20 moves, 5 kills of a TaskManager, 2 changes of the number of workers, a
kill of the JobManager, a savepoint with a resumption, and 50 changes of weights, in random order.
After each event every subtask has to be where it is planned, and the routers have to use the
weights in force: also after a failure, from the checkpoint, without reading a file anew. At the end
each line of both sinks is compared with plain loops over the records.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.split_words import COMBINE, SplitRun  # noqa: E402
from testbed.flink.agent_cluster import AgentCluster  # noqa: E402
from testbed.flink.agent_jar import JAR  # noqa: E402
from testbed.flink.home import FLINK_VERSION, flink_home  # noqa: E402
from testbed.flink.local_cluster import JOB_MANAGER  # noqa: E402

MOVES, KILLS, RESCALES = 20, 5, 2
WEIGHTS = 50 - RESCALES
PER_SECOND, SOURCES, LONGEST_S = 300, 2, 1500
PATIENCE_S = 180.0


class SoakOfSplit:
    """The job, and what is planned for it."""

    def __init__(self, flink: AgentCluster, run: SplitRun, chance: random.Random) -> None:
        self.flink, self.run, self.random = flink, run, chance
        self.weights: list[float] | None = None
        self.workers = 4
        flink.wait_for_running(run.job_id, PATIENCE_S)
        flink.wait_until(lambda: flink.keys(run.job_id) is not None, "a report", PATIENCE_S)
        self.places = flink.placement(run.job_id)

    def move(self) -> None:
        self._place({task: self._any_host() for task in self.places})

    def rescale(self) -> None:
        self.workers = 7 - self.workers
        tasks = [task for task in self.places if not task.startswith(COMBINE)]
        tasks += [f"{COMBINE} ({i}/{self.workers})" for i in range(1, self.workers + 1)]
        self._place({task: self._any_host() for task in tasks})
        # Weights for another number of workers are of no use.
        self.weigh()

    def weigh(self) -> None:
        weights = [float(self.random.choice((0, 1, 2, 5))) for _ in range(self.workers)]
        weights[self.random.randrange(self.workers)] = 3.0
        self.weights = weights
        self.run.write_shares(weights)

    def kill(self) -> None:
        self._restart(self.random.choice(sorted({*self.places.values()})))

    def kill_job_manager(self) -> None:
        self._restart(JOB_MANAGER)

    def resume(self) -> None:
        self.run.stop_and_resume()
        self.flink.wait_for_running(self.run.job_id, PATIENCE_S)

    def settle(self) -> None:
        """Wait until all subtasks are in their places and all routers use the weights."""
        wanted = None if self.weights is None else {"*": self.weights}

        def settled() -> bool:
            report = self.flink.keys(self.run.job_id)
            if self.flink.placement(self.run.job_id) != self.places or not report:
                return False
            (split,) = report["splits"] or (None,)
            return (
                split is not None
                and split["workers"] == self.workers
                and split["weights"] == wanted
                and split["routers_following"] == split["routers"]
            )

        self.flink.wait_until(settled, f"places and weights {wanted}", PATIENCE_S)

    def _place(self, places: dict[str, str]) -> None:
        self.flink.wait_for_checkpoint(self.run.job_id)
        self.places = places
        sha256 = self.flink.write_plan(self.run.name, places)
        self.flink.wait_for_status(self.run.job_id, "placed", sha256, PATIENCE_S)

    def _restart(self, name: str) -> None:
        self.flink.wait_for_checkpoint(self.run.job_id)
        before = self.flink.rest.subtasks(self.run.job_id)
        self.flink.cluster.kill(name)
        self.flink.cluster.start(name)
        self.flink.wait_until(
            lambda: self.flink.rest.subtasks(self.run.job_id) != before, "a restart", PATIENCE_S
        )
        self.flink.wait_for_running(self.run.job_id, PATIENCE_S)

    def _any_host(self) -> str:
        return self.random.choice([t.name for t in self.flink.task_managers])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    with AgentCluster(flink_home(FLINK_VERSION), JAR) as flink:
        records = PER_SECOND * SOURCES * LONGEST_S
        run = SplitRun(flink, records, "soak", [f"per-second={PER_SECOND}"])
        soak = SoakOfSplit(flink, run, random.Random(seed))  # noqa: S311 - no secret
        # The agent moves nothing on its own, so every event but a weight begins with a plan.
        soak.move()
        events: list[tuple[str, Callable[[], None]]] = (
            [("move", soak.move)] * MOVES
            + [("rescale", soak.rescale)] * RESCALES
            + [("kill", soak.kill)] * KILLS
            + [("kill of the JobManager", soak.kill_job_manager)]
            + [("savepoint and resume", soak.resume)]
            + [("weights", soak.weigh)] * WEIGHTS
        )
        soak.random.shuffle(events)
        for number, (what, event) in enumerate(events, 1):
            begin = time.monotonic()
            event()
            soak.settle()
            print(f"{number:3} {what:26}{time.monotonic() - begin:6.1f} s", flush=True)
        problems = run.finish()
    print("\n".join(problems) or f"{records} records: each was counted exactly once")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
