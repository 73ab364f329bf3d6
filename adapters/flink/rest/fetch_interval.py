"""The interval at which Flink's REST API renews metrics: `metrics.fetcher.update-interval`."""

import re
from collections.abc import Mapping

from edgeplace.model import InvalidInputError

OPTION = "metrics.fetcher.update-interval"
_DEFAULT_S = 10.0
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
    hit = _TIME.fullmatch(configuration.get(OPTION, "").strip().lower())
    if not hit or hit[2] not in _UNITS_S:
        return _DEFAULT_S
    interval_s = int(hit[1]) * _UNITS_S[hit[2]]
    if interval_s == 0:
        raise InvalidInputError(
            f"Flink gives no metrics over REST: {OPTION} is 0",
            f"set it to 2 s in the JobManager's configuration and restart the JobManager: {OPTION}",
        )
    return interval_s
