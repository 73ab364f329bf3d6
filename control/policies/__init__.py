"""Scaling policies, one in each file, faithful to their sources; `edgeplace` is ours."""

from collections.abc import Callable

from edgeplace.control.policies.demeter import DemeterStyle
from edgeplace.control.policies.ds2 import DS2
from edgeplace.control.policies.edgeplace import Edgeplace
from edgeplace.control.policies.flink_autoscaler import FlinkAutoscaler
from edgeplace.control.policies.hpa import HorizontalPodAutoscaler
from edgeplace.control.policies.static_peak import StaticPeak
from edgeplace.control.policies.thesis import ThesisRescaler
from edgeplace.control.policy import ScalingPolicy

POLICIES: dict[str, Callable[[int, float], ScalingPolicy]] = {
    "static": lambda day_s, pause_s: StaticPeak(),
    "hpa": lambda day_s, pause_s: HorizontalPodAutoscaler(),
    "autoscaler": lambda day_s, pause_s: FlinkAutoscaler(),
    "ds2": lambda day_s, pause_s: DS2(),
    "thesis": lambda day_s, pause_s: ThesisRescaler(),
    "demeter": lambda day_s, pause_s: DemeterStyle(),
    "edgeplace": lambda day_s, pause_s: Edgeplace(day_s=day_s, pause_s=pause_s),
    "no-forecast": lambda day_s, pause_s: Edgeplace(
        day_s=day_s, pause_s=pause_s, forecasts=False, name="- no forecast"
    ),
    "no-regret": lambda day_s, pause_s: Edgeplace(
        day_s=day_s, pause_s=pause_s, regrets=False, name="- no regret"
    ),
}
"""Name on the command line -> a new policy, given the seconds after which a load may repeat, and
for which a change stops the job.
"""

__all__ = [
    "DS2",
    "POLICIES",
    "DemeterStyle",
    "Edgeplace",
    "FlinkAutoscaler",
    "HorizontalPodAutoscaler",
    "StaticPeak",
    "ThesisRescaler",
]
