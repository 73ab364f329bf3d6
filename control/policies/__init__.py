"""Policies that scale a job, one a file, each true to its source; `edgeplace` is ours."""

from edgeplace.control.policies.demeter import DemeterStyle
from edgeplace.control.policies.ds2 import DS2
from edgeplace.control.policies.edgeplace import Edgeplace
from edgeplace.control.policies.flink_autoscaler import FlinkAutoscaler
from edgeplace.control.policies.hpa import HorizontalPodAutoscaler
from edgeplace.control.policies.static_peak import StaticPeak
from edgeplace.control.policies.thesis import ThesisRescaler

__all__ = [
    "DS2",
    "DemeterStyle",
    "Edgeplace",
    "FlinkAutoscaler",
    "HorizontalPodAutoscaler",
    "StaticPeak",
    "ThesisRescaler",
]
