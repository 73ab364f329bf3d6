"""Asking the solver in a process of its own: a long search never delays the guard."""

import time
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.rest import LiveFlink
from edgeplace.control.loop.answering.known import Known
from edgeplace.control.loop.events import Solve, Solved
from edgeplace.model import (
    Cluster,
    Costs,
    EdgeplaceError,
    JobGraph,
    Rules,
    read,
    with_costs_of_another,
    without_jobs,
)


class Solving:
    """At most one question to the solver at a time.

    Parameters
    ----------
    cluster, costs, rules
        The files, read anew for each question.
    measured
        File with the costs of the loop's own log, once there are some.
    """

    def __init__(
        self,
        live: LiveFlink,
        cluster: Path,
        costs: Path | None,
        measured: Path,
        rules: Path | None,
    ) -> None:
        self._live = live
        self._cluster = cluster
        self._given = costs
        self._measured = measured
        self._rules = rules
        self._pool: ProcessPoolExecutor | None = None
        self._asked: tuple[int, Future[tuple[Solved, Known]]] | None = None
        self._known = Known()
        self._failed: Solved | None = None

    def ask(self, ask: Solve, job_id: str) -> None:
        """Begin to answer; what is being answered is dropped."""
        self.close()
        try:
            job, cluster, rules, costs = self._case(job_id)
        except EdgeplaceError as e:
            problem = f"{e.what} ({e.cure})"
            self._failed = Solved(at_s=0.0, ticket=ask.ticket, problem=problem)
            return
        # A process that forks would have our threads' locks, without the threads.
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        future = self._pool.submit(_answer, ask, job, cluster, rules, costs, self._known)
        self._asked = (ask.ticket, future)

    def answer(self, at_s: float) -> Solved | None:
        """Return the answer if it is there; each is returned once."""
        if self._failed is not None:
            failed, self._failed = self._failed, None
            return failed.model_copy(update={"at_s": at_s})
        if self._asked is None or not self._asked[1].done():
            return None
        ticket, future = self._asked
        try:
            told, self._known = future.result()
            solved = told.model_copy(update={"at_s": at_s})
        except Exception as e:
            # Whatever it was: the loop goes on, and says it.
            solved = Solved(at_s=at_s, ticket=ticket, problem=f"{type(e).__name__}: {e}")
        self.close()
        return solved

    def close(self) -> None:
        """End the process."""
        pool, self._pool, self._asked = self._pool, None, None
        if pool is None:
            return
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()

    def _case(self, job_id: str) -> tuple[JobGraph, Cluster, Rules | None, Costs]:
        costs = self._costs()
        rules = read(self._rules, Rules) if self._rules else None
        try:
            cluster, _ = self._live.users_cluster(read(self._cluster, Cluster))
            job = with_costs_of_another(self._live.job_graph(job_id), costs)
            others = {other.name for other in self._live.jobs()} - {job.name}
        except (FlinkUnreachableError, FlinkNotFoundError) as e:
            raise EdgeplaceError(e.what, e.cure) from e
        # Several jobs may share one file of rules.
        return job, cluster, rules and without_jobs(rules, others), costs

    def _costs(self) -> Costs:
        """Return the younger ones; those that do not say when they were measured are kept."""
        given = read(self._given, Costs) if self._given and self._given.is_file() else None
        measured = read(self._measured, Costs) if self._measured.is_file() else None
        found = given or measured
        if found is None:
            raise EdgeplaceError(
                f"there are no costs yet: {self._given or self._measured} is not there",
                "measure them: edgeplace costs, on the metric log of the loop",
            )
        if given is None or measured is None or given.to_ms is None:
            return found
        return measured if (measured.to_ms or 0) > given.to_ms else given


def _answer(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    costs: Costs,
    known: Known,
) -> tuple[Solved, Known]:
    from edgeplace.control.loop.answering.answer import answer

    age_s = None if costs.to_ms is None else max(0.0, time.time() - costs.to_ms / 1000)
    return answer(ask, job, cluster, rules, 0.0, age_s, known), known
