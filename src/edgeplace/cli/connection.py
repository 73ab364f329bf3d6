"""The connection to Flink that `edgeplace flink` commands share."""

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeplace.adapters.flink.rest import FlinkClient, LiveFlink, find_credentials
from edgeplace.cli.from_project import JOBMANAGER, environment_of
from edgeplace.model import PROJECT_FILE, InvalidInputError, Project, read_project


def same_connection(args: argparse.Namespace) -> list[str]:
    """Return the options of a command that lead another one to the same Flink.

    What the project file or the environment of the shell says need not be said again.
    """
    given = args.given
    options = {
        "--jobmanager": given.jobmanager,
        "--credentials": given.credentials,
        "--ca-file": given.ca_file,
        "--env": given.env,
    }
    return [text for option, value in options.items() if value for text in (option, value)]


def measuring(log: Path, args: argparse.Namespace, job: str | None = None) -> list[str]:
    """Return the command that measures a log, on the cluster of the project file if there is one.

    Parameters
    ----------
    job
        The file of the job, for a log that does not hold it.
    """
    words = ["edgeplace", "costs", str(log), *(["--job", job] if job else [])]
    project = _project(args)
    if project is None or not project.cluster:
        words += ["--cluster", "cluster.yaml"]
    elif args.env:
        words += ["--env", args.env]
    return [*words, "-o", "costs.json"]


def discovering(args: argparse.Namespace) -> list[str]:
    """Return the command that asks Flink for a job, for a log that does not hold it."""
    project = _project(args)
    words = ["edgeplace", "flink", "discover"]
    if args.env:
        words += ["--env", args.env]
    elif not os.environ.get(JOBMANAGER) and not (project and project.jobmanager):
        words += ["--jobmanager", "URL"]
    return [*words, "--job-out", "job.json"]


def _project(args: argparse.Namespace) -> Project | None:
    """Return the project file of the current folder; None: there is none that is right."""
    if not Path(PROJECT_FILE).is_file():
        return None
    try:
        return read_project(PROJECT_FILE, environment_of(args))
    except InvalidInputError:
        return None


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[LiveFlink]:
    """Connect to the JobManager that the arguments name."""
    with session(args) as client:
        yield LiveFlink(client)


@contextmanager
def session(args: argparse.Namespace) -> Iterator[FlinkClient]:
    """Connect as `connected` does, and return the client for other requests."""
    # The warnings about retries repeat what our errors say.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    credentials = find_credentials(args.credentials)
    with FlinkClient(args.jobmanager, credentials, args.ca_file) as client:
        yield client
