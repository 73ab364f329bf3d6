"""The text of a plan as the agent reads it."""

from edgeplace.adapters.flink.schedulercfg.parser import Dialect, parse, read
from edgeplace.adapters.flink.schedulercfg.settings import (
    CHECKPOINT_INTERVAL_MS,
    EPOCH,
    predictions,
    promised,
    settings_of,
    without_settings,
)
from edgeplace.adapters.flink.schedulercfg.writer import render

__all__ = [
    "CHECKPOINT_INTERVAL_MS",
    "EPOCH",
    "Dialect",
    "parse",
    "predictions",
    "promised",
    "read",
    "render",
    "settings_of",
    "without_settings",
]
