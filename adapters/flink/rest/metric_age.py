"""The greatest age of the metrics of Flink's REST API, by its configuration."""

import re
from collections.abc import Mapping

from edgeplace.model import InvalidInputError

OPTION = "metrics.fetcher.update-interval"
ANSWERS_OPTION = "web.timeout"
_DEFAULT_S = 10.0
_DEFAULT_ANSWERS_S = 600.0
# The format of times in Flink; a number without a unit is in ms.
_UNITS_S = {
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1e-3),
}
_TIME = re.compile(r"([0-9]+)\s*([a-z]*)")


def fetch_interval_s(configuration: Mapping[str, str]) -> float:
    """Return the time for which REST returns the same metrics, by default Flink's default.

    Parameters
    ----------
    configuration
        The JobManager's configuration.

    Raises
    ------
    InvalidInputError
        If Flink is configured to give no metrics at all.
    """
    interval_s = _seconds(configuration.get(OPTION), _DEFAULT_S)
    if interval_s == 0:
        raise InvalidInputError(
            f"Flink gives no metrics over REST: {OPTION} is 0",
            f"set it to 2 s in the JobManager's configuration and restart the JobManager: {OPTION}",
        )
    return interval_s


def most_still_s(configuration: Mapping[str, str]) -> float:
    """Return the time for which no metric changes after a TaskManager is cut off.

    Flink begins no fetch before all TaskManagers have answered the one before, or their time is
    over. Measured on Flink 2.3 with a TaskManager that was stopped: 21 s at 20 s.

    Parameters
    ----------
    configuration
        The JobManager's configuration.
    """
    return _seconds(configuration.get(ANSWERS_OPTION), _DEFAULT_ANSWERS_S)


def _seconds(text: str | None, otherwise: float) -> float:
    hit = _TIME.fullmatch((text or "").strip().lower())
    if not hit or hit[2] not in _UNITS_S:
        return otherwise
    return int(hit[1]) * _UNITS_S[hit[2]]
