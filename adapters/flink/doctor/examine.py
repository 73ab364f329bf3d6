"""Examine a Flink cluster: the agent, and everything that prevents placement."""

from edgeplace.adapters.flink.checks.finding import Finding, Severity
from edgeplace.adapters.flink.doctor.agent import (
    check_agent,
    check_agent_line,
    check_high_availability,
    check_release,
    check_scheduler,
)
from edgeplace.adapters.flink.doctor.cluster import (
    check_cluster_file,
    check_credit_windows,
    check_slots,
    check_task_managers,
)
from edgeplace.adapters.flink.doctor.job_moves import (
    check_direct_memory,
    check_host_names,
    check_local_recovery,
)
from edgeplace.adapters.flink.doctor.jobs import (
    check_checkpoints,
    check_cordons,
    check_drains,
    check_jobs,
    check_named_task_managers,
    check_names,
    check_plans,
    check_unplanned,
)
from edgeplace.adapters.flink.doctor.kubernetes import check_autoscaler, check_native_mode
from edgeplace.adapters.flink.doctor.limits import limits
from edgeplace.adapters.flink.doctor.snapshot import Seen, look
from edgeplace.model import Cluster

__all__ = ["Finding", "Seen", "Severity", "examine", "look"]


def examine(seen: Seen, *, version: str, cluster: Cluster | None = None) -> tuple[Finding, ...]:
    """Return what all checks find, the worst first; what no check can see comes last.

    Parameters
    ----------
    seen
        What `look` returned.
    version
        Version of edgeplace, which the agent's should be.
    cluster
        Sites, links and cores, which Flink does not know; None: what needs them is left out.
    """
    found = [
        *check_agent(seen, version),
        *check_agent_line(seen),
        *check_release(seen),
        *check_scheduler(seen),
        *check_high_availability(seen),
        *check_native_mode(seen),
        *check_autoscaler(seen),
        *check_task_managers(seen),
        *check_slots(seen, cluster),
        *check_jobs(seen),
        *check_plans(seen),
        *check_drains(seen),
        *check_cordons(seen),
        *check_unplanned(seen),
        *check_named_task_managers(seen),
        *check_names(seen),
        *check_checkpoints(seen),
        *check_host_names(seen),
        *check_direct_memory(seen),
        *check_local_recovery(seen),
    ]
    if cluster is not None:
        found += [*check_cluster_file(seen, cluster), *check_credit_windows(seen, cluster)]
    order = list(Severity)
    found.sort(key=lambda f: order.index(f.severity))
    return (*found, *limits(seen, cluster))
