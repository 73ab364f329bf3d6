"""The text of a plan as the agent reads it."""

from edgeplace.adapters.flink.schedulercfg.parser import Dialect, parse, read, render, render_capsys
from edgeplace.adapters.flink.schedulercfg.settings import (
    CHECKPOINT_INTERVAL_MS,
    EPOCH,
    settings_of,
    without_settings,
)

__all__ = [
    "CHECKPOINT_INTERVAL_MS",
    "EPOCH",
    "Dialect",
    "parse",
    "read",
    "render",
    "render_capsys",
    "settings_of",
    "without_settings",
]
