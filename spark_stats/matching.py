"""Match the log with the job graph: find the job, and the operator of each vertex."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.spark_stats.job_facts import LogFacts, LoggedEdge
from edgeplace.spark_stats.structure import colours
from edgeplace.spark_stats.totals import QuarterTotals


def job_of_log(
    seen: Mapping[str, str], times_ms: Mapping[str, tuple[int, int]], job: JobGraph | None
) -> str:
    """Return the id, as in the log, of the job that is to be measured.

    A job that was submitted again has another id: of several of one name that ran one after the
    other, it is the last one.

    Parameters
    ----------
    seen
        Id -> name of each job in the log.
    times_ms
        Id -> first and last time at which the log has it.
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
    in_turn = sorted(chosen, key=lambda i: times_ms[i])
    one_name = len({seen[i] for i in chosen}) == 1
    if one_name and all(times_ms[a][1] <= times_ms[b][0] for a, b in pairwise(in_turn)):
        return in_turn[-1]
    listed = ", ".join(f"{name!r} ({i})" for i, name in sorted(seen.items()))
    raise InvalidInputError(
        f"the log has {len(seen)} jobs: {listed}",
        "choose one by giving its job graph, with its job_id",
    )


def operator_ids(facts: LogFacts, job: JobGraph | None) -> dict[str, str]:
    """Return vertex id of the log -> operator id in the job graph.

    Names are compared in the form in which reporters write them, with special characters replaced.
    Where some operators have another name in the log, or one that others have there or in the job
    graph, they are found by their places in the graph, beside those with a name of their own.

    Raises
    ------
    InvalidInputError
        If the log belongs to another job, or places are alike.
    """
    if job is None:
        return {vertex: vertex for vertex in facts.names}
    known = {op.id for op in job.operators}
    by_name: dict[str, list[str]] = {}
    for op in job.operators:
        by_name.setdefault(plain_name(op.name), []).append(op.id)
    found: dict[str, str] = {}
    strange = {}
    often = Counter(map(plain_name, facts.names.values()))
    for vertex, name in facts.names.items():
        named = by_name.get(plain_name(name), ())
        if vertex in known:
            found[vertex] = vertex
        elif len(named) == often[plain_name(name)] == 1:
            found[vertex] = named[0]
        else:
            strange[vertex] = name
    found |= _by_place(facts, job, found)
    names = [name for vertex, name in strange.items() if vertex not in found]
    if names:
        raise InvalidInputError(
            f"the log does not belong to job {job.name!r}, which has none or several operators "
            f"named {names[:6]}, and places in its graph do not tell which",
            f"give the log of this job; its operators are {[op.name for op in job.operators][:6]}. "
            f"The log's job is named {facts.job_name!r}: if it is the same, give this name in the "
            "job file",
        )
    return found


def _by_place(facts: LogFacts, job: JobGraph, found: Mapping[str, str]) -> dict[str, str]:
    """Return vertex -> operator for those that have a place of their own in two like graphs.

    Empty without any operator that is known by its name, and where these are too few for a log of
    a job with another name: chains of three are alike in many jobs.
    """
    if not found or facts.edges is None or len(found) == len(facts.names):
        return {}
    if facts.job_name != job.name and not _is_half(found, facts.names, facts.edges):
        return {}
    rounds = max(len(facts.names), len(job.operators))
    known = set(found.values())
    logged = colours(
        {v: found.get(v, "") for v in facts.names},
        ((e.source, e.target, e.ship_strategy) for e in facts.edges),
        rounds,
    )
    wanted = colours(
        {op.id: op.id if op.id in known else "" for op in job.operators},
        ((s.source, s.target, str(s.ship_strategy)) for s in job.streams),
        rounds,
    )
    often = Counter(wanted.values())
    if often != Counter(logged.values()):
        return {}
    at = {colour: op for op, colour in wanted.items() if often[colour] == 1}
    return {v: at[c] for v, c in logged.items() if v not in found and c in at}


def _is_half(
    found: Mapping[str, str], names: Mapping[str, str], edges: Sequence[LoggedEdge]
) -> bool:
    """Return whether at least half of the operators are known, of all and without the ends.

    Sources and sinks have the same names in many jobs.
    """
    inner = {e.source for e in edges} & {e.target for e in edges}
    return 2 * len(found) >= len(names) and 2 * len(inner & found.keys()) >= len(inner)


def other_names(facts: LogFacts, ids: Mapping[str, str], job: JobGraph | None) -> list[str]:
    """Return a note for each operator that was found by its place, as its name is another one."""
    if job is None:
        return []
    return [
        f"{facts.names[vertex]!r} of the log is taken as {job.operator(op).name!r}: its name is "
        "another one, its place in the graph is the same"
        for vertex, op in ids.items()
        if vertex != op and plain_name(facts.names[vertex]) != plain_name(job.operator(op).name)
    ]


def in_terms_of(facts: LogFacts, ids: Mapping[str, str], job: JobGraph | None) -> LogFacts:
    """Return the facts with the job graph's ids as keys, and with its plan if it is given.

    Vertices of a plan need not have metrics in the log.
    """
    if job is None:
        ends = [vertex for e in facts.edges or () for vertex in (e.source, e.target)]
        others = [vertex for vertex in dict.fromkeys(ends) if vertex not in facts.names]
        return replace(
            facts,
            names=facts.names | {vertex: vertex for vertex in others},
            parallelism=facts.parallelism | {v: facts.planned.get(v, 1) for v in others},
        )
    return replace(
        facts,
        job_name=job.name,
        names={op.id: op.name for op in job.operators},
        parallelism={op.id: op.parallelism for op in job.operators},
        edges=tuple(LoggedEdge(s.source, s.target, str(s.ship_strategy)) for s in job.streams),
        state_bytes={ids.get(v, v): x for v, x in facts.state_bytes.items()},
        checkpointed_bytes={ids.get(v, v): x for v, x in facts.checkpointed_bytes.items()},
        window_s={ids.get(v, v): x for v, x in facts.window_s.items()},
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
    """Return a name for comparison, because reporters replace special characters by `_`."""
    return "".join(c if c.isalnum() else "_" for c in name)
