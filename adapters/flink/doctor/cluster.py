"""TaskManagers and the network: ids, slots, cores, and credit windows below their links."""

from collections.abc import Iterator, Mapping, Sequence

from edgeplace.adapters.flink.checks.finding import Finding, Severity, listed
from edgeplace.adapters.flink.doctor.credit_window import (
    PER_CHANNEL,
    PER_GATE,
    SEGMENT_SIZE,
    Buffers,
    Crossing,
    buffers,
    crossings,
)
from edgeplace.adapters.flink.doctor.snapshot import Seen, SeenTaskManager
from edgeplace.adapters.flink.rest.task_managers import is_generated, names_of
from edgeplace.model import Cluster, InvalidInputError


def check_task_managers(seen: Seen) -> Iterator[Finding]:
    """Tell whether TaskManagers can be named in plans that outlive their restart."""
    if not seen.task_managers:
        yield Finding(
            Severity.PROBLEM if seen.jobs else Severity.WARNING,
            "TaskManagers",
            "no TaskManager is registered",
            "wait a minute if the JobManager was restarted just now, else start them; if they run, "
            "see their logs for why they do not find the JobManager",
        )
        return
    alone: list[str] = []
    nameless = False
    for host, tms in _by_host(seen).items():
        generated = [tm.id for tm in tms if is_generated(tm.id)]
        if len(tms) == 1:
            alone += generated
        elif generated:
            nameless = True
            yield Finding(
                Severity.WARNING,
                "TaskManagers",
                f"{len(tms)} TaskManagers share host {host}, and {listed(generated)} have "
                "generated ids: plans that name them break when they restart",
                "set taskmanager.resource-id on each, a name of its own that stays",
            )
    if alone:
        yield Finding(
            Severity.WARNING,
            "TaskManagers",
            f"Flink makes up an id at each start for {len(alone)} of {len(seen.task_managers)} "
            f"TaskManagers ({listed(alone)}): plans have to name their hosts",
            "set taskmanager.resource-id on each to name them",
        )
    if not alone and not nameless:
        yield Finding(
            Severity.OK,
            "TaskManagers",
            f"{len(seen.task_managers)} are registered, each with a fixed name",
        )


def check_slots(seen: Seen, cluster: Cluster | None) -> Iterator[Finding]:
    """Compare slots with the cores there are to serve them."""
    if cluster is None:
        machines = [
            (
                _machine(host, tms),
                sum(tm.slots for tm in tms),
                float(min(tm.cores or 0 for tm in tms)),
            )
            for host, tms in _by_host(seen).items()
        ]
    else:
        slots = {tm.id: tm.slots for tm in seen.task_managers}
        at = dict.fromkeys((n.id for n in cluster.nodes), 0)
        mine = {t.id: t for t in cluster.task_managers}
        for rid, name in _names(seen, cluster).items():
            at[mine[name].node] += slots.get(rid, 0)
        machines = [(n.id, at[n.id], n.cores) for n in cluster.nodes if at[n.id]]
    over: dict[tuple[int, float], list[str]] = {}
    for machine, slots_there, cores in machines:
        if 0 < cores < slots_there:
            over.setdefault((slots_there, cores), []).append(machine)
    for (slots_there, cores), alike in over.items():
        each = "each have" if len(alike) > 1 else "has"
        yield Finding(
            Severity.WARNING,
            "slots and cores",
            f"{listed(alike)} {each} {slots_there} slots on {cores:g} cores: that many busy "
            "subtasks share them",
            "fine if few are busy at once (`edgeplace solve` counts cores, stock Flink only "
            "slots); else lower taskmanager.numberOfTaskSlots",
        )
    if machines and not over and all(m[2] for m in machines):
        yield Finding(Severity.OK, "slots and cores", "no machine has more slots than cores")


def _by_host(seen: Seen) -> dict[str, list[SeenTaskManager]]:
    found: dict[str, list[SeenTaskManager]] = {}
    for tm in seen.task_managers:
        found.setdefault(tm.host, []).append(tm)
    return found


def _machine(host: str, tms: Sequence[SeenTaskManager]) -> str:
    """Return what a machine is called: as plans name its only TaskManager, else by its host."""
    if len(tms) == 1 and not is_generated(tms[0].id):
        return tms[0].id
    return f"host {host}"


