"""The jobs that the testbed offers, and their properties for the headline experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.flink.job_jar import compile_own_jobs

_PACKAGE = "testbed.jobs"
_REFERENCE = "Reference"


@dataclass(frozen=True)
class Workload:
    """One job with the arguments that make it a workload.

    Parameters
    ----------
    name
        Short, for tables and file names.
    main_class
        Its class in the jar of `compile_workloads`, with the package.
    source_vertices
        First words of the names of the job vertices that are pinned to the edge. They have one
        subtask for each site: as many as the argument ``sources`` says.
    arguments
        Arguments that differ from the defaults, key -> value; ``jobs/README.md`` describes them.
    """

    name: str
    main_class: str
    source_vertices: tuple[str, ...]
    arguments: Mapping[str, str] = field(default_factory=dict)


def _workload(name: str, job: str, source: str, **arguments: str) -> Workload:
    return Workload(name, f"{_PACKAGE}.{job}", (f"Source: {source}",), arguments)


HEADLINE: tuple[Workload, ...] = (
    _workload("selective-filter", "SelectiveFilter", "readings"),
    _workload("shrinking", "ShrinkingPipeline", "images"),
    _workload("q1-map", "NexmarkQ1", "bids"),
    _workload("q3-join", "NexmarkQ3", "events"),
    _workload("word-count", "WordCount", "sentences"),
    _workload("q2-filter", "NexmarkQ2", "bids"),
    _workload("t-digest", "TDigest", "measurements"),
    _workload("sql-two-phase", "SqlTwoPhase", "bids"),
    _workload("q5-hot-items", "NexmarkQ5", "bids"),
    _workload("q8-window-join", "NexmarkQ8", "events"),
    _workload("q11-sessions", "NexmarkQ11", "bids"),
)
"""Those whose results docs/testbed.md has."""

RIOT: tuple[Workload, ...] = (
    _workload("riot-etl", "Riot", "messages", queries="etl"),
    _workload("riot-stats", "Riot", "messages", queries="stats"),
    _workload("riot-predict", "Riot", "messages", queries="predict"),
    _workload("riot-train", "Riot", "messages", queries="train"),
)
"""Four queries that read the same messages, each in a job of its own."""

WORKLOADS: tuple[Workload, ...] = (
    *HEADLINE,
    _workload("psm", "Psm", "events"),
    _workload("dsop", "Dsop", "lines"),
    *RIOT,
    _workload("riot-all", "Riot", "messages", relayed="etl,stats,predict,train"),
)


def compile_workloads(home: Path, scratch: Path) -> Path:
    """Return one jar with all `WORKLOADS` and ``Reference``, which knows their results.

    Parameters, errors
        As for `testbed.flink.job_jar.compile_own_jobs`.
    """
    jobs = {each.main_class.removeprefix(f"{_PACKAGE}."): None for each in WORKLOADS}
    return compile_own_jobs([*jobs, _REFERENCE], home, scratch)
