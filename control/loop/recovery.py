"""How seldom checkpoints may be taken, so that a failure is made up for in time."""

OUTAGE_S = 15.0
"""From a failure until records flow again, with Flink's defaults and without the replay."""
LONGEST_S = 600.0
"""What is older than this is no way back."""
_SHORTEST_S = 1.0


def longest_interval_s(recovery_s: float, load: float, took_s: float) -> float | None:
    """Return the longest interval of checkpoints; None: none is short enough.

    After a failure the records of the outage b, and those since the last checkpoint, i + d at
    most, are processed beside what comes: at a load of rho, recovery takes
    b + (i + d + b) rho / (1 - rho).
    Fewer checkpoints send fewer bytes, so that the longest interval is the best.

    Parameters
    ----------
    recovery_s
        Time within which a failure has to be made up for.
    load
        Rates over those that are sustained.
    took_s
        Duration of a checkpoint.
    """
    if not 0 < load < 1:
        return LONGEST_S if load == 0 else None
    interval_s = (recovery_s - OUTAGE_S) * (1 - load) / load - took_s - OUTAGE_S
    if interval_s < max(_SHORTEST_S, took_s):
        return None
    return min(LONGEST_S, round(interval_s, 1))


def made_up_s(outage_s: float, rate: float, before: float, after: float, again: float = 0) -> float:
    """Return after how long what an outage held up is made up for; infinite: never.

    In the outage b, (rate - before) b records wait, and `again` are read once more from the last
    checkpoint. After it (after - rate) of them are taken a second.

    Parameters
    ----------
    rate, before, after
        Records per second that come, and that are sustained in the outage and after it.
    """
    waiting = max(0.0, rate - before) * outage_s + again
    if waiting == 0:
        return outage_s
    return outage_s + waiting / (after - rate) if after > rate else float("inf")
