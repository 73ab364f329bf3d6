"""Arguments that the project file of the current folder gives, and the command line does not."""

import argparse
import copy
import os
from collections.abc import Sequence
from pathlib import Path

from edgeplace.cli.console import Console
from edgeplace.cli.options import BENCH, CASE, COSTS, FLINK
from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    PRESETS,
    PROJECT_FILE,
    PROJECT_FILES,
    InvalidInputError,
    Project,
    doubled_files,
    missing_files,
    read_project,
)

_NEEDED = {
    CASE: ("jobs", "cluster"),
    BENCH: ("jobs", "cluster"),
    COSTS: (),
    FLINK: ("jobmanager",),
}
"""Fields that a project file must have."""
_WITHOUT = (BENCH, COSTS)
"""What works without a project file, too."""
_TAKEN = {
    CASE: ("jobs", "cluster", "costs", "rules", "current", "taken"),
    BENCH: ("costs", "rules", "taken"),
    COSTS: ("cluster",),
    FLINK: ("jobmanager", "cluster", "credentials", "ca_file", "plans"),
}
"""Fields that a command takes, if it has an option of that name."""
_INSTEAD = {
    CASE: "JOB and CLUSTER",
    BENCH: "instances",
    COSTS: "--cluster",
    FLINK: "--jobmanager, --prometheus or --whisper",
}
"""What of the command line stands alone."""
_EXAMPLES = {
    "jobs": "jobs: [job.yaml]",
    "cluster": "cluster: cluster.yaml",
    "jobmanager": "jobmanager: http://localhost:8081",
}


JOBMANAGER, _ENVIRONMENT = "EDGEPLACE_JOBMANAGER", "EDGEPLACE_ENV"
"""Variables of the environment that stand for --jobmanager and --env."""


def take_project(args: argparse.Namespace, console: Console) -> None:
    """Complete the arguments of a command by the project file of the current folder.

    A case of the command line (JOB ... CLUSTER), or its `--jobmanager`, stands alone. If it gives
    neither, the rest of what it says goes before the project file. `given` of the arguments is a
    copy of what the command line says, `project_file` the file that was used, or None,
    `objective_chosen` whether one of them has an objective.

    Raises
    ------
    InvalidInputError
        If the command needs the project file, and there is none, or it is wrong.
    """
    args.given = copy.copy(args)
    args.project_file = None
    wanted = getattr(args, "project", None)
    if wanted == FLINK:
        _take_variable(args, console)
    if wanted is not None and args.env and _stands_alone(args, wanted):
        raise InvalidInputError(
            f"--env {args.env} is of {PROJECT_FILE}, and nothing is taken from that if the command "
            f"line has {_INSTEAD[wanted]}",
            "give one of the two",
        )
    if wanted is not None and not _stands_alone(args, wanted):
        _take(args, wanted, console)
    args.objective_chosen = getattr(args, "objective", None) is not None
    if getattr(args, "objective", "") is None:
        args.objective = ",".join(DEFAULT_OBJECTIVE)


def environment_of(args: argparse.Namespace) -> str | None:
    """Return the environment of the project file that is asked for; None: none."""
    return args.env or os.environ.get(_ENVIRONMENT) or None


def _take_variable(args: argparse.Namespace, console: Console) -> None:
    """Take the JobManager of the shell's environment, if the command line leads nowhere else."""
    url = os.environ.get(JOBMANAGER)
    if url and not args.env and not _stands_alone(args, FLINK):
        args.jobmanager = url
        console.notice(f"jobmanager: {url} ({JOBMANAGER})")


def _stands_alone(args: argparse.Namespace, wanted: str) -> bool:
    if wanted == FLINK:
        places = ("jobmanager", "prometheus", "whisper")
        return any(getattr(args, place, None) is not None for place in places)
    if wanted == COSTS:
        return args.cluster is not None
    if wanted == BENCH:
        return bool(args.instances or args.topology)
    return bool(args.jobs)


def _take(args: argparse.Namespace, wanted: str, console: Console) -> None:
    environment = environment_of(args)
    if not Path(PROJECT_FILE).is_file():
        if wanted in _WITHOUT and not args.env:
            return
        raise _no_project(wanted)
    project = read_project(PROJECT_FILE, environment)
    taken = [f for f in _TAKEN[wanted] if hasattr(args, f) and getattr(args, f) in (None, [])]
    _check(project, _NEEDED[wanted], taken, environment)
    for field in taken:
        value = getattr(project, field)
        setattr(args, field, list(value) if isinstance(value, tuple) else value)
    if wanted == BENCH:
        args.instances = [*project.jobs, project.cluster]
    if getattr(args, "objective", "") is None:
        _take_objective(args, project)
    args.project_file = PROJECT_FILE
    said = [f"environment {environment}"] if environment else []
    said += [f"jobmanager {project.jobmanager}"] if wanted == FLINK else []
    at = f" ({', '.join(said)})" if said else ""
    console.notice(f"project file: {Path(PROJECT_FILE).resolve()}{at}")


def _take_objective(args: argparse.Namespace, project: Project) -> None:
    if project.optimise:
        args.optimise = project.optimise
        args.objective = ",".join(PRESETS[project.optimise])
    elif project.objective:
        args.objective = ",".join(project.objective)


def _no_project(wanted: str) -> InvalidInputError:
    missing = "--jobmanager" if wanted == FLINK else "JOB and CLUSTER"
    give = "--jobmanager URL" if wanted == FLINK else "JOB ... CLUSTER"
    above = next((f for f in Path.cwd().parents if (f / PROJECT_FILE).is_file()), None)
    return InvalidInputError(
        f"{missing} {'is' if wanted == FLINK else 'are'} missing, and there is no {PROJECT_FILE} "
        f"in this folder" + (f"; there is one in {above}" if above else ""),
        f"cd {above}, or give {give}" if above else f"give {give}, or write one: edgeplace init",
    )


def _check(
    project: Project, needed: Sequence[str], taken: Sequence[str], environment: str | None
) -> None:
    """Refuse a project file that lacks what a command needs, or names files that are not there."""
    lacking = [field for field in needed if not getattr(project, field)]
    if lacking:
        raise InvalidInputError(
            f"{PROJECT_FILE}: there is no field {', '.join(map(repr, lacking))}",
            "add " + ", and ".join(f"`{_EXAMPLES[field]}`" for field in lacking),
        )
    # The folder of plans may be on another machine.
    files = (set(needed) | set(taken)) & set(PROJECT_FILES) - {"plans"}
    fields = [field for field in PROJECT_FILES if field in files]
    for mistake in (
        *missing_files(PROJECT_FILE, fields, environment),
        *doubled_files(PROJECT_FILE, fields),
    ):
        line = f":{mistake.line}" if mistake.line else ""
        raise InvalidInputError(f"{PROJECT_FILE}{line}: {mistake.what}", mistake.cure)
