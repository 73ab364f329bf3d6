"""A testbed that stays up until it is taken down, for trials by hand."""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.experiments.workloads import WORKLOADS, compile_workloads
from testbed.flink.home import flink_home
from testbed.flink.own_job import Attached, run_own
from testbed.flink.rest import FlinkRest
from testbed.network.namespaces import remove_left
from testbed.world import PIS, SERVER, Wan, World

_STATE = Path("/run/edgeplace-testbed.json")
_DOWN_SECONDS = 60.0


def up(wan: Wan) -> None:
    """Start a world, say how to use it, and keep it up until Ctrl-C or `down`.

    Raises
    ------
    TestbedError
        If it does not come up.
    """
    home = flink_home()
    with World(home, wan) as world:
        sites = world.cluster.scratch / "sites.json"
        state = {
            "pid": os.getpid(),
            "url": world.cluster.rest.url,
            "home": str(home),
            "folder": str(world.cluster.scratch),
            "wan": str(world.network.spec_file),
            "sites": str(sites),
        }
        sites.write_text(world.sites_file())
        _STATE.touch(mode=0o600)
        _STATE.write_text(json.dumps(state))
        try:
            print(
                f"Flink is up: {world.cluster.rest.url}\n"
                f"TaskManagers {', '.join((*PIS.values(), SERVER))}; sites: {sites}\n"
                "start a job:  python -m testbed run selective-filter --rate 500\n"
                "or your own:  python -m testbed run --jar MINE.jar\n"
                f"look at it:   edgeplace flink discover --jobmanager {world.cluster.rest.url} "
                f"--sites {sites}\n"
                "take it down: Ctrl-C here, or python -m testbed down",
                flush=True,
            )
            while True:
                world.cluster.check_alive()
                time.sleep(1.0)
        finally:
            _STATE.unlink(missing_ok=True)


def run(name: str, rate: str) -> None:
    """Start a workload in the world that is up.

    Parameters
    ----------
    name
        Of one of `WORKLOADS`.
    rate
        Records per second of each source subtask, ``max``, or a file with a curve.

    Raises
    ------
    TestbedError
        If no world is up, or there is no such workload.
    """
    state = _state()
    workload = next((w for w in WORKLOADS if w.name == name), None)
    if workload is None:
        raise TestbedError(
            f"no workload {name!r}; there are {', '.join(w.name for w in WORKLOADS)}"
        )
    out = Path(state["folder"]) / f"run-{time.time_ns() // 1_000_000}"
    out.mkdir()
    rest = FlinkRest(state["url"])
    jar = rest.upload(compile_workloads(Path(state["home"]), out))
    (out / "rate").write_text(Path(rate).read_text() if Path(rate).is_file() else rate)
    arguments = {**workload.arguments, "out": str(out), "rate-file": str(out / "rate")}
    job_id = rest.run(
        jar, [f"{k}={v}" for k, v in arguments.items()], main_class=workload.main_class
    )
    print(
        f"job {job_id} of {name}\nits rate is what {out / 'rate'} says: a number of records per "
        f"second and source subtask, max, or a curve\nlatencies: {out}/latency-*.jsonl"
    )


def run_jar(jar: Path, main_class: str | None, arguments: Sequence[str]) -> None:
    """Start a user's own job in the testbed that is up, and measure placements of it.

    Raises
    ------
    TestbedError
        If no world is up, and as for `run_own`.
    """
    state = _state()
    world = Attached(state["url"], Path(state["sites"]), Path(state["wan"]))
    folder = Path(state["folder"]) / f"run-{time.time_ns() // 1_000_000}"
    folder.mkdir()
    print(f"files: {folder}", flush=True)
    run_own(world, jar, main_class, arguments, folder)


def down() -> None:
    """Take down the testbed that is up, and remove the remains of a killed one.

    Raises
    ------
    TestbedError
        If it does not end.
    """
    try:
        pid = int(_state()["pid"])
    except TestbedError:
        remove_left()
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _DOWN_SECONDS
    while _is_alive(pid):
        if time.monotonic() > deadline:
            raise TestbedError(f"process {pid} does not end")
        time.sleep(0.2)
    remove_left()


def _state() -> Mapping[str, Any]:
    """Return the description of the testbed that its process has written."""
    try:
        state: dict[str, Any] = json.loads(_STATE.read_text())
    except FileNotFoundError:
        raise TestbedError("no world is up. First: python -m testbed up") from None
    if not _is_alive(int(state["pid"])):
        _STATE.unlink(missing_ok=True)
        raise TestbedError("the world was killed. Clean up: python -m testbed down")
    return state


def _is_alive(pid: int) -> bool:
    """Return whether a process is a testbed, because another process may have got its id."""
    try:
        return b"testbed" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
