"""What hostile plan files cost a live JobManager: heap, pauses, restarts, and whether it says why.

    python benchmarks/hostile_plans.py [FLINK_RELEASE]

Drops 47 texts and 15 kinds of files (testbed/experiments/hostile_plans.py) into the folder of plans
of a JobManager in which a placed job runs, then a plan of 14 MB again and again. Needs a JDK 17.

Pauses are measured inside the JobManager: the agent counts what its turns in the main thread of a
JobMaster take, and the JVM logs for how long it stops. Times by the clock and answers of REST are
shown too: on a machine that works for others as well they say more of the machine.
"""

import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.hostile_plans import (  # noqa: E402
    hostile_files,
    hostile_texts,
    is_quiet,
    remove_hostile_file,
)
from testbed.flink.agent_cluster import AgentCluster  # noqa: E402
from testbed.flink.home import flink_home  # noqa: E402 - the testbed is beside this folder

AGENT = ROOT / "adapters" / "flink" / "agent" / "edgeplace-flink-agent.jar"
NAME = "counting"
PLACES = ("pi-1", "pi-2", "server-1", "server-2", "pi-1", "pi-2")
HOST_OF_TWO = "127.0.0.21"
MOST_HEAP_BYTES = 16 * 2**20
MOST_PAUSE_MS = 50.0
LARGE_TIMES = 8
LOOK_S = 0.05


def main() -> int:
    """Measure, print the figures beside their targets, and return 1 if one is missed."""
    release = sys.argv[1] if len(sys.argv) > 1 else "2.3.0"
    with (
        tempfile.TemporaryDirectory() as scratch,
        AgentCluster(flink_home(release), AGENT) as flink,
    ):
        return 0 if Trial(flink, Path(scratch)).run(release) else 1


class Trial:
    """One job, and what is done to its plan."""

    def __init__(self, flink: AgentCluster, scratch: Path) -> None:
        self._flink = flink
        self._scratch = scratch
        self._quiet = 0
        self._said = 0
        self._left_out: list[str] = []

    def run(self, release: str) -> bool:
        """Measure and print."""
        flink = self._flink
        job, good = self._placed_job()
        # What is used for the first time is loaded first.
        self._text(job, b"x\n", "it has no '; '")
        self._good(job, good)
        agent = self._agent()
        jvm = Jvm(agent["pid"], self._scratch / "safepoints.log")
        before, attempts = jvm.live_heap_bytes(), self._attempts(job)
        allocated = jvm.agent_allocated_bytes()
        collections = jvm.full_collections()
        jvm.log_safepoints()
        with Watch(flink, job) as watch:
            self._all(job, good)
            self._agent()
        pause_ms = jvm.longest_safepoint_ms()
        collections = jvm.full_collections() - collections
        allocated = jvm.agent_allocated_bytes() - allocated
        growth = jvm.live_heap_bytes() - before
        after = self._agent()
        restarts = sum(a != b for a, b in zip(self._attempts(job), attempts, strict=True))
        restarts += after["pid"] != agent["pid"] or after["started_ms"] != agent["started_ms"]
        cases = 62 - len(self._left_out)
        rows = [
            ("heap that stays, MB", growth / 2**20, MOST_HEAP_BYTES / 2**20),
            ("longest turn in a main thread, CPU ms", watch.longest_cpu_ms, MOST_PAUSE_MS),
            ("longest stop of the JVM, ms", pause_ms, MOST_PAUSE_MS),
            ("full collections", collections, 0),
            ("subtasks or JobManagers restarted", restarts, 0),
            ("files without a reason in the status", cases - self._said, 0),
            ("statuses with a secret, or long", self._said - self._quiet, 0),
        ]
        print(f"Flink {release}, {cases} hostile files, then 14 MB {LARGE_TIMES} times")
        for what, got, most in rows:
            print(f"{what:50}{got:>10.1f}   target <= {most:g}{'' if got <= most else '   MISSED'}")
        print(f"{'  the same by the clock, ms':50}{watch.longest_ms:>10.1f}")
        print(f"{'  allocated by the agent thread in all, MB':50}{allocated / 2**20:>10.1f}")
        print(
            f"{'  slowest answer of REST, ms':50}{watch.slowest_ms:>10.1f}   ({watch.count} asked)"
        )
        for kind in self._left_out:
            print(f"  left out: {kind}")
        return all(got <= most for _, got, most in rows)

    def _agent(self) -> dict[str, Any]:
        """Return what the agent says of itself from now on; it speaks every five seconds."""
        now_ms = time.time() * 1000

        def spoken() -> bool:
            said = self._flink.agent()
            return said is not None and said["now_ms"] > now_ms

        self._flink.wait_until(spoken, "the agent's heartbeat")
        return self._flink.agent() or {}

    def _placed_job(self) -> tuple[str, dict[str, str]]:
        flink = self._flink
        out = flink.cluster.scratch / "out"
        out.mkdir()
        job = flink.submit(
            "CountingJob", "records=7200000", f"finish={out}/never", f"out={out}", f"name={NAME}"
        )
        good = dict(zip(flink.wait_for_running(job), PLACES, strict=True))
        flink.write_plan(NAME, good)
        flink.wait_for_placement(job, good)
        return job, good

    def _all(self, job: str, good: dict[str, str]) -> None:
        texts = hostile_texts(good, HOST_OF_TWO)
        for text in texts.values():
            self._text(job, text.content, text.says)
            self._count(job)
        large = texts["14 MB of wrong lines"]
        for _ in range(LARGE_TIMES):
            self._text(job, large.content, large.says)
            self._good(job, good)
        path = self._flink.plans / f"{NAME}.schedulercfg"
        path.unlink()
        self._flink.wait_for_status(job, "placed")
        for i, (kind, file) in enumerate(hostile_files().items()):
            scratch = self._scratch / str(i)
            scratch.mkdir()
            try:
                file.make(path, scratch)
            except PermissionError as error:
                self._left_out.append(f"{kind} cannot be made here: {error}")
                continue
            self._wait_for_reason(job, file.says)
            self._count(job)
            remove_hostile_file(path)
            self._flink.wait_for_status(job, "placed")

    def _text(self, job: str, content: bytes, says: str) -> None:
        self._flink.write_plan_file(f"{NAME}.schedulercfg", content)
        self._wait_for_reason(job, says)

    def _good(self, job: str, good: dict[str, str]) -> None:
        self._flink.wait_for_status(job, "placed", self._flink.write_plan(NAME, good))

    def _wait_for_reason(self, job: str, says: str) -> None:
        self._flink.wait_until(
            lambda: any(says in reason for reason in self._reasons(job)), f"the reason {says!r}"
        )

    def _count(self, job: str) -> None:
        reasons = self._reasons(job)
        self._said += bool(reasons)
        self._quiet += bool(reasons) and is_quiet(reasons)

    def _reasons(self, job: str) -> list[str]:
        status = self._flink.status(job)
        return [] if status is None or status["state"] != "rejected" else status["reasons"]

    def _attempts(self, job: str) -> list[int]:
        return [each.attempt for each in self._flink.rest.subtasks(job)]


