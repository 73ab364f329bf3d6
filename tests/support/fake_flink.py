"""A Flink of memory: its REST API on a loopback port, and an agent that obeys plan files.

It keeps to the answers of Flink 2.3, as far as our client looks.
"""

import json
import re
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.fake_agent import FakeAgent
from tests.support.fake_job import FakeJob, FakeTaskManager, now_ms, wordcount

JAR = "/opt/flink/opt/edgeplace-flink-agent.jar"


class FakeFlink:
    """A JobManager, `with FakeFlink(folder) as flink:`; then `flink.url`.

    Parameters
    ----------
    plans
        The folder of plans; None: a Flink without the agent.
    tls
        Certificate and key (PEM).
    """

    def __init__(
        self, plans: Path | None, jobs: list[FakeJob] | None = None, tls: Path | None = None
    ) -> None:
        self.jobs = jobs if jobs is not None else [wordcount()]
        self.task_managers = [
            FakeTaskManager("pi-1", "10.0.0.1", 2),
            FakeTaskManager("pi-2", "10.0.0.2", 2),
            FakeTaskManager("pi-3", "10.0.0.3", 2),
            FakeTaskManager("server", "10.0.0.9", 4),
        ]
        self.token: str | None = None
        self.down = False
        """Answer nothing: connections are closed."""
        self.configuration = {"rest.port": "8081"}
        self.metrics: dict[str, str] = {}
        """Metric -> value, overrides those that each subtask and TaskManager has."""
        self.web_page = False
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.RLock()
        self.agent = None if plans is None else FakeAgent(self, plans)
        self._tls = tls

    def __enter__(self) -> "FakeFlink":
        flink = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                flink.asked.append(self.path)
                flink.headers.append(dict(self.headers))
                if flink.down:
                    self.close_connection = True
                    return
                status, content = flink.answer(self.path, self.headers.get("Authorization"))
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._tls)
            # A client that does not trust us ends the handshake in the handler's thread.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self._server.handle_error = lambda *args: None  # type: ignore[method-assign]
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        if self.agent:
            self.agent.start()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.agent:
            self.agent.stop()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def submit(self, job: FakeJob) -> None:
        """Run another job. The agent knows it at once."""
        with self.lock:
            self.jobs.append(job)
            if self.agent:
                self.agent.obey(job)

    def answer(self, target: str, authorization: str | None) -> tuple[int, Any]:
        if self.web_page:
            return 200, b"<html>hello</html>"
        if self.token and authorization != f"Bearer {self.token}":
            return 401, {"errors": ["Unauthorized"]}
        url = urlsplit(target)
        with self.lock:
            self._get = parse_qs(url.query).get("get", [""])[0]
            for pattern, answer in self._pages():
                hit = re.fullmatch(pattern, unquote(url.path))
                if hit:
                    found = answer(*hit.groups())
                    if found is not None:
                        return 200, found
            return 404, {"errors": [f"NotFoundException: {url.path} not found\n\tat x.java:1"]}

    def _pages(self) -> list[tuple[str, Callable[..., Any]]]:
        job = r"/jobs/([0-9a-f]{32})"
        return [
            (r"/overview", lambda: {"flink-version": "2.3.0"}),
            (r"/jobs/overview", self._overview),
            (job, self._job),
            (rf"{job}/vertices/([0-9a-f]{{32}})", self._vertex),
            (rf"{job}/checkpoints", self._checkpoints),
            (rf"{job}/checkpoints/config", self._checkpoint_config),
            (rf"{job}/checkpoints/details/([0-9]+)/subtasks/([0-9a-f]{{32}})", self._state),
            (rf"{job}/exceptions", self._exceptions),
            (r"/taskmanagers", lambda: {"taskmanagers": list(map(self._tm, self.task_managers))}),
            (r"/taskmanagers/([^/]+)/metrics", self._tm_metrics),
            (r"/taskmanagers/(.+)", self._tm_detail),
            (rf"{job}/plan", lambda job_id: {"plan": self._job(job_id)["plan"]}),
            (rf"{job}/metrics", lambda job_id: []),
            (rf"{job}/vertices/([0-9a-f]{{32}})/metrics", self._vertex_metrics),
            (rf"{job}/vertices/([0-9a-f]{{32}})/subtasks/metrics", self._metric_names),
            (
                r"/jobmanager/config",
                lambda: [{"key": k, "value": v} for k, v in self.configuration.items()],
            ),
            (r"/jobmanager/environment", self._environment),
        ]

    def _find(self, job_id: str) -> FakeJob | None:
        return next((j for j in self.jobs if j.id == job_id), None)

    def _overview(self) -> Any:
        return {"jobs": [{"jid": j.id, "name": j.name, "state": j.state} for j in self.jobs]}

    def _job(self, job_id: str) -> Any:
        job = self._find(job_id)
        if job is None:
            return None
        nodes = []
        for n, v in enumerate(job.vertices):
            node: dict[str, Any] = {"id": v.id, "parallelism": len(v.places)}
            if n:
                source = job.vertices[n - 1]
                node["inputs"] = [
                    {
                        "num": 0,
                        "id": source.id,
                        "ship_strategy": "REBALANCE",
                        "exchange": "pipelined",
                    }
                ]
            nodes.append(node)
        return {
            "jid": job.id,
            "name": job.name,
            "state": job.state,
            "job-type": "STREAMING",
            "now": now_ms(),
            "start-time": job.deployed_ms,
            "timestamps": {"RUNNING": job.deployed_ms, "CREATED": 1},
            "vertices": [
                {
                    "id": v.id,
                    "name": v.name,
                    "parallelism": len(v.places),
                    "maxParallelism": 32768,
                    "slotSharingGroupId": v.group,
                }
                for v in job.vertices
            ],
            "plan": {"jid": job.id, "name": job.name, "type": "STREAMING", "nodes": nodes},
        }

    def _vertex(self, job_id: str, vertex_id: str) -> Any:
        job = self._find(job_id)
        vertex = next((v for v in job.vertices if v.id == vertex_id), None) if job else None
        if job is None or vertex is None:
            return None
        return {
            "id": vertex.id,
            "name": vertex.name,
            "parallelism": len(vertex.places),
            "now": now_ms(),
            "subtasks": [
                {
                    "subtask": i,
                    "status": vertex.state or job.vertex_state,
                    "attempt": job.attempt,
                    "endpoint": f"{place}:1" if place else "(unassigned)",
                    "start-time": job.deployed_ms,
                    "taskmanager-id": place or "(unassigned)",
                }
                for i, place in enumerate(vertex.places)
            ],
        }

    def _checkpoints(self, job_id: str) -> Any:
        job = self._find(job_id)
        if job is None or job.interval_ms is None:
            return None
        count = (now_ms() - job.deployed_ms) // job.interval_ms
        at = job.deployed_ms + count * job.interval_ms
        taken = {
            "id": 1000 * job.attempt + count,
            "trigger_timestamp": at,
            "end_to_end_duration": 5,
            "state_size": sum(v.state_bytes * len(v.places) for v in job.vertices),
        }
        good = count if not job.checkpoints_fail else 0
        return {
            "counts": {"completed": good, "failed": count - good},
            "latest": {
                "completed": taken if good else None,
                "failed": {**taken, "failure_message": "storage is full"}
                if count and not good
                else None,
            },
        }

    def _checkpoint_config(self, job_id: str) -> Any:
        job = self._find(job_id)
        if job is None:
            return None
        return {
            "interval": job.interval_ms or 2**63 - 1,
            "timeout": 600000,
            "max_concurrent": 1,
            "state_backend": "HashMapStateBackend",
        }

    def _state(self, job_id: str, checkpoint: str, vertex_id: str) -> Any:
        job = self._find(job_id)
        vertex = next((v for v in job.vertices if v.id == vertex_id), None) if job else None
        if vertex is None:
            return None
        return {
            "subtasks": [
                {"index": i, "state_size": vertex.state_bytes} for i in range(len(vertex.places))
            ]
        }

    def _exceptions(self, job_id: str) -> Any:
        job = self._find(job_id)
        if job is None:
            return None
        if job.fails_with:
            job.exceptions.append((now_ms() + 1, job.fails_with))
            job.restart()
        entries = [
            {"timestamp": at, "exceptionName": "X", "stacktrace": f"{text}\n\tat x.java:1"}
            for at, text in reversed(job.exceptions)
        ]
        return {"exceptionHistory": {"entries": entries, "truncated": False}}

    def _held(self, tm: FakeTaskManager) -> Counter[str]:
        held: Counter[str] = Counter()
        for job in self.jobs:
            groups: dict[str, int] = {}
            for v in job.vertices:
                groups[v.group] = max(groups.get(v.group, 0), v.places.count(tm.id))
            held[job.id] += sum(groups.values())
        return +held

    def _tm(self, tm: FakeTaskManager) -> dict[str, Any]:
        return {
            "id": tm.id,
            "path": f"pekko.tcp://flink@{tm.host}:4000/user/rpc/taskmanager_0",
            "slotsNumber": tm.slots,
            "freeSlots": tm.slots - sum(self._held(tm).values()),
            "hardware": {"cpuCores": 4, "physicalMemory": 2**32},
            "memoryConfiguration": {"taskHeap": 10**9, "managedMemory": 0},
            "dataPort": -1,
        }

    def _tm_detail(self, tm_id: str) -> Any:
        tm = next((t for t in self.task_managers if t.id == tm_id), None)
        if tm is None:
            return None
        slots = [{"jobId": j} for j, n in self._held(tm).items() for _ in range(n)]
        return {**self._tm(tm), "allocatedSlots": slots}

    # As Flink does, these leave out what they do not know.

    def _vertex_metrics(self, job_id: str, vertex_id: str) -> Any:
        job = self._find(job_id)
        vertex = next((v for v in job.vertices if v.id == vertex_id), None) if job else None
        if job is None or vertex is None:
            return None
        ms = now_ms() - job.deployed_ms
        known = {"numRecordsIn": ms, "numRecordsOut": ms, "accumulateBusyTimeMs": ms // 4}
        if vertex.name.startswith("Source: "):
            known["Source__lines.numRecordsOut"] = ms
        values = {
            f"{i}.{name}": value
            for i in range(len(vertex.places))
            for name, value in {**known, **self.metrics}.items()
        }
        return self._values(values)

    def _metric_names(self, job_id: str, vertex_id: str) -> Any:
        answer = self._vertex_metrics(job_id, vertex_id)
        return answer and [{"id": m["id"][2:]} for m in answer if m["id"].startswith("0.")]

    def _tm_metrics(self, tm_id: str) -> Any:
        known = any(t.id == tm_id for t in self.task_managers)
        return self._values({"Status.JVM.CPU.Time": now_ms() * 10**6}) if known else None

    def _values(self, values: dict[str, Any]) -> list[dict[str, str]]:
        if not self._get:
            return [{"id": name} for name in values]
        wanted = [name for name in self._get.split(",") if name in values]
        return [{"id": name, "value": str(values[name])} for name in wanted]

    def _environment(self) -> Any:
        options = [
            "-Xmx444596224",
            "-Dlog4j.configurationFile=file:/opt/flink/conf/log4j.properties",
        ]
        if self.agent:
            options.append(f"-javaagent:{JAR}=plans={self.agent.plans},lost=strict")
        return {"jvm": {"version": "17", "arch": "amd64", "options": options}, "classpath": []}
