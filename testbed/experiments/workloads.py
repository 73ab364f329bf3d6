"""The jobs of the headline experiment, and their properties for the experiment."""

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


def _workload(name: str, job: str, source: str) -> Workload:
    return Workload(name, f"{_PACKAGE}.{job}", (f"Source: {source}",))


WORKLOADS: tuple[Workload, ...] = (
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


def compile_workloads(home: Path, scratch: Path) -> Path:
    """Return one jar with all `WORKLOADS` and ``Reference``, which knows their results.

    Parameters, errors
        As for `testbed.flink.job_jar.compile_own_jobs`.
    """
    jobs = [each.main_class.removeprefix(f"{_PACKAGE}.") for each in WORKLOADS]
    return compile_own_jobs([*jobs, _REFERENCE], home, scratch)
