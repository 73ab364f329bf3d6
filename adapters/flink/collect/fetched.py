"""Wait until Flink has fetched the metrics of all TaskManagers anew.

Flink fetches metrics only when somebody requests them, and returns what it has. If nobody did for
an hour, the first answer is an hour old. A TaskManager whose cores are all busy answers late: its
first answer is then old, and those of the others are not. The log would have the records of an
hour in its first interval. The CPU time of a process always grows, so it shows a new answer.
"""

import time
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from typing import Any
from urllib.parse import quote

from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink

_CPU_TIME = "Status.JVM.CPU.Time"
_LOOK_S = 0.2


def wait_for_fetch(client: FlinkClient, most_s: float, pool: Executor) -> tuple[str, ...]:
    """Have Flink fetch metrics, and wait until each TaskManager has answered.

    Parameters
    ----------
    most_s
        To wait. Flink fetches nothing before `metrics.fetcher.update-interval` is over.
    pool
        Runs requests in parallel.

    Returns
    -------
    tuple[str, ...]
        Ids of the TaskManagers whose answers may be old.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer, or refuses.
    InvalidInputError
        If its list of TaskManagers is incomplete.
    """
    deadline_s = time.monotonic() + most_s
    before = _cpu_times(client, [tm.id for tm in LiveFlink(client).task_managers()], pool)
    late = list(before)
    while late:
        time.sleep(min(_LOOK_S, max(0.0, deadline_s - time.monotonic())))
        now = _cpu_times(client, late, pool)
        late = [tm for tm in late if tm in now and now[tm] == before[tm]]
        if time.monotonic() >= deadline_s:
            break
    return tuple(late)


def _cpu_times(
    client: FlinkClient, task_managers: Collection[str], pool: Executor
) -> Mapping[str, Any]:
    """Return TaskManager -> its CPU time as Flink tells it; without those that have gone."""

    def told(task_manager: str) -> Any:
        try:
            return client.get(
                f"/taskmanagers/{quote(task_manager, safe=':')}/metrics", {"get": _CPU_TIME}
            )
        except FlinkNotFoundError:
            return None

    answers = zip(task_managers, pool.map(told, task_managers), strict=True)
    return {tm: answer for tm, answer in answers if answer is not None}
