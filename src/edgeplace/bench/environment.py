"""The environment of a result: machine, releases, load."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from edgeplace import __version__


def environment() -> dict[str, object]:
    """Return machine, releases and load as plain data."""
    return {
        "kind": "environment",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "edgeplace": __version__,
        "python": platform.python_version(),
        "releases": {name: version(name) for name in ("highspy", "ortools", "pulp", "numpy")},
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": cores(),
        "load_1_min": round(os.getloadavg()[0], 2),
    }


def cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
