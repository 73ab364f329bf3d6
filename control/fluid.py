"""A fluid simulation of a job under a policy. Records wait while the job restarts.

The backlog follows Lindley's recursion B_t = max(0, B_{t-1} + offered_t - capacity_t), computed for
all seconds between two decisions at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.control.load import DAY_S, Load
from edgeplace.control.options import Options
from edgeplace.control.policy import ScalingPolicy, View
from edgeplace.model import InvalidInputError
from edgeplace.solver.arrays import Floats, Ints

_REVERSED_WITHIN_S = 3600


@dataclass(frozen=True)
class PolicyOutcome:
    """The result of a policy.

    Parameters
    ----------
    policy
        Its name.
    late_share
        Share of the seconds in which an arriving record waits longer than `late_s`.
    unit_share
        Units in use, as a share of the units of the largest option over the whole time.
    wan_bytes
        Total bytes over the WAN.
    changes, reversals
        Changes of configuration, and changes that revert the previous one within an hour.
    option
        Shape (decisions,): the option in use after each decision.
    decided_s
        Shape (decisions,): the second of each decision.
    """

    policy: str
    seconds: int
    late_share: float
    unit_share: float
    wan_bytes: float
    changes: int
    reversals: int
    option: Ints
    decided_s: Ints

    @property
    def changes_per_day(self) -> float:
        """Changes in a day of 24 hours."""
        return self.changes * DAY_S / self.seconds

    @property
    def reversals_per_day(self) -> float:
        """Reversals in a day of 24 hours."""
        return self.reversals * DAY_S / self.seconds

    @property
    def late_s(self) -> float:
        """Seconds in which an arriving record waits too long."""
        return self.late_share * self.seconds


def simulate(
    load: Load,
    options: Options,
    policy: ScalingPolicy,
    pause_s: float,
    late_s: float = 2.0,
    failures_s: Sequence[int] = (),
    failure_pause_s: float = 25.0,
    progress: Callable[[float], None] | None = None,
) -> PolicyOutcome:
    """Run a policy on a load.

    Parameters
    ----------
    pause_s
        Seconds without processing for each change.
    late_s
        A second is late if a record that arrives in it waits longer than this.
    failures_s, failure_pause_s
        Seconds at which the job fails, and how long each failure stops it.
    progress
        Called now and then with the completed share.

    Raises
    ------
    InvalidInputError
        If a pause is negative, or the policy decides less than once a second.
    """
    if pause_s < 0 or failure_pause_s < 0 or late_s < 0 or policy.every_s < 1:
        raise InvalidInputError(
            f"pauses of {pause_s:g} and {failure_pause_s:g} s, records late after {late_s:g} s and "
            f"a decision each {policy.every_s} s cannot be simulated",
            "give times of 0 or more, and a decision each second at most",
        )
    rates = load.rates_per_s
    total = len(rates)
    capacities = options.capacities
    waits = np.empty(total)
    served = np.empty(total)
    backlog, stopped_s = 0.0, 0.0
    now = policy.first(options, load)
    chosen, decided = [now], [0]
    fails = np.sort(np.asarray(failures_s, dtype=np.intp))
    second = 0
    while second < total:
        next_fail = fails[np.searchsorted(fails, second, side="right") :]
        end = min(total, (second // policy.every_s + 1) * policy.every_s)
        if len(next_fail):
            end = min(end, int(next_fail[0]))
        span = slice(second, end)
        backlog, stopped_s = flow(
            rates[span], float(capacities[now]), backlog, stopped_s, waits[span], served[span]
        )
        second = end
        if len(next_fail) and second == next_fail[0]:
            stopped_s = max(stopped_s, failure_pause_s)
        if second % policy.every_s == 0 and second < total:
            view = View(
                second, options, now, rates[:second], served[:second], backlog, stopped_s > 0
            )
            wanted = policy.decide(view)
            if wanted is not None and wanted != now:
                now = wanted
                chosen.append(now)
                decided.append(second)
                stopped_s = max(stopped_s, pause_s)
        if progress and second % 3600 == 0:
            progress(second / total)
    at = np.array(decided, dtype=np.intp)
    option = np.array(chosen, dtype=np.intp)
    lasts = np.diff(np.r_[at, total])
    sent = np.add.reduceat(served, at)
    wan = np.array([o.wan_bytes_per_record for o in options.members])
    up = np.sign(np.diff(option))
    again = (up[1:] != up[:-1]) & (np.diff(at[1:]) < _REVERSED_WITHIN_S)
    return PolicyOutcome(
        policy.name,
        total,
        float((waits > late_s).mean()),
        float((options.units[option] * lasts).sum() / (options.units.max() * total)),
        float((wan[option] * sent).sum()),
        len(option) - 1,
        int(again.sum()),
        option,
        at,
    )


def flow(
    offered: Floats,
    capacity: float,
    backlog: float,
    stopped_s: float,
    waits: Floats,
    served: Floats,
) -> tuple[float, float]:
    """Fill in waits and served records for some seconds; return the remaining backlog and pause.

    Parameters
    ----------
    offered
        Shape (seconds,): records per second.
    capacity
        Records per second.
    backlog, stopped_s
        Records that wait, and seconds that the job stands still, at the beginning.
    waits, served
        Shape (seconds,), to be filled in.
    """
    if backlog == 0.0 and stopped_s == 0.0 and offered.max(initial=0.0) <= capacity:
        # Most of the time: the long way would give the same, to the last bit.
        waits[:] = 0.0
        served[:] = offered
        return 0.0, 0.0
    seconds = np.arange(1, len(offered) + 1)
    left = np.maximum(stopped_s - seconds, 0.0)
    room = capacity * np.clip(seconds - stopped_s, 0.0, 1.0)
    walk = backlog + np.cumsum(offered - room)
    queue = walk - np.minimum(np.minimum.accumulate(walk), 0.0)
    waits[:] = left + queue / capacity
    served[:] = offered - np.diff(queue, prepend=backlog)
    return float(queue[-1]), max(0.0, stopped_s - len(offered))
