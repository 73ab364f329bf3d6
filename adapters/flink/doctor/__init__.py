"""Check whether a Flink and its files are ready for plans."""

from edgeplace.adapters.flink.doctor.examine import Finding, Severity, examine, look

__all__ = [
    "Finding",
    "Severity",
    "examine",
    "look",
]
