"""Sources of a job that are born at all places of a pattern, such as `depot-*`."""

from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator


def with_births(job: JobGraph, cluster: Cluster) -> JobGraph:
    """Return a job whose sources name each place that a pattern in `born_at` stands for.

    A pattern stands for the sites that fit; if there are none, for the nodes, and then for the
    TaskManagers. Each place has one subtask, in the order of the cluster.

    Raises
    ------
    InvalidInputError
        If not as many places fit as the source has subtasks.
    """
    found = {
        op.id: op.model_copy(update={"born_at": places_of(op, cluster)})
        for op in job.operators
        if any("*" in place for place in op.born_at)
    }
    if not found:
        return job
    return job.revised(operators=tuple(found.get(op.id, op) for op in job.operators))


def places_of(op: Operator, cluster: Cluster) -> tuple[str, ...]:
    """Return the place of each subtask of a source with a pattern in `born_at`.

    Raises
    ------
    InvalidInputError
        As for `with_births`.
    """
    pattern = next(place for place in op.born_at if "*" in place)
    if len(op.born_at) > 1:
        raise InvalidInputError(
            f"source {op.name!r}: born_at has the pattern {pattern!r} among other places",
            "give one pattern alone, or name every place",
        )
    try:
        kind, fitting = cluster.places_like(pattern)
    except InvalidInputError as e:
        raise InvalidInputError(f"source {op.name!r}: born_at {e.what}", e.cure) from e
    if len(fitting) != op.parallelism:
        raise InvalidInputError(
            f"source {op.name!r}: born_at {pattern!r} fits {len(fitting)} {kind}, and the "
            f"source has {op.parallelism} subtasks",
            f"set its parallelism to {len(fitting)}, or name the places",
        )
    return fitting
