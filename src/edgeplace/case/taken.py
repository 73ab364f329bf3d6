"""The resources of a cluster that other running jobs leave free."""

from collections import Counter
from collections.abc import Mapping, Sequence

from edgeplace.cli.quantities import count, counted
from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobUse,
    Plan,
    RateUnit,
    first_few,
    without_use,
)


def left_by(
    others: Sequence[tuple[str, Plan]], cluster: Cluster, own: Sequence[str]
) -> tuple[Cluster, tuple[str, ...]]:
    """Return the cluster without the resources that the jobs of some plans use, and notes.

    Parameters
    ----------
    others
        Files and the plans in them. A job in a later file replaces that of an earlier one.
    own
        Jobs that are to be placed: what plans say of them holds nothing.

    Raises
    ------
    InvalidInputError
        If a plan names places that the cluster does not have.
    """
    uses: dict[str, JobUse] = {}
    unknown: dict[str, None] = {}
    for path, plan in others:
        for job, places in plan.jobs.items():
            if job in own:
                continue
            unknown.pop(job, None)
            if job in plan.uses:
                uses[job] = plan.uses[job]
            else:
                uses[job] = JobUse(slots=_slots(places))
                unknown[job] = None
            _check(uses[job], cluster, job, path)
    if not uses:
        return cluster, ()
    held = _holds(uses, cluster.rates_in)
    notes = [f"{_names(uses)} {held}; the limits here are what that leaves"]
    if unknown:
        notes.append(
            f"the plan of {_names(unknown)} does not say which cores, memory and links the job "
            "takes: only its slots are counted, as of one slot sharing group; `edgeplace solve -o` "
            "writes plans that say it"
        )
    return without_use(cluster, tuple(uses.values())), tuple(notes)


def _slots(places: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return the slots that operators of one sharing group take: as many as the largest there."""
    most: dict[str, int] = {}
    for tms in places.values():
        for tm, n in Counter(tms).items():
            most[tm] = max(n, most.get(tm, 0))
    return most


def _check(use: JobUse, cluster: Cluster, job: str, path: str) -> None:
    task_managers = {t.id for t in cluster.task_managers}
    links = {(a.source, a.target) for a in cluster.directed_links()}
    strange = [
        *(f"TaskManager {t!r}" for t in use.slots if t not in task_managers),
        *(f"node {n!r}" for n in use.cores if n not in {n.id for n in cluster.nodes}),
        *(
            f"link {a} -> {b}"
            for a, ends in use.bytes_per_s.items()
            for b in ends
            if (a, b) not in links
        ),
    ]
    if strange:
        raise InvalidInputError(
            f"--taken {path}: job {job!r} runs where the cluster has nothing: "
            + first_few(strange, 4),
            "give the cluster that the plan was made for",
        )


def _holds(uses: Mapping[str, JobUse], rates: RateUnit) -> str:
    slots = sum(n for use in uses.values() for n in use.slots.values())
    machines = {t for use in uses.values() for t in use.slots}
    cores = sum(n for use in uses.values() for n in use.cores.values())
    sent = sum(
        b for use in uses.values() for ends in use.bytes_per_s.values() for b in ends.values()
    )
    return (
        f"{'hold' if len(uses) > 1 else 'holds'} {counted(slots, 'slots')} of "
        f"{count(len(machines))} TaskManagers, {counted(cores, 'cores')} and {rates.text(sent)} "
        "of links"
    )


def _names(jobs: Mapping[str, object]) -> str:
    return first_few([repr(job) for job in jobs], 4)
