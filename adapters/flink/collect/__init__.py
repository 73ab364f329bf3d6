"""Collect a metric log from a running Flink, from the Prometheus server that scrapes it, or from
the Whisper files of the Graphite that it reports to.
"""

from edgeplace.adapters.flink.collect.collect import (
    Collected,
    CollectEnd,
    collect,
    followed_job,
    polling_interval_s,
)
from edgeplace.adapters.flink.collect.fetched import wait_for_fetch
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
from edgeplace.adapters.flink.collect.whisper_log import CollectedWhisper, collect_whisper

__all__ = [
    "PROMETHEUS_VARIABLES",
    "CollectEnd",
    "Collected",
    "CollectedRange",
    "CollectedWhisper",
    "LogFile",
    "LogFolder",
    "Poller",
    "PrometheusClient",
    "RangeLog",
    "collect",
    "collect_range",
    "collect_whisper",
    "followed_job",
    "polling_interval_s",
    "wait_for_fetch",
]
