"""An agent that obeys plan files, in a Flink of memory.

It keeps to docs/flink-agent.md, as far as our commands look.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.plans.cordons import cordons
from edgeplace.adapters.flink.plans.folder import PlansFolder, key
from edgeplace.adapters.flink.plans.parallelism import rescaled
from edgeplace.adapters.flink.plans.plan_file import Schedulercfg
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Node, Operator, Site, TaskManager
from tests.support.fake_job import FakeJob, now_ms

if TYPE_CHECKING:
    from tests.support.fake_flink import FakeFlink


class FakeAgent:
    """The agent of a FakeFlink, and its thread.

    Parameters
    ----------
    plans
        The folder of plans.
    """

    def __init__(self, flink: "FakeFlink", plans: Path) -> None:
        self.plans = plans
        self.alive = True
        self.resource_manager = True
        self.no_rescaling_because: str | None = None
        self.judge: Callable[[FakeJob, str], tuple[str, list[str]] | None] | None = None
        """Overrides what it says of a plan: (state, reasons), or None for its own view."""
        self.on_move: Callable[[FakeJob], None] = lambda job: None
        """Called when it has moved a job."""
        self.keeps_cordons = True
        self.settings = [
            "epoch",
            "checkpoint-interval-ms",
            "predicted-wan-bytes-per-s",
            "predicted-headroom-percent",
        ]
        self.lies = False
        """It says placed and moves nothing."""
        self._flink = flink
        self._seen: dict[str, str | None] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self.beat()
        for job in self._flink.jobs:
            self.obey(job)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def beat(self, age_s: float = 0.0) -> None:
        """Write agent.json, as of some seconds ago."""
        self._write(
            "agent.json",
            {
                "edgeplace_agent": 1,
                "version": "0.2.0",
                "flink": "2.3.0",
                "pid": os.getpid(),
                "lost": "strict",
                "fallback_after_s": 30,
                "plans": str(self.plans),
                "started_ms": 1,
                "now_ms": now_ms() - int(age_s * 1000),
                "settings": self.settings,
                "no_rescaling_because": self.no_rescaling_because,
                "resource_manager": self.resource_manager,
                "task_managers": [
                    {"id": t.id, "host": t.host, "slots": t.slots}
                    for t in self._flink.task_managers
                ],
                "cordons": self._cordons(),
            },
        )

    def _cordons(self) -> list[dict[str, Any]]:
        if not self.keeps_cordons:
            return []
        kept = cordons(PlansFolder(self.plans), time.time())
        return [{"file": each.path.name, "until_s": each.expires_s} for each in kept]

    def _run(self) -> None:
        beaten = 0.0
        while not self._stop.wait(0.02):
            if not self.alive:
                continue
            if time.monotonic() - beaten > 0.2:
                self.beat()
                beaten = time.monotonic()
            with self._flink.lock:
                for job in self._flink.jobs:
                    self.obey(job)

    def _plan_file(self, job: FakeJob) -> Path | None:
        for k in (job.id, key(job.name)):
            untils = []
            for path in self.plans.glob(f"{k}.until-*.schedulercfg"):
                expires_s = int(path.name.split(".until-")[1].split(".")[0])
                if expires_s > time.time():
                    untils.append((expires_s, path))
            if untils:
                return max(untils)[1]
        paths = [self.plans / f"{k}.schedulercfg" for k in (job.id, key(job.name))]
        return next((p for p in paths if p.exists()), None)

    def obey(self, job: FakeJob) -> None:
        path = self._plan_file(job)
        try:
            raw = path.read_bytes() if path else None
        except FileNotFoundError:
            return  # Removed since it was listed: the next look sees what there is.
        sha = hashlib.sha256(raw).hexdigest() if raw is not None else None
        if job.id in self._seen and self._seen[job.id] == sha:
            return
        self._seen[job.id] = sha
        if raw is None:
            self.report(job, "unplanned" if job.applied is None else "placed", None, None, [])
            return
        text = raw.decode(errors="replace")
        verdict = self.judge(job, text) if self.judge else None
        if verdict is None:
            verdict = self.place(job, text)
        self.report(job, verdict[0], path, sha, verdict[1])

    def place(self, job: FakeJob, text: str) -> tuple[str, list[str]]:
        graph = JobGraph(
            name=job.name,
            operators=tuple(
                Operator(id=v.id, name=v.name, parallelism=len(v.places), max_parallelism=32768)
                for v in job.vertices
            ),
        )
        try:
            graph = rescaled(Schedulercfg(text), graph, "the plan")
            wanted = schedulercfg.parse(text, job=graph, cluster=self._cluster(), dialect="modern")
        except InvalidInputError as e:
            return "rejected", [e.what]
        if job.checkpoints_fail:
            return "rejected", ["the checkpoint before the move failed: storage is full"]
        job.applied = hashlib.sha256(text.encode()).hexdigest()
        if wanted != job.placement and not self.lies:
            job.place(wanted)
            job.exceptions.append((job.deployed_ms - 1, "PlanChanged: placement plan changed"))
            self.on_move(job)
        return "placed", []

    def _cluster(self) -> Cluster:
        return Cluster(
            sites=(Site(id="s"),),
            nodes=(Node(id="n", site="s", cores=1.0),),
            task_managers=tuple(
                TaskManager(id=t.id, node="n", slots=t.slots, host=t.host)
                for t in self._flink.task_managers
            ),
        )

    def report(
        self, job: FakeJob, state: str, path: Path | None, sha: str | None, reasons: list[str]
    ) -> None:
        total = sum(len(v.places) for v in job.vertices)
        self._write(
            f"{job.id}.status.json",
            {
                "edgeplace_status": 1,
                "job_id": job.id,
                "job_name": job.name,
                "state": state,
                "plan_file": str(path) if path else None,
                "plan_sha256": sha,
                "applied_sha256": job.applied,
                "reasons": reasons,
                "waiting_for": job.waiting_for,
                "away": [],
                "subtasks": total,
                "exact": total if state == "placed" else 0,
                "moves": job.moves,
                "updated_ms": now_ms(),
            },
        )

    def _write(self, name: str, content: Any) -> None:
        part = self.plans / f".{name}.part"
        part.write_text(json.dumps(content))
        part.rename(self.plans / name)
