"""Checks of one file against another: names in the one that the other does not have."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from edgeplace.case.births import places_of
from edgeplace.model import (
    ANY_SITE,
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Match,
    Mistake,
    OwnData,
    Pin,
    Rules,
    SourceFactor,
    did_you_mean,
    load,
    mistake_at,
    nearest,
    some,
)

_ANYWHERE = "anywhere"


class Misfit(NamedTuple):
    """A mistake and its file."""

    file: str
    mistake: Mistake


def born_in_cluster(jobs: Mapping[str, JobGraph], cluster: Cluster) -> Iterator[Misfit]:
    """Yield the places of sources that the cluster does not have; jobs are by file."""
    names = _names_of_places(cluster)
    places = set(names)
    for file, job in jobs.items():
        for i, op in enumerate(job.operators):
            if any("*" in place for place in op.born_at):
                try:
                    places_of(op, cluster)
                except InvalidInputError as e:
                    where = ("operators", i, "born_at")
                    yield Misfit(file, mistake_at(load(file), where, file, e.what, e.cure))
                continue
            for j, place in enumerate(op.born_at):
                if place not in places and place != _ANYWHERE:
                    what = f"the cluster has no site, node or TaskManager {place!r}"
                    yield _at(
                        file, ("operators", i, "born_at", j), what, place, _names_of_places(cluster)
                    )


def names_of_jobs(jobs: Mapping[str, JobGraph]) -> Iterator[Misfit]:
    """Yield the jobs whose name another one has; jobs are by file."""
    first: dict[str, str] = {}
    for file, job in jobs.items():
        if job.name in first:
            what = f"{first[job.name]} has a job named {job.name!r} too"
            yield _misfit(file, ("name",), what, "give each job a name of its own: `name:`")
        first.setdefault(job.name, file)


def costs_of_jobs(costs: Mapping[str, Costs], jobs: Mapping[str, JobGraph]) -> Iterator[Misfit]:
    """Yield the jobs, operators and streams of costs that there are not; both are by file."""
    by_name = {job.name: job for job in jobs.values()}
    first: dict[str, str] = {}
    for file, measured in costs.items():
        alone = len(costs) == len(jobs) == 1
        job = next(iter(jobs.values())) if alone else by_name.get(measured.job)
        if job is None:
            yield _at(file, ("job",), f"there is no job {measured.job!r}", measured.job, by_name)
            continue
        if job.name in first:
            what = f"{first[job.name]} has costs of job {job.name!r} too"
            yield _misfit(file, ("job",), what, "give each job one costs file")
        first.setdefault(job.name, file)
        names = [name for op in job.operators for name in (op.name, op.id)]
        for i, cost in enumerate(measured.operators):
            yield from _operator(file, ("operators", i, "operator"), cost.operator, [job], names)
        for i, stream in enumerate(measured.streams):
            for end in ("source", "target"):
                ref = getattr(stream, end)
                yield from _operator(file, ("streams", i, end), ref, [job], names)


def rules_of_case(
    file: str, rules: Rules, jobs: Iterable[JobGraph], cluster: Cluster | None
) -> Iterator[Misfit]:
    """Yield the names of rules that neither the jobs nor the cluster have.

    Parameters
    ----------
    cluster
        None: the names of places are not checked.
    """
    known = list(jobs)
    listed = [
        *((("rules", i), rule) for i, rule in enumerate(rules.rules)),
        *((("wishes", i), wish) for i, wish in enumerate(rules.wishes)),
        *(
            (("demand", i, "sources", j), own)
            for i, period in enumerate(rules.demand)
            for j, own in enumerate(period.sources)
        ),
    ]
    for i, required in enumerate(rules.jobs):
        if required.job not in (names := [job.name for job in known]):
            what = f"there is no job {required.job!r}"
            yield _at(file, ("jobs", i, "job"), what, required.job, names)
    for at, rule in listed:
        own = [job for job in known if rule.job in ("", job.name)]
        if not own:
            what = f"there is no job {rule.job!r}"
            yield _at(file, (*at, "job"), what, rule.job, [job.name for job in known])
            continue
        names = [name for job in own for op in job.operators for name in (op.name, op.id)]
        for j, ref in enumerate(rule.operators):
            yield from _operator(file, (*at, "operators", j), ref, own, names)
        if isinstance(rule, SourceFactor):
            sources = [name for job in own for op in job.sources() for name in (op.name, op.id)]
            for j, ref in enumerate(rule.operators):
                if ref in names and ref not in sources:
                    what = f"operator {ref!r} is no source: its rate follows from the sources"
                    yield _at(file, (*at, "operators", j), what, ref, sources)
            continue
        if cluster is None:
            continue
        if isinstance(rule, Pin) and "*" in rule.to:
            try:
                cluster.places_like(rule.to)
            except InvalidInputError as e:
                yield Misfit(file, mistake_at(load(file), (*at, "to"), file, e.what, e.cure))
        elif isinstance(rule, Pin) and rule.to not in _places(cluster):
            what = f"the cluster has no site, node or TaskManager {rule.to!r}"
            yield _at(file, (*at, "to"), what, rule.to, _names_of_places(cluster))
        if isinstance(rule, OwnData):
            sites = [site.id for site in cluster.sites]
            for j, pattern in enumerate(rule.open_sites):
                if not any(fnmatchcase(site, pattern) for site in sites):
                    what = f"the cluster has no site {pattern!r}"
                    yield _at(file, (*at, "open_sites", j), what, pattern, sites)
        if isinstance(rule, Match):
            own_labels = [node.labels_and_class for node in cluster.nodes]
            labels = {key: value for of in own_labels for key, value in of.items()}
            for key, value in rule.labels.items():
                if not any(of.get(key) == value for of in own_labels):
                    what = f"no node of the cluster has the label {key}: {value}"
                    yield _at(file, (*at, "labels", key), what, key, labels)


def survived_sites(file: str, rules: Rules, cluster: Cluster) -> Iterator[Misfit]:
    """Yield the sites of `survive` that the cluster does not have."""
    sites = [site.id for site in cluster.sites]
    for i, pattern in enumerate(rules.survive):
        if pattern != ANY_SITE and not any(fnmatchcase(site, pattern) for site in sites):
            what = f"the cluster has no site {pattern!r}"
            yield _at(file, ("survive", i), what, pattern, [*sites, ANY_SITE])


def unknown_classes(
    jobs: Mapping[str, JobGraph], costs: Mapping[str, Costs], cluster: Cluster
) -> Iterator[str]:
    """Yield a note on each class of nodes that has costs, and no node in the cluster."""
    known = {node.node_class for node in cluster.nodes} | {c.id for c in cluster.node_classes}
    found: dict[tuple[str, str], None] = {}
    for file, job in jobs.items():
        for op in job.operators:
            found |= {(file, c.node_class): None for c in (op.cost.classes if op.cost else ())}
    for file, measured in costs.items():
        for cost in measured.operators:
            found |= {(file, c.node_class): None for c in cost.classes}
    for file, name in found:
        if name not in known:
            near = nearest(name, known)
            guess = f"; is it {near!r}?" if near else ""
            yield f"{file} has costs on node class {name!r}, and the cluster has none{guess}"


def _operator(
    file: str,
    where: tuple[int | str, ...],
    ref: str,
    jobs: list[JobGraph],
    names: list[str],
) -> Iterator[Misfit]:
    """Yield a misfit unless exactly one operator is meant."""
    said = []
    for job in jobs:
        try:
            job.operator(ref)
            return
        except InvalidInputError as e:
            said.append(e)
    if len(jobs) == 1 and any(op.name == ref for op in jobs[0].operators):
        # Several have the name.
        yield Misfit(file, mistake_at(load(file), where, file, said[0].what, said[0].cure))
        return
    of_jobs = some([repr(job.name) for job in jobs])
    yield _at(file, where, f"there is no operator {ref!r} in job {of_jobs}", ref, names)


def _at(
    file: str, where: tuple[int | str, ...], what: str, word: str, known: Iterable[str]
) -> Misfit:
    return _misfit(file, where, what, did_you_mean(word, known))


def _misfit(file: str, where: tuple[int | str, ...], what: str, cure: str) -> Misfit:
    """Return a misfit at an element of a file; a job may be a log or a folder, without lines."""
    data: Any = None
    with suppress(InvalidInputError):
        data = load(file)
    if not isinstance(data, dict) or where[0] not in data:
        return Misfit(file, Mistake(what, cure))
    return Misfit(file, mistake_at(data, where, file, what, cure))


def _places(cluster: Cluster) -> set[str]:
    return set(_names_of_places(cluster))


def _names_of_places(cluster: Cluster) -> list[str]:
    return [
        *(site.id for site in cluster.sites),
        *(node.id for node in cluster.nodes),
        *(tm.id for tm in cluster.task_managers),
    ]
