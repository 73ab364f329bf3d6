"""Sources of a job that are born at all places of patterns, such as `depot-*`."""

from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator


def with_births(job: JobGraph, cluster: Cluster) -> JobGraph:
    """Return a job whose sources name each place that the patterns in `born_at` stand for.

    A pattern stands for the sites that fit; if there are none, for the nodes, and then for the
    TaskManagers. Each place has one subtask, also one that fits several patterns: in the order of
    the patterns, and of the cluster.

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
    try:
        each = [cluster.places_like(place) for place in op.born_at]
    except InvalidInputError as e:
        raise InvalidInputError(f"source {op.name!r}: born_at {e.what}", e.cure) from e
    fitting = tuple(dict.fromkeys(place for _, places in each for place in places))
    if len(fitting) != op.parallelism:
        said = ", ".join(
            f"{name!r} fits {len(places):,} {kind}"
            for name, (kind, places) in zip(op.born_at, each, strict=True)
        )
        together = f", {len(fitting):,} places in all" if len(each) > 1 else ""
        raise InvalidInputError(
            f"source {op.name!r}: born_at {said}{together}, and the source has "
            f"{op.parallelism} subtasks",
            f"set its parallelism to {len(fitting)}, or name the places",
        )
    return fitting
