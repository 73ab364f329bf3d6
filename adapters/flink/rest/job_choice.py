"""Choose one of the jobs that Flink runs."""

import re
from collections.abc import Sequence

from edgeplace.adapters.flink.rest.live import RunningJob
from edgeplace.model import InvalidInputError

_JOB_ID = re.compile(r"[0-9a-f]{32}")


def is_job_id(ref: str) -> bool:
    """Return whether a text has the form of a job id."""
    return _JOB_ID.fullmatch(ref) is not None


def choose(jobs: Sequence[RunningJob], ref: str | None) -> RunningJob | None:
    """Return the job with this id or name, or the only job; None if there is none.

    Raises
    ------
    InvalidInputError
        If several jobs match.
    """
    fit = [j for j in jobs if ref in (None, j.id)] or [j for j in jobs if j.name == ref]
    if len(fit) > 1:
        named = "" if ref is None else f" called {ref!r}"
        raise InvalidInputError(f"Flink runs {len(fit)} jobs{named}: {listed(fit)}", "--job ID")
    return fit[0] if fit else None


def listed(jobs: Sequence[RunningJob]) -> str:
    """Return names and ids for a message."""
    return ", ".join(f"{j.name!r} ({j.id})" for j in jobs) or "no job"