class Jvm:
    """A JVM of this machine, asked by the JDK's own tools.

    Parameters
    ----------
    log
        File for the log of its safepoints.
    """

    def __init__(self, pid: int, log: Path) -> None:
        self._pid = pid
        self._log = log

    def live_heap_bytes(self) -> int:
        """Return what is left on the heap after a full collection."""
        self._jcmd("GC.run")
        used = self._jstat("S0U", "S1U", "EU", "OU")
        return int(sum(used) * 1024)

    def full_collections(self) -> int:
        """Return how often the whole heap was collected, the collections asked for included."""
        return int(self._jstat("FGC")[0])

    def agent_allocated_bytes(self) -> int:
        """Return what the agent's thread has allocated since it began."""
        threads = self._jcmd("Thread.print", "-e")
        found = re.search(r'"edgeplace-agent".* allocated=([0-9.]+)([BKMG])', threads)
        if found is None:
            raise ValueError("no thread edgeplace-agent: a JDK 17 tells what a thread allocates")
        return int(float(found[1]) * 1024 ** "BKMG".index(found[2]))

    def log_safepoints(self) -> None:
        """Begin to log for how long the JVM stops."""
        self._jcmd("VM.log", f"output={self._log}", "what=safepoint=info")

    def longest_safepoint_ms(self) -> float:
        """End the log, and return the longest stop in it."""
        self._jcmd("VM.log", "disable")
        stops = re.findall(r"Total: +([0-9]+) ns", self._log.read_text())
        return max(map(int, stops), default=0) / 1e6

    def _jcmd(self, *command: str) -> str:
        return _output("jcmd", str(self._pid), *command)

    def _jstat(self, *columns: str) -> list[float]:
        names, values = _output("jstat", "-gc", str(self._pid)).split("\n")[:2]
        row = dict(zip(names.split(), values.split(), strict=True))
        return [float(row[name]) for name in columns]


class Watch:
    """Looks while the block runs at what the agent says of its turns, and how REST answers."""

    def __init__(self, flink: AgentCluster, job: str) -> None:
        self._flink = flink
        self._path = f"/jobs/{job}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.longest_ms = 0.0
        self.longest_cpu_ms = 0.0
        self.slowest_ms = 0.0
        self.count = 0

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_S):
            began = time.perf_counter()
            self._flink.rest.get(self._path)
            self.slowest_ms = max(self.slowest_ms, (time.perf_counter() - began) * 1000)
            self.count += 1
            said = self._flink.agent() or {}
            self.longest_ms = max(self.longest_ms, said.get("longest_turn_ms", 0.0))
            self.longest_cpu_ms = max(self.longest_cpu_ms, said.get("longest_turn_cpu_ms", 0.0))


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
