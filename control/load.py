"""The load of a job: the records per second that all its sources are offered, for each second."""

import csv
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from edgeplace.model import InvalidInputError
from edgeplace.solver.arrays import Floats

DAY_S = 86_400
_LARGEST_FILE_BYTES = 200_000_000
_LONGEST_S = 400 * DAY_S


@dataclass(frozen=True)
class Load:
    """The offered rate of all sources together.

    Parameters
    ----------
    name
        Name of the load in tables.
    rates_per_s
        Shape (seconds,): records per second in each second.
    day_s
        Seconds after which the load is expected to repeat.
    """

    name: str
    rates_per_s: Floats
    day_s: int = DAY_S

    def __post_init__(self) -> None:
        rates = self.rates_per_s
        if rates.ndim != 1 or not len(rates) or not np.isfinite(rates).all() or rates.min() < 0:
            raise InvalidInputError(
                f"load {self.name!r} is not a list of rates",
                "give at least one rate for each second, finite and not negative",
            )

    @property
    def days(self) -> float:
        """Length of the load in days of `day_s`."""
        return len(self.rates_per_s) / self.day_s

    def first(self, days: float) -> "Load":
        """Return the load's first days.

        Raises
        ------
        InvalidInputError
            If the load is shorter, or if the days are less than a second.
        """
        seconds = round(days * self.day_s)
        if not 1 <= seconds <= len(self.rates_per_s):
            raise InvalidInputError(
                f"load {self.name!r} lasts {self.days:g} days, {days:g} are asked for",
                f"ask for at most {self.days:g}",
            )
        return Load(self.name, self.rates_per_s[:seconds], self.day_s)

    def scaled_to(self, peak_per_s: float) -> "Load":
        """Return the load with all rates multiplied so that the largest is `peak_per_s`."""
        peak = float(self.rates_per_s.max())
        if not peak:
            raise InvalidInputError(
                f"load {self.name!r} is zero all the time", "give a load with records"
            )
        return Load(self.name, self.rates_per_s * (peak_per_s / peak), self.day_s)


def read_load(path: Path, day_s: int = DAY_S) -> Load:
    """Read a load from a text file of two columns: time, and records per second.

    Columns are separated by a comma, a semicolon, a bar or a tab; a first line without figures is a
    heading. Times are seconds or ISO 8601; between two of them the rate is interpolated.

    Raises
    ------
    InvalidInputError
        With the line, if a time or a rate cannot be read, times do not ascend, or nothing is there.
    """
    times, rates = _columns(path)
    start, end = times[0], times[-1]
    if end - start > _LONGEST_S:
        raise InvalidInputError(
            f"{path}: the load lasts {(end - start) / DAY_S:,.0f} days",
            f"cut it to at most {_LONGEST_S // DAY_S}; are the times milliseconds?",
        )
    seconds = np.arange(round(end - start) + 1, dtype=np.float64)
    return Load(path.name, np.interp(seconds, np.array(times) - start, rates), day_s)


def _columns(path: Path) -> tuple[list[float], list[float]]:
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            raise InvalidInputError(
                f"{path} has more than {_LARGEST_FILE_BYTES // 1_000_000} MB",
                "thin it out: one rate a minute is enough",
            )
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as e:
        raise InvalidInputError(f"{path} is not UTF-8", "save it as UTF-8 text") from e
    except OSError as e:
        raise InvalidInputError(
            f"cannot read {path}: {e.strerror or e}", "name a file that can be read"
        ) from e
    lines = text.splitlines()
    separator = next((s for s in "|;\t," if lines and s in lines[0]), ",")
    rows = [
        (number, row)
        for number, row in enumerate(csv.reader(lines, delimiter=separator), start=1)
        if row and row != [""]
    ]
    if rows and _time(rows[0][1][0]) is None and _figure(rows[0][1][-1]) is None:
        rows = rows[1:]
    if not rows:
        raise InvalidInputError(f"{path} holds no rates", "write a line `time,rate` for each")
    times, rates = [], []
    for number, row in rows:
        time = _time(row[0]) if len(row) == 2 else None
        rate = _figure(row[1]) if len(row) == 2 else None
        if time is None or rate is None or rate < 0:
            raise InvalidInputError(
                f"{path}:{number}: {separator.join(row)[:100]!r} is not a time and a rate",
                "write seconds or an ISO 8601 time, the separator, and a rate of 0 or more",
            )
        times.append(time)
        rates.append(rate)
    for i, (before, after) in enumerate(pairwise(times)):
        if after <= before:
            raise InvalidInputError(
                f"{path}:{rows[i + 1][0]}: the time does not come after the one before",
                "sort the file by time and keep one line for each",
            )
    return times, rates


def _time(text: str) -> float | None:
    figure = _figure(text)
    if figure is not None:
        return figure
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    # A time without a zone is read as UTC: only differences matter.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _figure(text: str) -> float | None:
    try:
        figure = float(text)
    except ValueError:
        return None
    return figure if np.isfinite(figure) else None
