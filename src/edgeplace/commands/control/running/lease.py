"""Who leads a job where several hosts share its folder of plans: a file there, with an epoch.

The file keeps a second loop from starting. What fences the first one off, should it come to life
again, is the agent: it refuses plans whose epoch is lower than one that it has seen.
"""

import contextlib
import json
import time
from dataclasses import dataclass

from edgeplace.adapters.flink.plans import PlansFolder, key
from edgeplace.control.loop.journal_file import NotLeaderError
from edgeplace.model import output

EXPIRES_S = 120.0
"""A leader that was not heard of for longer leads no more."""
_LARGEST_BYTES = 10_000


@dataclass(frozen=True)
class _Held:
    epoch: int = 0
    by: str = ""
    expires_s: float = 0.0


class Lease:
    """The right of one loop to change a job.

    Parameters
    ----------
    by
        This loop, as others are told.
    """

    def __init__(self, folder: PlansFolder, job: str, by: str) -> None:
        self._path = folder.path / f"{key(job)}.leader.json"
        self._folder = folder
        self._by = by
        self.epoch = 0

    def take(self, above: int) -> int:
        """Take the lease, and return its epoch, which is above any before and above the given one.

        Raises
        ------
        NotLeaderError
            If another loop holds it.
        PlanNotWrittenError
            If another command is at work there, or the folder may not be written to.
        """
        with self._folder.locked():
            held = self._read()
            if held.by not in ("", self._by) and held.expires_s > time.time():
                raise NotLeaderError(
                    f"{self._path}: {held.by} leads here",
                    f"end it, or wait {held.expires_s - time.time():.0f} s if it has died",
                )
            self.epoch = max(held.epoch, above) + 1
            self._write(time.time() + EXPIRES_S)
        return self.epoch

    def renew(self) -> None:
        """Hold the lease for longer.

        Raises
        ------
        NotLeaderError
            If another loop has taken it meanwhile.
        """
        held = self._read()
        if held.epoch > self.epoch:
            raise NotLeaderError(
                f"{self._path}: {held.by} has taken over with epoch {held.epoch}",
                "only one loop may lead: end the others, then start this one again",
            )
        if held.expires_s < time.time() + EXPIRES_S / 2:
            # A folder that is away for a while is no reason to stop watching.
            with contextlib.suppress(OSError):
                self._write(time.time() + EXPIRES_S)

    def leave(self) -> None:
        """Let others lead at once."""
        if self._read().epoch == self.epoch:
            with contextlib.suppress(OSError):
                self._write(0.0)

    def _read(self) -> _Held:
        try:
            entry = json.loads(self._path.read_bytes()[:_LARGEST_BYTES])
            return _Held(int(entry["epoch"]), str(entry["by"]), float(entry["expires_s"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _Held()

    def _write(self, expires_s: float) -> None:
        entry = {"epoch": self.epoch, "by": self._by, "expires_s": round(expires_s, 3)}
        staged = output.stage([json.dumps(entry).encode()], self._path.parent, ".leader-", 0o644)
        output.put(staged, self._path)
