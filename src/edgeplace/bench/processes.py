"""Runs requests in processes of their own, with a hard limit on time and memory."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from edgeplace.bench.record import Request, RunAnswer, RunOutcome
from edgeplace.model import read

GRACE_S = 30.0
"""Extra time to start Python, to read and index a large instance, and for a back end to notice
that its time is over.
"""
MEMORY_SHARE = 0.8
"""Share of the machine's memory that all runs together may use."""
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def memory_share(jobs: int) -> int:
    """Return the bytes that each of `jobs` runs may have."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(physical * MEMORY_SHARE / jobs)


class Processes:
    """A pool of processes, one for each run."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopping = False

    def run(self, requests: Sequence[Request], done: Callable[[Request, RunAnswer], None]) -> None:
        """Run all requests, `jobs` at a time, and call `done` with each answer as it comes.

        An exception, Ctrl-C too, ends the processes that run.
        """
        with ThreadPoolExecutor(self._jobs) as pool:
            futures: dict[Future[RunAnswer], Request] = {
                pool.submit(self._one, request): request for request in requests
            }
            try:
                left = set(futures)
                while left:
                    ended, left = wait(left, return_when=FIRST_COMPLETED)
                    for future in ended:
                        done(futures[future], future.result())
            except BaseException:
                self._stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _one(self, request: Request) -> RunAnswer:
        limit_s = 2 * request.time_limit_s + GRACE_S
        with self._lock:
            if self._stopping:
                return RunAnswer(outcome=RunOutcome.ERROR, message="interrupted")
            process = subprocess.Popen(
                [sys.executable, "-m", "edgeplace.bench.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **ONE_THREAD},
                # A process group, so that every process that the back end starts ends with it.
                start_new_session=True,
            )
            self._running.add(process)
        try:
            _, said = process.communicate(request.model_dump_json(), timeout=limit_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.communicate()
            message = f"ended after {limit_s:.0f} s: the time limit is {request.time_limit_s:g} s"
            return RunAnswer(outcome=RunOutcome.KILLED, run_s=limit_s, message=message)
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode != 0 or not Path(request.answer).exists():
            last = said.strip().splitlines()[-1:] or ["no message"]
            how = f"ended with {process.returncode}: {last[0]}"
            # C++ libraries end the process if they get no memory.
            memory = "bad_alloc" in said or "MemoryError" in said
            return RunAnswer(outcome=RunOutcome.MEMORY if memory else RunOutcome.ERROR, message=how)
        return read(request.answer, RunAnswer)

    def _stop(self) -> None:
        with self._lock:
            self._stopping = True
            for process in self._running:
                _kill(process)


def _kill(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        # The process ended by itself meanwhile.
        return
