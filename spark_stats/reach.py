"""Whether a Spark elsewhere answers, within a bounded time.

Spark itself asks a master that is not there for a minute, and a Spark Connect server for ten.
"""

import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TypeVar

from edgeplace.model.errors import InvalidInputError, MissingExtraError
from edgeplace.spark_stats.errors import SparkUnavailableError

T = TypeVar("T")

_ANSWER_S = 5.0
"""Seconds for a connection to a port."""
PATIENCE = "spark.network.timeout"
"""Spark's setting that also bounds the wait for a cluster."""
_PATIENCE_S = 120.0
_UNITS_S = {"ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_CONNECT_PORT = 15002
_CONNECT_PARTS = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow", "zstandard")
_FORMS = "spark://HOST:PORT, k8s://https://HOST:PORT, yarn, local[N]"


def patience_s(settings: Mapping[str, str]) -> float:
    """Return the seconds to wait for a cluster: Spark's own `spark.network.timeout`.

    Raises
    ------
    InvalidInputError
        If it is no duration.
    """
    text = settings.get(PATIENCE, f"{_PATIENCE_S:.0f}s")
    found = re.fullmatch(r"(\d+)(ms|s|m|min|h|)", text)
    if not found:
        raise InvalidInputError(f"{PATIENCE} is no duration: {text!r}", "write it like 120s or 5m")
    return int(found.group(1)) * _UNITS_S[found.group(2)]


def within(seconds: float, what: str, work: Callable[[], T]) -> T:
    """Return the result of `work`, which must come in time.

    Raises
    ------
    SparkUnavailableError
        If it does not; the thread that works on it is left behind.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:
            failures.append(e)

    thread = threading.Thread(target=run, name="edgeplace-spark", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise SparkUnavailableError(
            f"{what} within {seconds:g} s",
            "see the page or the log of the cluster: are there free workers, and do they reach "
            "this machine (--conf spark.driver.host=ADDRESS)? --conf spark.network.timeout=600s "
            "waits longer",
        )
    if failures:
        raise failures[0]
    return results[0]


def addresses(master: str) -> list[tuple[str, int]]:
    """Return the host and port of each master that a URL names."""
    listed = re.sub(r"^(spark://|k8s://(https?://)?)", "", master).rstrip("/")
    plain = 80 if master.startswith("k8s://http://") else 443
    result = []
    for part in listed.split(",") if "://" in master else ():
        found = re.fullmatch(r"(\[[^]]+\]|[^:/]+)(?::(\d+))?(/.*)?", part)
        if not found or (master.startswith("spark://") and not found.group(2)):
            raise InvalidInputError(f"{master!r} is no URL of a master", f"use {_FORMS}")
        result.append((found.group(1).strip("[]"), int(found.group(2) or plain)))
    return result


def check_master(master: str) -> None:
    """Check the URL of a master, and that one of its addresses answers.

    Raises
    ------
    InvalidInputError
        If it is no URL of a master, or if Spark lacks the configuration of YARN.
    SparkUnavailableError
        If nobody answers.
    """
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise InvalidInputError(
                "--master yarn needs the configuration of Hadoop",
                "set HADOOP_CONF_DIR to the folder with yarn-site.xml and core-site.xml",
            )
        return
    if not master.startswith(("spark://", "k8s://")):
        raise InvalidInputError(f"{master!r} is no URL of a master", f"use {_FORMS}")
    _answers(master, addresses(master))


def check_connect(remote: str) -> None:
    """Check the URL of a Spark Connect server, that it answers, and that the client is installed.

    Raises
    ------
    InvalidInputError
        If it is no such URL.
    MissingExtraError
        If a part of the client is not installed.
    SparkUnavailableError
        If nobody answers.
    """
    found = re.fullmatch(r"sc://(\[[^]]+\]|[^:/;]+)(?::(\d+))?(/.*)?", remote)
    if not found:
        raise InvalidInputError(
            f"{remote!r} is no URL of a Spark Connect server", "use sc://HOST or sc://HOST:PORT"
        )
    missing = [name for name in _CONNECT_PARTS if not _installed(name)]
    if missing:
        raise MissingExtraError(
            f"Spark Connect needs {', '.join(missing)}, which is not installed",
            "pip install 'pyspark[connect]', or use --master, which needs Java in its place",
        )
    _answers(remote, [(found.group(1).strip("[]"), int(found.group(2) or _CONNECT_PORT))])


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _answers(url: str, places: list[tuple[str, int]]) -> None:
    reasons = []
    for place in places:
        try:
            socket.create_connection(place, _ANSWER_S).close()
        except OSError as e:
            reasons.append(f"{place[0]}:{place[1]}: {e.strerror or e}")
        else:
            return
    raise SparkUnavailableError(
        f"nobody answers at {url} ({'; '.join(reasons)})",
        "check host and port, that the server runs, and that no firewall is between",
    )