def check_cluster_file(seen: Seen, cluster: Cluster) -> Iterator[Finding]:
    """Compare the cluster file with the TaskManagers and buffers that there are."""
    used = {t.node for t in cluster.task_managers}
    if idle := [n.id for n in cluster.nodes if n.id not in used]:
        yield Finding(
            Severity.WARNING,
            "cluster file",
            f"it has nodes without a TaskManager: {listed(idle)}",
            "start one on each (Kubernetes: do taints, tolerations and labels fit?), or take them "
            "out",
        )
    try:
        names = names_of(seen.registered, cluster)
    except InvalidInputError as e:
        if seen.task_managers:
            what = e.what.replace(":\n  ", ": ").replace("\n  ", "; ")
            yield Finding(Severity.PROBLEM, "cluster file", what, e.cure)
        return
    gone = [t.id for t in cluster.task_managers if t.id not in names.values()]
    if gone:
        yield Finding(
            Severity.WARNING,
            "cluster file",
            f"it has TaskManagers that are not registered: {', '.join(gone)}",
            "start them, or take them out: plans would name them",
        )
    stated = {t.id: t.slots for t in cluster.task_managers}
    other: dict[tuple[int, int], list[str]] = {}
    for tm in seen.task_managers:
        if tm.id in names and stated[names[tm.id]] != tm.slots:
            other.setdefault((stated[names[tm.id]], tm.slots), []).append(names[tm.id])
    for (in_it, there), alike in other.items():
        each = "each have" if len(alike) > 1 else "has"
        yield Finding(
            Severity.WARNING,
            "cluster file",
            f"{listed(alike)} {each} {in_it} slots in it and {there} in Flink",
            f"write slots: {there}",
        )
    real = buffers_of(seen)
    sizes = set((real.segment_bytes_of or {}).values()) or {real.segment_bytes}
    for field, in_file, in_flink in (
        ("buffers_per_channel", cluster.buffers_per_channel, {real.exclusive}),
        ("floating_buffers_per_gate", cluster.floating_buffers_per_gate, {real.floating}),
        ("buffer_bytes", cluster.buffer_bytes, sizes),
    ):
        if in_file not in in_flink:
            right = max(in_flink)
            yield Finding(
                Severity.WARNING,
                "cluster file",
                f"{field} is {in_file} in it and {right} in Flink: `edgeplace solve` takes credit "
                "windows to be other than they are",
                f"write {field}: {right}",
            )


def check_credit_windows(seen: Seen, cluster: Cluster) -> Iterator[Finding]:
    """Tell which links the running jobs cannot fill, and the settings that would let them."""
    real = buffers_of(seen)
    between_sites = list(jobs_between_sites(seen, cluster))
    narrow = [(job, c) for job, c in between_sites if c.missing_window_factor > 1]
    yield from (_too_narrow(job, crossing, real) for job, crossing in narrow)
    if between_sites and not narrow:
        yield Finding(
            Severity.OK,
            "credit windows",
            "the channels of each job between sites can fill their link",
        )


def jobs_between_sites(seen: Seen, cluster: Cluster) -> Iterator[tuple[str, Crossing]]:
    """Yield the name of each running job with its channels from one site to another."""
    site_of_node = {n.id: n.site for n in cluster.nodes}
    site_of_mine = {t.id: site_of_node[t.node] for t in cluster.task_managers}
    site_of = {rid: site_of_mine[name] for rid, name in _names(seen, cluster).items()}
    for job in seen.jobs:
        if job.graph is not None:
            for crossing in crossings(job.graph, job.places, site_of, cluster, buffers_of(seen)):
                yield job.name, crossing


def buffers_of(seen: Seen) -> Buffers:
    """Return the network buffers of the TaskManagers, as far as REST tells."""
    measured = {tm.id: tm.segment_bytes for tm in seen.task_managers if tm.segment_bytes}
    return buffers(seen.release, seen.configuration, measured)


def _too_narrow(job: str, crossing: Crossing, real: Buffers) -> Finding:
    what = (
        f"{job!r}: {crossing.channels} channels {crossing.source} -> {crossing.target} carry at "
        f"most {_kb(crossing.room_bytes_per_s)}/s in all, the link "
        f"{_kb(crossing.bandwidth_bytes_per_s)}/s: {_kb(crossing.window_bytes)} of buffers in "
        f"{crossing.round_trip_ms:g} ms of round trip"
    )
    if real.settable:
        count = crossing.exclusive_to_fill()
        more = (count - real.exclusive) * crossing.segment_bytes
        cure = (
            f"{PER_CHANNEL}: {count} on the TaskManagers at {crossing.target} "
            f"(keep {PER_GATE}: {real.floating} and the segment size); takes {_kb(more)} more "
            "network memory for each channel into them"
        )
    else:
        size = crossing.segment_bytes_to_fill()
        times = size / crossing.segment_bytes
        cure = (
            f"{SEGMENT_SIZE}: {size} on all TaskManagers (Flink 2 fixes the numbers of buffers to "
            f"{real.exclusive} a channel and {real.floating} a gate), and {times:g} times the "
            "network memory: taskmanager.memory.network.min and .max, or .fraction"
        )
    return Finding(
        Severity.WARNING,
        "credit windows",
        what,
        f"if the job is to send that much: {cure}. Or raise the parallelism: windows add up",
    )


def _kb(count: float) -> str:
    return f"{count / 1000:,.0f} kB"


def _names(seen: Seen, cluster: Cluster) -> Mapping[str, str]:
    try:
        return names_of(seen.registered, cluster)
    except InvalidInputError:
        # `check_cluster_file` tells.
        return {}
