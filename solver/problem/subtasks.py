"""Subtasks of all jobs under one numbering."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Operator,
    Plan,
    did_you_mean,
    no_such_operator,
)
from edgeplace.solver.arrays import Ints


@dataclass(frozen=True)
class Subtasks:
    """Subtasks of all jobs, numbered job by job and operator by operator."""

    jobs: tuple[JobGraph, ...]
    operators: tuple[tuple[str, Operator], ...]
    """(job name, operator)"""
    first: Ints
    """First subtask of each operator, and the total; shape (n_operators + 1,)."""
    operator_of: Ints
    """Operator of each subtask, shape (n_subtasks,)."""
    group: Ints
    """Slot sharing group of each operator, shape (n_operators,)."""
    job: Ints
    """Job of each operator, shape (n_operators,)."""

    @classmethod
    def number(cls, jobs: Sequence[JobGraph]) -> "Subtasks":
        """Number the subtasks of some jobs.

        Raises
        ------
        InvalidInputError
            If there is no job, or two have one name.
        """
        names = [j.name for j in jobs]
        if not jobs or len(set(names)) < len(names):
            raise InvalidInputError(
                f"the jobs to place are named {names}", "give at least one, each with its own name"
            )
        operators = tuple((j.name, op) for j in jobs for op in j.operators)
        counts = np.array([op.parallelism for _, op in operators])
        groups = [(job, op.slot_sharing_group) for job, op in operators]
        group_index = {g: i for i, g in enumerate(sorted(set(groups)))}
        return cls(
            tuple(jobs),
            operators,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
            np.repeat(np.arange(len(operators)), counts),
            np.array([group_index[g] for g in groups], np.intp),
            np.array([names.index(job) for job, _ in operators], np.intp),
        )

    @cached_property
    def job_of(self) -> Ints:
        """Job of each subtask, shape (n_subtasks,)."""
        return self.job[self.operator_of]

    def job_numbers(self, names: Iterable[str]) -> Ints:
        """Return the numbers of some jobs, by name; shape (n_names,)."""
        number = {job.name: i for i, job in enumerate(self.jobs)}
        return np.array([number[name] for name in names], np.intp)

    @property
    def count(self) -> int:
        """Number of subtasks."""
        return int(self.first[-1])

    def range_of(self, operator: int) -> Ints:
        """Return the subtasks of an operator, by index."""
        return np.arange(self.first[operator], self.first[operator + 1], dtype=np.intp)

    def of(self, ref: str, job: str = "") -> Ints:
        """Return the subtasks of an operator, by id or unique name, in one job or in any.

        Raises
        ------
        InvalidInputError
            If no operator or several are meant.
        """
        if job and job not in self._names:
            names = [j.name for j in self.jobs]
            raise InvalidInputError(
                f"there is no job {job!r}", did_you_mean(job, names, f"the jobs are {names}")
            )
        # An id means its operator; a name does where no id says otherwise and no other has it.
        found = {}
        for j in [job] if job else [j.name for j in self.jobs]:
            ids, named = self._names[j]
            if ref in ids:
                found[j] = ids[ref]
            elif len(named.get(ref, ())) == 1:
                found[j] = named[ref][0]
        if not found:
            asked = [j for j in self.jobs if job in ("", j.name)]
            for graph in asked:
                if len(self._names[graph.name][1].get(ref, ())) > 1:
                    graph.operator(ref)  # Says that several have the name.
            raise no_such_operator(asked, ref)
        if len(found) > 1:
            raise InvalidInputError(
                f"operator {ref!r} is in several jobs: {list(found)}",
                "say which with `job:`",
            )
        return self.range_of(next(iter(found.values())))

    @cached_property
    def _names(self) -> dict[str, tuple[dict[str, int], dict[str, list[int]]]]:
        """Job -> operators by id, and by name."""
        names: dict[str, tuple[dict[str, int], dict[str, list[int]]]] = {}
        for o, (job, op) in enumerate(self.operators):
            ids, named = names.setdefault(job, ({}, {}))
            ids[op.id] = o
            named.setdefault(op.name, []).append(o)
        return names

    def title(self, k: int) -> str:
        """Return Flink's name of a subtask, ``name (i/n)``, with the id where names repeat."""
        o = int(self.operator_of[k])
        job, op = self.operators[o]
        prefix = f"{job}: " if len(self.jobs) > 1 else ""
        same = len(self._names[job][1][op.name])
        which = f" [{op.id}]" if same > 1 else ""
        return f"{prefix}{op.name}{which} ({k - self.first[o] + 1}/{op.parallelism})"

    def ids(self, k: int) -> tuple[str, str, str]:
        """Return job, operator id and index (from 0) of a subtask, as `Limit.subject` has them."""
        o = int(self.operator_of[k])
        job, op = self.operators[o]
        return job, op.id, str(k - self.first[o])

    def of_ids(self, ids: tuple[str, ...]) -> int:
        """Return the index of the subtask that `ids` names."""
        job, operator, i = ids
        names = [(name, op.id) for name, op in self.operators]
        return int(self.first[names.index((job, operator))]) + int(i)


def assignment_of(subtasks: Subtasks, cluster: Cluster, plan: Plan) -> Ints:
    """Return TaskManager indices of shape (n_subtasks,), -1 where the plan or cluster has none.

    Raises
    ------
    InvalidInputError
        If the plan has another number of subtasks for an operator.
    """
    index = {t.id: i for i, t in enumerate(cluster.task_managers)}
    found = np.full(subtasks.count, -1, np.intp)
    for o, (job, op) in enumerate(subtasks.operators):
        places = plan.jobs.get(job, {}).get(op.id)
        if places is None:
            continue
        if len(places) != op.parallelism:
            raise InvalidInputError(
                f"the placement of {op.name!r} has {len(places)} subtasks, the job has "
                f"{op.parallelism}",
                "use a placement of this job at this parallelism",
            )
        found[subtasks.range_of(o)] = [index.get(p, -1) for p in places]
    return found
