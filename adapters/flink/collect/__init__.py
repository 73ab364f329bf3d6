"""Collect a metric log from a running Flink."""

from edgeplace.adapters.flink.collect.collect import (
    Collected,
    CollectEnd,
    collect,
    followed_job,
    polling_interval_s,
)
from edgeplace.adapters.flink.collect.log_file import LogFile, LogFolder
from edgeplace.adapters.flink.collect.poll import Poller

__all__ = [
    "CollectEnd",
    "Collected",
    "LogFile",
    "LogFolder",
    "Poller",
    "collect",
    "followed_job",
    "polling_interval_s",
]
