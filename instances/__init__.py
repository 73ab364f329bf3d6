"""Shipped inputs: the recorded demo and the benchmark instances."""

from importlib.resources import files
from pathlib import Path


def path(name: str) -> Path:
    """Return the path of a shipped file, such as `demo/cluster.yaml`.

    Raises
    ------
    FileNotFoundError
        If no such file is shipped.
    """
    found = Path(str(files("edgeplace.instances"))) / name
    if not found.exists():
        raise FileNotFoundError(f"edgeplace ships no file {name!r}")
    return found
