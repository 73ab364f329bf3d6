"""Figures and what-if questions given on the command line."""

import dataclasses
from collections.abc import Sequence

from edgeplace.case.files import Case
from edgeplace.case.lost_site import lose
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator
from edgeplace.model.cluster_changes import with_bandwidth, with_node_like

KINDS = (
    "rate:SOURCE=N, rate:SOURCE=xFACTOR, rate=xFACTOR, site:ID=lost, link:A-B=FACTOR or "
    "node+=CLASS@SITE"
)
"""What `--set` understands."""


def rates(texts: Sequence[str], option: str) -> dict[str, float]:
    """Return source -> records/s from texts such as `sensors=500`.

    Raises
    ------
    InvalidInputError
        If a text has no `=`, or its figure is no number of 0 or more.
    """
    found = {}
    for text in texts:
        # A name may hold `=`; a number does not.
        source, _, figure = text.rpartition("=")
        rate = _rate(figure)
        if not source or rate is None:
            raise InvalidInputError(
                f"{option} {text!r} is not understood", f"write {option} SOURCE=RECORDS_PER_SECOND"
            )
        found[source] = rate
    return found


def _rate(figure: str) -> float | None:
    try:
        rate = float(figure)
    except ValueError:
        return None
    return rate if 0 <= rate < float("inf") else None


def apply(case: Case, settings: Sequence[str]) -> tuple[Case, tuple[str, ...]]:
    """Return the case with each `--set` applied in turn, and what to know of it.

    Raises
    ------
    InvalidInputError
        If a setting is of no kind that is known, or names what is not there.
    """
    notes: list[str] = []
    for text in settings:
        try:
            case, said = _applied(case, text)
        except InvalidInputError as e:
            named = e.what if e.what.startswith("--set ") else f"--set {text!r}: {e.what}"
            raise InvalidInputError(named, e.cure) from e
        notes += said
    return case, tuple(notes)


def _applied(case: Case, text: str) -> tuple[Case, tuple[str, ...]]:
    """Return the case with one `--set` applied, and what to know of it."""
    # A name may hold `=`; a figure does not.
    key, equals, value = text.rpartition("=")
    kind, colon, name = key.partition(":")
    match (kind, bool(colon)):
        case ("rate", False) if equals:
            times = _factor(text, value.removeprefix("x")) if value[:1] == "x" else None
            if times is None:
                raise InvalidInputError(
                    f"--set {text!r} does not say of which source",
                    f"write rate:SOURCE={value}, or rate=x2 to multiply all sources",
                )
            for job in case.jobs:
                for op in job.sources():
                    case = _multiplied(case, job, op, times)
        case ("rate", True) if name and value[:1] == "x":
            job = case.job_with(name)
            case = _multiplied(case, job, job.operator(name), _factor(text, value[1:]))
        case _ if text.startswith("rate:"):
            rate = _rate(value)
            if not name or rate is None:
                raise InvalidInputError(
                    f"--set {text!r} is not understood",
                    "write --set rate:SOURCE=RECORDS_PER_SECOND, or rate:SOURCE=x2 to "
                    "multiply what it sends",
                )
            case = case.with_job(case.job_with(name).with_source_rate(name, rate))
        case ("site", True) if value == "lost":
            return lose(case, name)
        case ("link", True) if name:
            cluster = _slower(case.cluster, name, _factor(text, value.removeprefix("x")))
            case = dataclasses.replace(case, cluster=cluster)
        case ("node+", False) if value:
            cluster = _larger(case.cluster, *value.partition("@")[::2])
            case = dataclasses.replace(case, cluster=cluster)
        case _:
            raise InvalidInputError(f"--set {text!r} is not understood", f"write {KINDS}")
    return case, ()


def _factor(text: str, figure: str) -> float:
    try:
        factor = float(figure)
    except ValueError:
        factor = -1.0
    if not 0 < factor < float("inf"):
        raise InvalidInputError(
            f"--set {text!r} is not understood: {figure!r} is no factor",
            "give a number above 0, such as 0.5; site:ID=lost takes a whole site away",
        )
    return factor


def _multiplied(case: Case, job: JobGraph, op: Operator, factor: float) -> Case:
    demand = op.cost.demand if op.cost else None
    if demand is None:
        # Of an operator with inputs, this says so.
        job.with_source_rate(op.id, 0.0)
        raise InvalidInputError(
            f"source {op.name!r} has no demand to multiply", f"give one: --set rate:{op.name}=N"
        )
    each = demand.rates_per_s
    total = sum(each) * (op.parallelism if len(each) == 1 else 1)
    return case.with_job(job.with_source_rate(op.id, factor * total))


def _slower(cluster: Cluster, name: str, factor: float) -> Cluster:
    """Return the cluster with the bandwidth of link `A-B`, or of direction `A->B`, multiplied."""
    plain = name.replace(" ", "")
    ways = [(a.source, a.target) for a in cluster.directed_links()]
    named = [
        (a, b)
        for a, b in ways
        if plain in {w.replace(" ", "") for w in (f"{a}->{b}", f"{a}-{b}", f"{b}-{a}")}
    ]
    if not named or len({frozenset(way) for way in named}) > 1:
        found = "several links are" if named else "no link is"
        raise InvalidInputError(
            f"--set link:{name}: {found} named so in the cluster",
            "write link:A-B=0.5 for both directions, link:A->B=0.5 for one; the links are "
            f"{[f'{a}->{b}' for a, b in ways][:8]}",
        )
    for a, b in named:
        cluster = with_bandwidth(cluster, a, b, lambda now: now * factor)
    return cluster


def _larger(cluster: Cluster, node_class: str, site: str) -> Cluster:
    """Return the cluster with one more node of a class, at a site or where the class is."""
    sites = sorted({n.site for n in cluster.nodes if n.node_class == node_class})
    if not site and len(sites) > 1:
        raise InvalidInputError(
            f"--set 'node+={node_class}' does not say where: nodes of this class are at {sites}",
            f"write node+={node_class}@{sites[0]}",
        )
    return with_node_like(cluster, node_class, site or (sites or [cluster.sites[0].id])[0])
