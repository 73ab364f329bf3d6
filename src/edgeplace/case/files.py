"""Read the input files of commands, once: jobs, cluster, costs, rules, plans."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress

from edgeplace.adapters.flink import load_job
from edgeplace.adapters.flink.plans import (
    Schedulercfg,
    plan_of_jobs,
    read_plan,
    refuse_supposed,
    rescaled,
)
from edgeplace.case import what_if
from edgeplace.case.births import with_births
from edgeplace.case.foreign_data import closed
from edgeplace.case.taken import left_by
from edgeplace.instances.caps_json import is_caps, read_caps
from edgeplace.model import (
    Case,
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Plan,
    Rules,
    load,
    read,
    some,
    without_jobs,
)

Seen = Mapping[str, tuple[str | None, ...]]
"""Operator -> where Flink says that each subtask runs."""


def inputs_of(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the files that `read_case` reads."""
    named = (*args.jobs, args.cluster, *args.costs, args.rules, *args.current, *args.taken)
    named = (*named, args.project_file)
    # An empty name is a variable of a script that is not set: no file, and no leave to ignore it.
    return tuple(path for path in named if path is not None)


def read_case(args: argparse.Namespace) -> Case:
    """Return the files that the arguments of `add_inputs` name; of a project, with closed edges.

    Raises
    ------
    InvalidInputError
        If a file is not what it should be.
    """
    case = case_of(args.jobs, args.cluster, args.costs, args.rules, args.current, args.taken)
    return closed(case) if args.project_file else case


def case_of(
    jobs: Sequence[str],
    cluster: str,
    costs: Sequence[str] = (),
    rules: str | None = None,
    current: Sequence[str] = (),
    taken: Sequence[str] = (),
) -> Case:
    """Return the case that some files describe.

    Raises
    ------
    InvalidInputError
        If a file is not what it should be.
    """
    network = read(cluster, Cluster)
    graphs: dict[str, JobGraph] = {}
    seen: dict[str, Seen] = {}
    for path in jobs:
        job, where = load_any_job(path, network)
        if len(set(jobs)) < len(jobs):
            twice = next(path for path in jobs if jobs.count(path) > 1)
            raise InvalidInputError(f"{twice} is given twice", "give each job once")
        if job.name in graphs:
            raise InvalidInputError(
                f"{path}: another of the jobs is named {job.name!r} too",
                "give each job a name of its own: `name:` in its file",
            )
        graphs[job.name] = with_births(job, network)
        if where:
            seen[job.name] = where
    for name, measured in _costs_by_job(costs, tuple(graphs)).items():
        graphs[name] = graphs[name].with_costs(measured)
        if measured.placement:
            seen[name] = measured.placement
    known = tuple(graphs.values())
    now = {name: _placed(graphs[name], network, where) for name, where in seen.items()}
    others = [(path, _other_plan(path)) for path in taken]
    beside = tuple({name for _, plan in others for name in plan.jobs if name not in graphs})
    for path in current:
        now |= _job_plan(path, known, network, beside).jobs
    left, notes = left_by(others, network, tuple(graphs))
    return Case(
        known,
        left,
        without_jobs(read(rules, Rules), beside) if rules is not None else None,
        Plan(jobs=now) if now else None,
        beside=beside,
        notes=notes,
    )


def read_job_plan(path: str, case: Case) -> Plan:
    """Return a plan from a plan file or a schedulercfg, in whatever parallelism it is.

    Raises
    ------
    InvalidInputError
        If the file is neither, does not belong to the jobs and the cluster, or is of other jobs
        beside these.
    """
    jobs = case.jobs
    if len(jobs) == 1 and isinstance(found := read_plan(path), Schedulercfg):
        jobs = (rescaled(found, jobs[0], path),)
    return _job_plan(path, jobs, case.cluster, case.beside)


