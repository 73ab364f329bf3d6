"""What `solve` and `explain` read: a job with its costs, a cluster, rules, where the job runs."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from edgeplace.adapters.flink import load_job, schedulercfg
from edgeplace.model import (
    Case,
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Plan,
    Rules,
    bytes_of,
    read,
)


def read_case(args: argparse.Namespace) -> Case:
    """Return what the arguments `job`, `cluster`, `costs`, `rules` and `current` name.

    Raises
    ------
    InvalidInputError
        If a file is not what it should be.
    """
    cluster = read(args.cluster, Cluster)
    job, seen = load_job(args.job)
    # An empty name is a variable of a script that is not set: no file, and no leave to ignore it.
    if args.costs is not None:
        costs = read(args.costs, Costs)
        job = job.with_costs(costs)
        seen = costs.placement or seen
    rules = read(args.rules, Rules) if args.rules is not None else None
    if args.current is not None:
        current: Plan | None = read_plan(args.current, job, cluster)
    else:
        current = placed(job, cluster, seen)
    return Case((job,), cluster, rules, current)


def read_plan(path: str, job: JobGraph, cluster: Cluster) -> Plan:
    """Return a plan from a plan file or a schedulercfg.

    Raises
    ------
    InvalidInputError
        If the file is neither, or does not belong to the job and the cluster.
    """
    raw = bytes_of(path)
    # The name of a task may start with a brace.
    is_json = raw.lstrip().startswith(b"{") and b'"jobs"' in raw
    if is_json or set(Path(path).suffixes) & {".yaml", ".yml", ".json", ".gz"}:
        return _of_one_job(read(path, Plan), job, path)
    return Plan(jobs={job.name: schedulercfg.read(path, job=job, cluster=cluster)})


def _of_one_job(plan: Plan, job: JobGraph, path: str) -> Plan:
    """Return the plan, if it is not of other jobs beside this one."""
    others = [name for name in plan.jobs if name != job.name]
    if others and job.name in plan.jobs:
        raise InvalidInputError(
            f"{path}: the plan places {job.name!r} and {', '.join(map(repr, others))}: the slots, "
            "cores and links that the others take would be left out",
            "give a plan of one job; edgeplace.evaluate and edgeplace.solve of Python take several",
        )
    return plan


def placed(
    job: JobGraph, cluster: Cluster, seen: Mapping[str, tuple[str | None, ...]] | None
) -> Plan | None:
    """Return a placement as Flink reports it as a plan in the cluster's names.

    A subtask that was not seen, or whose TaskManager the cluster does not list, keeps the name
    Flink gave, which matches nothing: the solver takes its place as unknown.
    """
    if not seen:
        return None

    def name(location: str | None) -> str:
        if location is None:
            return "(unassigned)"
        return cluster.resolve_task_manager(location) or location

    return Plan(
        jobs={job.name: {job.operator(op).id: tuple(map(name, tms)) for op, tms in seen.items()}}
    )
