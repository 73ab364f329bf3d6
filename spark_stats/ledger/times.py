"""What a ledger takes for the future, and times as people read them."""

import time
from datetime import UTC, datetime

AHEAD_MS = 300_000
"""A sample that is more than this ahead of this machine's clock is passed over: all later ones
would seem to be older than it."""


def latest_ms() -> int:
    """Return the latest time of a sample that counts, in ms since the epoch."""
    return int(1000 * time.time()) + AHEAD_MS


def utc(ms: float) -> str:
    """Return a time in ms since the epoch for people."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
