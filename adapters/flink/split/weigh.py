"""Write weights for a running job, and wait until its routers use them."""

import time
from dataclasses import dataclass
from pathlib import Path

from edgeplace.adapters.flink.plans import PlansFolder
from edgeplace.adapters.flink.plans.folder import sha256
from edgeplace.adapters.flink.split.keys_report import KeysReport, read_keys_report
from edgeplace.adapters.flink.split.shares import Shares

_POLL_S = 0.1


@dataclass(frozen=True)
class Weighed:
    """What came of weights that were written.

    Parameters
    ----------
    followed
        Whether every router was seen to use them.
    reasons
        Why not.
    report
        The routers' last report, if there was one.
    """

    followed: bool
    reasons: tuple[str, ...]
    report: KeysReport | None


def shares_path(folder: PlansFolder, key: str) -> Path:
    """Return the path of the weights under a key (job id or encoded name)."""
    return folder.path / f"{key}.shares"


def weigh(folder: PlansFolder, key: str, job_id: str, shares: Shares, timeout_s: float) -> Weighed:
    """Write weights and wait until all routers of the tasks named use them.

    Where they are refused, the file that was there before is there again: a job that starts anew
    reads it.

    Raises
    ------
    InvalidInputError
        If the weights cannot be written down, or a report is no report.
    PlanNotWrittenError
        If the folder cannot be written to: the former file stays.
    """
    text, path = shares.text(), shares_path(folder, key)
    former = folder.read(path)
    folder.put(folder.stage(text), path)
    wanted = sha256(text)
    deadline = time.monotonic() + timeout_s
    while True:
        report = read_keys_report(folder, job_id)
        if report is not None and report.shares_sha256 == wanted:
            if report.refused:
                _put_back(folder, path, former)
                return Weighed(False, report.refused, report)
            named = [split for split in report.splits if split.combine in shares.tasks]
            if named and all(each.routers_following == each.routers for each in named):
                return Weighed(True, (), report)
        if time.monotonic() > deadline:
            return Weighed(False, (_silence(report, wanted, timeout_s),), report)
        time.sleep(_POLL_S)


def _put_back(folder: PlansFolder, path: Path, former: str | None) -> None:
    if former is None:
        folder.remove(path)
    else:
        folder.put(folder.stage(former), path)


def _silence(report: KeysReport | None, wanted: str, waited_s: float) -> str:
    if report is None:
        return f"no router of the job has reported within {waited_s:.0f} s: has it spread(n)?"
    if report.shares_sha256 != wanted:
        return f"the routers' coordinator has not read the file within {waited_s:.0f} s"
    return f"not every router uses the weights after {waited_s:.0f} s"
