"""`JOBID.keys.json`: what the routers of a job's split aggregates report each second."""

from collections.abc import Mapping
from typing import Literal

from edgeplace.adapters.flink.plans import PlansFolder, Written, read_written


class HotKey(Written):
    """A frequent key."""

    hash: str
    """Salted anew in each JobManager, so that keys cannot be guessed from it."""
    share: float
    """Of the records."""
    workers: int


class SplitReport(Written):
    """The routers of one split aggregate, in the last second."""

    combine: str
    """Name of the combining task."""
    workers: int
    routers: int
    routers_following: int
    """Routers that use the weights in force."""
    weights: Mapping[str, tuple[float, ...]] | None = None
    """Router, from 1, or `*` for all others -> weight of each worker; None: they are even."""
    records_per_s: float
    level_records_per_s: float
    """Mean of the workers."""
    imbalance: float
    """How far the fullest worker is above its share of the records: 0.05 is 5 %."""
    fan_out: float
    """Mean number of workers of a frequent key, at one router."""
    frequent_keys: int
    frequent_share: float
    load_records_per_s: tuple[float, ...]
    """Of each worker."""
    hot: tuple[HotKey, ...]


class KeysReport(Written):
    """The file."""

    edgeplace_keys: Literal[1]
    job_id: str
    job_name: str
    shares_file: str | None = None
    """The file of weights that was judged last."""
    shares_sha256: str | None = None
    used_sha256: str | None = None
    """Of the last file that was used."""
    epoch: int = 0
    refused: tuple[str, ...] = ()
    """Why the file judged last is not used; the former weights stay."""
    splits: tuple[SplitReport, ...] = ()
    updated_ms: int = 0


def read_keys_report(folder: PlansFolder, job_id: str) -> KeysReport | None:
    """Return the report of a job; None: it has no router, or none has reported yet.

    Raises
    ------
    InvalidInputError
        If the file is not what this version of the jar writes.
    """
    return read_written(folder.path / f"{job_id}.keys.json", KeysReport, "edgeplace_keys")
