"""Match the log with the job graph: find the job, and the operator of each vertex."""

from collections.abc import Mapping
from dataclasses import replace

from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.spark_stats.job_facts import LogFacts, LoggedEdge
from edgeplace.spark_stats.totals import QuarterTotals


def job_of_log(seen: Mapping[str, str], job: JobGraph | None) -> str:
    """Return the id, as in the log, of the job that is to be measured.

    Parameters
    ----------
    seen
        Id -> name of each job in the log.
    job
        The job graph, if the caller has one.

    Raises
    ------
    InvalidInputError
        If the log has no metrics of a job, or several jobs and the choice is ambiguous.
    """
    if not seen:
        raise InvalidInputError(
            "the log has no metrics of a running job",
            "record for some minutes while the job runs, with the answers of "
            "/jobs/<job>/vertices/<vertex>/metrics: Flink's first answers have no metrics yet",
        )
    if job is not None and job.job_id in seen:
        return job.job_id
    chosen = list(seen)
    if job is not None and len(seen) > 1:
        chosen = [i for i, name in seen.items() if name == job.name]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(f"{name!r} ({i})" for i, name in sorted(seen.items()))
    raise InvalidInputError(
        f"the log has {len(seen)} jobs: {listed}",
        "choose one by giving its job graph, with its job_id",
    )


def operator_ids(facts: LogFacts, job: JobGraph | None) -> dict[str, str]:
    """Return vertex id of the log -> operator id in the job graph.

    Names are compared in the form in which reporters write them, with special characters replaced.

    Raises
    ------
    InvalidInputError
        If the log belongs to another job.
    """
    if job is None:
        return {vertex: vertex for vertex in facts.names}
    known = {op.id for op in job.operators}
    by_name: dict[str, list[str]] = {}
    for op in job.operators:
        by_name.setdefault(plain_name(op.name), []).append(op.id)
    found: dict[str, str] = {}
    strange = []
    for vertex, name in facts.names.items():
        named = by_name.get(plain_name(name), ())
        if vertex in known:
            found[vertex] = vertex
        elif len(named) == 1:
            found[vertex] = named[0]
        else:
            strange.append(name)
    if strange:
        raise InvalidInputError(
            f"the log does not belong to job {job.name!r}, which has none or several operators "
            f"named {strange[:6]}",
            f"give the log of this job; its operators are {[op.name for op in job.operators][:6]}",
        )
    return found


def in_terms_of(facts: LogFacts, ids: Mapping[str, str], job: JobGraph | None) -> LogFacts:
    """Return the facts with the job graph's ids as keys, and with its plan if it is given."""
    if job is None:
        return facts
    return replace(
        facts,
        job_name=job.name,
        names={op.id: op.name for op in job.operators},
        parallelism={op.id: op.parallelism for op in job.operators},
        edges=tuple(LoggedEdge(s.source, s.target, str(s.ship_strategy)) for s in job.streams),
        state_bytes={ids.get(v, v): x for v, x in facts.state_bytes.items()},
        checkpointed_bytes={ids.get(v, v): x for v, x in facts.checkpointed_bytes.items()},
        checkpoints_went={ids.get(v, v): x for v, x in facts.checkpoints_went.items()},
    )


def by_operator(
    measured: list[QuarterTotals], ids: Mapping[str, str], facts: LogFacts
) -> dict[str, list[QuarterTotals]]:
    """Return the totals of each operator, in the order of the job; empty where it has none."""
    found: dict[str, list[QuarterTotals]] = {operator: [] for operator in facts.names}
    for t in measured:
        operator = ids[t.vertex]
        found[operator].append(replace(t, vertex=operator))
    return found


def find_operator(ref: str, facts: LogFacts, what: str) -> str:
    """Return the id of the operator with this id or name.

    Parameters
    ----------
    ref
        Id, or name if only one operator has it.
    facts
        With the names of the operators.
    what
        What `ref` was given for, for the error message.

    Raises
    ------
    InvalidInputError
        If there is none, or if several share the name.
    """
    if ref in facts.names:
        return ref
    named = [i for i, name in facts.names.items() if plain_name(name) == plain_name(ref)]
    if len(named) == 1:
        return named[0]
    raise InvalidInputError(
        f"{what} names the operator {ref!r}; the log has {len(named) or 'none'} of that name",
        f"its operators are {list(facts.names.values())[:12]}"
        + (f"; use an id: {named}" if named else ""),
    )


def plain_name(name: str) -> str:
    """Return a name as it compares, since reporters replace special characters by `_`."""
    return "".join(c if c.isalnum() else "_" for c in name)
