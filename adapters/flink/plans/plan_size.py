"""The maximum size of a plan file: a larger file is refused before it is read."""

from edgeplace.model import InvalidInputError, JobGraph

LARGEST_PLAN_BYTES = 2**24
"""Of any job."""
_BYTES_OF_A_LINE = 400
"""What a line may take beside the task's name: numbers, separators, a location."""
_SMALLEST_LIMIT_BYTES = 2**16


def largest_plan_bytes(job: JobGraph) -> int:
    """Return how large the schedulercfg of a job can be; the agent says the same (JobTasks)."""
    needed = sum(
        op.parallelism * (_BYTES_OF_A_LINE + len(op.name.encode())) for op in job.operators
    )
    return min(LARGEST_PLAN_BYTES, max(_SMALLEST_LIMIT_BYTES, needed))


def check_plan_size(text: str, job: JobGraph, origin: str) -> None:
    """Refuse a schedulercfg that is too large for a job.

    Raises
    ------
    InvalidInputError
        If it is.
    """
    size, most = len(text.encode(errors="surrogateescape")), largest_plan_bytes(job)
    if size > most:
        raise InvalidInputError(
            f"{origin}: {size:,} bytes, and a plan of job {job.name!r} has {most:,} at most",
            "one line for each subtask is all a plan holds: solve again for the job as it runs",
        )


def too_large(origin: str) -> InvalidInputError:
    """Return the refusal of a file that is too large for any job."""
    return InvalidInputError(
        f"{origin}: larger than {LARGEST_PLAN_BYTES:,} bytes, the most that a plan can have",
        "give a plan of this job alone: `edgeplace solve -o`, or a line for each subtask",
    )
