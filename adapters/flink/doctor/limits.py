"""Notes on what `doctor` cannot check; it prints them with or without problems."""

from collections.abc import Iterator

from edgeplace.adapters.flink.checks.finding import Finding, Severity
from edgeplace.adapters.flink.doctor.cluster import buffers_of, jobs_between_sites
from edgeplace.adapters.flink.doctor.credit_window import PER_CHANNEL, PER_GATE, SEGMENT_SIZE
from edgeplace.adapters.flink.doctor.job_moves import RETRIEVE_HOSTNAME, looks_up_names
from edgeplace.adapters.flink.doctor.snapshot import Seen
from edgeplace.adapters.flink.rest.metric_age import (
    ANSWERS_OPTION,
    OPTION,
    fetch_interval_s,
    most_still_s,
)
from edgeplace.model import Cluster, InvalidInputError

_LONG_STILL_S = 60.0


def limits(seen: Seen, cluster: Cluster | None) -> Iterator[Finding]:
    """Return notes on values that Flink does not give, their age, and the values used instead."""
    if any(job.graph for job in seen.jobs):
        yield Finding(
            Severity.NOTE,
            "jobs",
            "REST does not show iterations and co-location groups: plan the operators of one onto "
            "the same TaskManager",
        )
    elif seen.task_managers and looks_up_names(seen):
        yield Finding(
            Severity.NOTE,
            "host names",
            "whether the JobManager finds names for the addresses of TaskManagers is seen when a "
            "job runs",
            f"{RETRIEVE_HOSTNAME}: false on the JobManager, if no name server knows them",
        )
    yield _age_of_metrics(seen)
    if cluster is None:
        yield Finding(
            Severity.NOTE,
            "credit windows",
            "not examined: Flink knows neither sites nor links",
            "give --cluster FILE",
        )
    elif any(jobs_between_sites(seen, cluster)):
        yield Finding(Severity.NOTE, "credit windows", _origin_of_windows(seen))


def _age_of_metrics(seen: Seen) -> Finding:
    try:
        age_s = fetch_interval_s(seen.configuration)
    except InvalidInputError as e:
        return Finding(Severity.NOTE, "metrics", e.what, e.cure)
    still_s = most_still_s(seen.configuration)
    return Finding(
        Severity.NOTE,
        "metrics",
        f"REST's are up to {age_s:g} s old ({OPTION}). Flink renews none for up to {still_s:g} s "
        f"({ANSWERS_OPTION}) after a TaskManager was cut off",
        f"{ANSWERS_OPTION}: 1 min on the JobManager, if `edgeplace control` watches a job"
        if still_s > _LONG_STILL_S
        else "",
    )


def _origin_of_windows(seen: Seen) -> str:
    real = buffers_of(seen)

    def label(key: str) -> str:
        if not real.settable and key != SEGMENT_SIZE:
            return "fixed in Flink 2"
        return "configured" if key in seen.configuration else "Flink's default"

    if real.segment_bytes_of:
        measured = ", ".join(f"{n:,}" for n in sorted(set(real.segment_bytes_of.values())))
        size = f"{measured} bytes (measured)"
    else:
        size = f"{real.segment_bytes:,} bytes ({label(SEGMENT_SIZE)})"
    return (
        f"upper bounds, by {real.exclusive} buffers per channel ({label(PER_CHANNEL)}), "
        f"{real.floating} floating per gate ({label(PER_GATE)}), of {size}, unless TaskManagers "
        "are set otherwise; nine tenths were measured"
    )