def of_plan(case: Case, path: str) -> Case:
    """Return the case that a plan is for: with what it supposes (`--set`), and without the jobs
    that it leaves out for those of higher priority.

    Raises
    ------
    InvalidInputError
        If the case does not have what the plan supposes to be otherwise.
    """
    found = read_plan(path)
    if not isinstance(found, Plan):
        return case
    if found.supposing:
        case = what_if.apply(case, found.supposing)
        said = f"as {path} supposes: " + ", ".join(found.supposing)
        case = dataclasses.replace(case, notes=(*case.notes, said))
    waiting = {job.name for job in case.jobs} - found.jobs.keys()
    if not case.ranked or not waiting or len(waiting) == len(case.jobs):
        return case
    note = f"not in the plan, and so left out here: {some(sorted(waiting))}"
    fewer = case.without_jobs(waiting)
    return dataclasses.replace(fewer, notes=(*fewer.notes, note))


def _job_plan(path: str, jobs: Sequence[JobGraph], cluster: Cluster, beside: Sequence[str]) -> Plan:
    plan = plan_of_jobs(read_plan(path), jobs, cluster, path)
    names = [job.name for job in jobs]
    others = [name for name in plan.jobs if name not in (*names, *beside)]
    if others and set(names) & set(plan.jobs):
        raise InvalidInputError(
            f"{path}: the plan places {', '.join(map(repr, names))} and "
            f"{', '.join(map(repr, others))}: the slots, cores and links that the others take "
            "would not be counted",
            f"give the files of all these jobs (JOB JOB CLUSTER), or --taken {path}",
        )
    return plan


def placed(job: JobGraph, cluster: Cluster, seen: Seen | None) -> Plan | None:
    """Return a placement as Flink reports it as a plan in the cluster's names.

    A subtask that was not seen, or whose TaskManager the cluster does not list, keeps the name
    Flink gave, which matches nothing: the solver takes its place as unknown.
    """
    return Plan(jobs={job.name: _placed(job, cluster, seen)}) if seen else None


def _placed(job: JobGraph, cluster: Cluster, seen: Seen) -> dict[str, tuple[str, ...]]:
    def name(location: str | None) -> str:
        if location is None:
            return "(unassigned)"
        return cluster.resolve_task_manager(location) or location

    return {job.operator(op).id: tuple(map(name, tms)) for op, tms in seen.items()}


def load_any_job(path: str, cluster: Cluster | None) -> tuple[JobGraph, Seen | None]:
    """Return a job, of a CAPS file too, and where it runs if the file tells.

    Parameters
    ----------
    cluster
        Its one class of nodes is that of the costs of a CAPS file; None: it is `default`.

    Raises
    ------
    InvalidInputError
        If the file is no job.
    """
    try:
        return load_job(path)
    except InvalidInputError:
        caps = False
        with suppress(InvalidInputError):
            caps = is_caps(load(path))
        if not caps:
            raise
    return _caps(path, cluster), None


def _caps(path: str, cluster: Cluster | None) -> JobGraph:
    classes = {n.node_class for n in cluster.nodes} if cluster else set()
    if len(classes) > 1:
        raise InvalidInputError(
            f"{path}: a job of CAPS has the costs of one class of machines, and the cluster has "
            f"{sorted(classes)}",
            "give a cluster of one class, or convert the job and add the other costs",
        )
    return read_caps(path, next(iter(classes), "default"))


def _costs_by_job(paths: Sequence[str], names: tuple[str, ...]) -> dict[str, Costs]:
    """Return costs by the job that they are of; of one job alone, whatever name they give it."""
    found: dict[str, Costs] = {}
    for path in paths:
        costs = read(path, Costs)
        name = names[0] if len(names) == len(paths) == 1 else costs.job
        if name not in names:
            raise InvalidInputError(
                f"{path}: these are the costs of job {costs.job!r}, and the jobs are "
                f"{', '.join(map(repr, names))}",
                "give the costs of these jobs, or name the job as its costs do",
            )
        if name in found:
            raise InvalidInputError(
                f"{path}: costs of job {name!r} were given before", "give each job one costs file"
            )
        found[name] = costs
    return found


def _other_plan(path: str) -> Plan:
    """Return a plan of jobs that run beside those that are placed."""
    plan = read_plan(path)
    if not isinstance(plan, Plan):
        raise InvalidInputError(
            f"--taken {path}: a schedulercfg does not say which job it is of, nor what it takes",
            "give the plan that `edgeplace solve -o` wrote",
        )
    refuse_supposed(plan, path)
    return plan
