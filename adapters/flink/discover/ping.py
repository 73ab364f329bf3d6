"""Round trips from this machine to TaskManagers, measured by TCP connections."""

import re
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.adapters.flink.rest.task_managers import host_of

_TRIES = 5
_TIMEOUT_S = 2.0
_AT_ONCE = 8
_RPC_PORT = re.compile(r":([0-9]{1,5})/")


def round_trips_ms(taskmanagers: RestAnswer) -> Mapping[str, float | None]:
    """Return resource id -> median round trip in ms of five connections, None: no connection.

    Parameters
    ----------
    taskmanagers
        Answer to `GET /taskmanagers`. Connections go to the data port, or else to the RPC port.

    Raises
    ------
    InvalidInputError
        If the answer is incomplete.
    """
    where = "the answer to /taskmanagers"
    tms = {need(tm, "id", str, where): tm for tm in need(taskmanagers, "taskmanagers", list, where)}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(tms, pool.map(_round_trip_ms, tms.values()), strict=True))


def _round_trip_ms(tm: RestAnswer) -> float | None:
    host, port = host_of(tm).strip("[]"), _port(tm)
    if not host or port is None:
        return None
    times = []
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        for _ in range(_TRIES):
            with socket.socket(*address[:3]) as connection:
                connection.settimeout(_TIMEOUT_S)
                began_s = time.perf_counter()
                connection.connect(address[4])
                times.append(1000 * (time.perf_counter() - began_s))
    except OSError:
        return None
    return median(times)


def _port(tm: RestAnswer) -> int | None:
    data = tm.get("dataPort")
    if isinstance(data, int) and 0 < data < 65536:
        return data
    hit = _RPC_PORT.search(str(tm.get("path", "")))
    return int(hit[1]) if hit and int(hit[1]) < 65536 else None
