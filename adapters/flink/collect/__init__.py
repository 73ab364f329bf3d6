"""Collect a metric log from a running Flink, or from the Prometheus server that scrapes it."""

from edgeplace.adapters.flink.collect.collect import (
    Collected,
    CollectEnd,
    collect,
    followed_job,
    polling_interval_s,
)
from edgeplace.adapters.flink.collect.log_file import LogFile, LogFolder
from edgeplace.adapters.flink.collect.poll import Poller
from edgeplace.adapters.flink.collect.prometheus_client import (
    PROMETHEUS_VARIABLES,
    PrometheusClient,
)
from edgeplace.adapters.flink.collect.prometheus_log import (
    CollectedRange,
    RangeLog,
    collect_range,
)

__all__ = [
    "PROMETHEUS_VARIABLES",
    "CollectEnd",
    "Collected",
    "CollectedRange",
    "LogFile",
    "LogFolder",
    "Poller",
    "PrometheusClient",
    "RangeLog",
    "collect",
    "collect_range",
    "followed_job",
    "polling_interval_s",
]
