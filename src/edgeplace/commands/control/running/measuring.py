"""Measuring the loop's own log from time to time: closed segments go to a ledger, costs come of it.

`edgeplace costs` does it, in a process of lower priority that ends with the batch, so that the loop
itself stays small.
"""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from edgeplace.adapters.flink.collect import LogFolder
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.control.loop.events import LogMeasured
from edgeplace.model import Costs, EdgeplaceError, read

COSTS, LEDGER = "costs.json", "ledger"
"""In the folder of the loop."""
_WINDOW = "1d"
"""A day has all its rates."""
_NICENESS = 19
_LONGEST_S = 1800.0
_SAID = 200


class Measuring:
    """At most one batch at a time.

    Parameters
    ----------
    folder
        Of the loop: gets the ledger and the costs.
    cluster
        Cluster file.
    every_s
        Seconds between batches; None: never.
    """

    def __init__(self, folder: Path, cluster: Path, every_s: float | None) -> None:
        self._folder = folder
        self.cluster = cluster
        self.every_s = every_s
        self._next_s = time.monotonic() + (every_s or 0.0)
        self._added: set[Path] = set()
        self._batch: tuple[subprocess.Popen[bytes], float, tuple[Path, ...]] | None = None

    @property
    def costs(self) -> Path:
        """The file with the costs."""
        return self._folder / COSTS

    @property
    def _log(self) -> Path:
        return self._folder / "measuring.log"

    @property
    def _draft(self) -> Path:
        return self._folder / f"draft-{COSTS}"

    def begin(self, log: LogFolder) -> None:
        """Begin a batch if it is time, and there are segments that no batch has added yet."""
        if self.every_s is None or self._batch or time.monotonic() < self._next_s:
            return
        new = tuple(path for path in log.closed() if path not in self._added)
        if not new:
            return
        self._next_s = time.monotonic() + self.every_s
        self._draft.unlink(missing_ok=True)
        command = [sys.executable, "-m", "edgeplace", "costs", *map(str, new)]
        command += ["--ledger", str(self._folder / LEDGER), "--cluster", str(self.cluster)]
        command += ["--last", _WINDOW, "-o", str(self._draft)]
        with self._log.open("wb") as told:
            batch = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.STDOUT
            )
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, batch.pid, _NICENESS)
        self._batch = batch, time.monotonic(), new

    def ended(self, at_s: float) -> LogMeasured | None:
        """Return what came of a batch that is over; each is returned once."""
        if self._batch is None:
            return None
        batch, began_s, new = self._batch
        took_s = time.monotonic() - began_s
        if batch.poll() is None and took_s < _LONGEST_S:
            return None
        self.close()
        try:
            if batch.returncode == ExitStatus.OK:
                age_s = self._take()
                self._added.update(new)
                return LogMeasured(
                    at_s=at_s, segments=len(new), took_s=round(took_s, 1), costs_age_s=age_s
                )
            problem = self._said(batch.returncode)
        except (EdgeplaceError, OSError) as e:
            problem = str(e)
        return LogMeasured(at_s=at_s, problem=problem[:_SAID])

    def _take(self) -> float | None:
        """Put the new costs in place of those before; return their age."""
        costs = read(self._draft, Costs)
        self._draft.replace(self.costs)
        return None if costs.to_ms is None else round(max(0.0, time.time() - costs.to_ms / 1000), 1)

    def _said(self, code: int | None) -> str:
        """Return the last line that the command said."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        told = lines[-1] if lines else "it said nothing"
        if code is None or code < 0:
            return f"edgeplace costs was ended after {_LONGEST_S / 60:.0f} minutes: {told}"
        return f"edgeplace costs ended with {code}: {told}"

    def close(self) -> None:
        """End the batch that runs."""
        batch, self._batch = self._batch, None
        if batch is not None and batch[0].poll() is None:
            batch[0].terminate()
            with suppress(subprocess.TimeoutExpired):
                batch[0].wait(5.0)
                return
            batch[0].kill()
            batch[0].wait()
