"""Reasons why later moves of a job fail or last long: host names, memory, local recovery."""

from collections.abc import Iterator
from ipaddress import ip_address

from edgeplace.adapters.flink.checks.finding import Finding, Severity, listed
from edgeplace.adapters.flink.checks.local_recovery import is_on, lines
from edgeplace.adapters.flink.doctor.snapshot import Seen

RETRIEVE_HOSTNAME = "jobmanager.retrieve-taskmanager-hostname"
OFF_HEAP = "taskmanager.memory.framework.off-heap.size"
_DEFAULT_OFF_HEAP_BYTES = 128 * 2**20
"""Of `OFF_HEAP`, in Flink 1.10 to 2.3."""


def check_host_names(seen: Seen) -> Iterator[Finding]:
    """Tell whether the JobManager finds no names for the addresses of TaskManagers.

    When a TaskManager offers its slots, the JobManager asks for its name. Where no name server
    answers, that takes 5 s a TaskManager, and slots that wait meanwhile time out.
    """
    if not looks_up_names(seen):
        return
    nameless = sorted(
        {tm for job in seen.jobs for tm, host in job.hosts.items() if _is_address(host)}
    )
    if nameless:
        yield Finding(
            Severity.WARNING,
            "host names",
            f"the JobManager finds no name for the addresses of {listed(nameless)}: where no name "
            "server answers, it waits 5 s for each, and a first move fails, since slots time out "
            "meanwhile (taskmanager.slot.timeout)",
            f"{RETRIEVE_HOSTNAME}: false on the JobManager, or teach the name server these "
            "addresses",
        )


def looks_up_names(seen: Seen) -> bool:
    """Return whether the JobManager asks for the names of TaskManagers' addresses."""
    return seen.configuration.get(RETRIEVE_HOSTNAME, "true").strip().lower() != "false"


def check_direct_memory(seen: Seen) -> Iterator[Finding]:
    """Tell whether TaskManagers have less direct memory than Flink's default.

    Each deployment opens connections anew, and Netty's pools of 4 MiB grow with them. With 48 MB
    and 8 slots a TaskManager ran out of direct memory after some 15 moves and left the cluster;
    with the default it did not.
    """
    small = {
        tm.id: tm.off_heap_bytes
        for tm in seen.task_managers
        if tm.off_heap_bytes is not None and tm.off_heap_bytes < _DEFAULT_OFF_HEAP_BYTES
    }
    if small:
        sizes = [f"{tm} ({size / 2**20:.0f} MiB)" for tm, size in sorted(small.items())]
        yield Finding(
            Severity.WARNING,
            "direct memory",
            "less direct memory beside the network buffers than Flink's default of 128 MiB: "
            f"{listed(sizes)}; after many moves it may run out (`Cannot reserve ... bytes of "
            "direct buffer memory`), and the TaskManager leaves the cluster",
            f"{OFF_HEAP}: 128m on these TaskManagers, and as much more in "
            "taskmanager.memory.process.size",
        )


def check_local_recovery(seen: Seen) -> Iterator[Finding]:
    """Tell whether a move reads back all state of a job, or only that of subtasks that move."""
    if not seen.jobs:
        return
    if is_on(seen.configuration):
        yield Finding(
            Severity.OK,
            "local recovery",
            "a move reads back only the state of the subtasks that move",
        )
        return
    yield Finding(
        Severity.NOTE,
        "local recovery",
        "it is off: every move reads all keyed state of the job back from the checkpoint storage, "
        "also that of subtasks that stay where they are",
        "if state is large or links are slow, write into the configuration of the JobManager and "
        f"of all TaskManagers, and restart them: {' and '.join(lines(seen.release))}. It takes "
        "disk space for a second copy of the state",
    )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
