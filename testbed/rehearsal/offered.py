"""What is offered to the sources: a log that waits for whoever does not take it."""

import time
from bisect import bisect_right
from pathlib import Path


class OfferedLog:
    """The rate of each source subtask over time; `Offered.java` reads the file.

    Parameters
    ----------
    file
        Written anew with each change.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at_s: list[float] = []
        self._rates: list[float] = []
        self._sums: list[float] = []

    def set(self, per_s: float) -> None:
        """Offer so many records per second from now on."""
        now_s = round(time.time(), 3)
        self._sums.append(self.until(now_s))
        self._rates.append(per_s)
        # Last: another thread looks here for what there is.
        self._at_s.append(now_s)
        draft = self._file.with_suffix(".draft")
        lines = zip(self._at_s, self._rates, strict=True)
        draft.write_text("".join(f"{round(t * 1000)} {rate:.6f}\n" for t, rate in lines))
        draft.rename(self._file)

    def rate(self, at_s: float) -> float:
        """Return the rate at a Unix time."""
        i = bisect_right(self._at_s, at_s) - 1
        return self._rates[i] if i >= 0 else 0.0

    def until(self, at_s: float) -> float:
        """Return the records offered until a Unix time."""
        i = bisect_right(self._at_s, at_s) - 1
        return self._sums[i] + (at_s - self._at_s[i]) * self._rates[i] if i >= 0 else 0.0
