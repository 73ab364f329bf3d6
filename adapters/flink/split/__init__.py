"""Split aggregates of a running job: weights of their workers, reports of their routers."""

from edgeplace.adapters.flink.split.keys_report import (
    HotKey,
    KeysReport,
    SplitReport,
    read_keys_report,
)
from edgeplace.adapters.flink.split.shares import Shares, TaskShares, parse_shares, read_shares
from edgeplace.adapters.flink.split.weigh import Weighed, shares_path, weigh

__all__ = [
    "HotKey",
    "KeysReport",
    "Shares",
    "SplitReport",
    "TaskShares",
    "Weighed",
    "parse_shares",
    "read_keys_report",
    "read_shares",
    "shares_path",
    "weigh",
]
