"""A scaling policy in place of the loop: its own rule, with plans and an actuator that are ours."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from edgeplace import Cluster, JobGraph, Plan, Rules
from edgeplace.control.options import Options, proved_plans
from edgeplace.control.policy import ScalingPolicy, View
from testbed.errors import TestbedError
from testbed.rehearsal.offered import OfferedLog
from testbed.rehearsal.seen import SeenChange, emitted, waiting

_LEVELS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
"""Of the rate at first."""
_SOLVE_S = 30.0
_HISTORY_S = 3600
"""For so long the job had run at the rate at first, as far as a rule knows."""
_STANDS_S = 2.5
"""Sources write a line a second."""


def plans_by_rate(job: JobGraph, cluster: Cluster, rules: Rules) -> Options:
    """Return the plans among which a rule chooses, without a reserve: rules have their own."""
    bare = cluster.model_copy(update={"cpu_target": 1.0, "link_target": 1.0})
    return proved_plans(job, bare, rules, _LEVELS, _SOLVE_S)


class Scaling:
    """A policy that watches a job on the testbed and changes it.

    Parameters
    ----------
    options
        The plans among which it chooses.
    offered, out
        What is offered to the sources, and the folder where they tell what they have emitted.
    apply
        Carries out a plan of the one job; raises `TestbedError` if it is not followed.

    Attributes
    ----------
    made
        The changes so far.
    """

    def __init__(
        self,
        policy: ScalingPolicy,
        options: Options,
        offered: OfferedLog,
        out: Path,
        apply: Callable[[Plan], None],
    ) -> None:
        self.made: list[SeenChange] = []
        self._policy = policy
        self._options = options
        self._option = 0
        self._offered = offered
        self._out = out
        self._apply = apply
        self._began_s = 0.0

    def begin(self, per_s: float) -> Mapping[str, tuple[str, ...]]:
        """Carry out the plan for a rate of all sources, and return its places."""
        self._option = self._options.least(per_s)
        return self._carry_out(self._option)

    def watch(self, stop: threading.Event) -> None:
        """Ask the policy as often as it wants to be asked, until told to stop."""
        self._began_s = asked_s = time.time()
        while not stop.wait(asked_s + self._policy.every_s - time.time()):
            asked_s = time.time()
            wanted = self._policy.decide(self._view(asked_s))
            if wanted is not None and wanted != self._option:
                self._change(wanted)

    def _view(self, now_s: float) -> View:
        """Return what the policy sees: all before it came was like the first second."""
        seconds = self._began_s + np.arange(int(now_s - self._began_s) + 1)
        offered = np.array([self._offered.until(t) for t in seconds])
        told = emitted(self._out, np.append(seconds, [now_s - _STANDS_S, now_s]))
        sources = len(list(self._out.glob("source-*.jsonl")))
        before = np.full(_HISTORY_S, self._offered.rate(self._began_s) * sources)
        return View(
            second=_HISTORY_S + len(seconds) - 1,
            options=self._options,
            option=self._option,
            offered=np.r_[before, np.diff(offered) * sources],
            served=np.r_[before, np.diff(told[:-2])],
            backlog=waiting(self._out, self._offered),
            stopped=bool(told[-1] <= told[-2]),
        )

    def _change(self, wanted: int) -> None:
        begun_s = time.time()
        try:
            places = self._carry_out(wanted)
        except TestbedError as error:
            # A machine of the plan may be gone. The rule is asked again.
            print(f"{self._policy.name}: not changed: {error}", flush=True)
            return
        self._option = wanted
        name = f"{self._policy.name} {len(self.made) + 1}"
        self.made.append(SeenChange(name, "rule", begun_s, time.time(), "applied", places))

    def _carry_out(self, option: int) -> Mapping[str, tuple[str, ...]]:
        plan = self._options[option].plan
        if plan is None:
            raise ValueError(f"option {option} has figures only")
        self._apply(plan)
        (places,) = plan.jobs.values()
        return places
