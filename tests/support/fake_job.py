"""What runs on a Flink of memory."""

import time
from dataclasses import dataclass, field


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass
class FakeVertex:
    id: str
    name: str
    places: list[str | None]
    group: str = "g1"
    state_bytes: int = 1000
    state: str = ""
    """If it is not that of the job's vertices."""


@dataclass
class FakeJob:
    id: str
    name: str
    vertices: list[FakeVertex]
    state: str = "RUNNING"
    interval_ms: int | None = 200
    """None: checkpointing is off."""
    checkpoints_fail: bool = False
    deployed_ms: int = field(default_factory=lambda: now_ms() - 60_000)
    attempt: int = 0
    exceptions: list[tuple[int, str]] = field(default_factory=list)
    fails_with: str | None = None
    """It fails for this, again and again: whenever somebody asks for its exceptions."""
    vertex_state: str = "RUNNING"
    moves: int = 0
    waiting_for: list[str] = field(default_factory=list)
    """TaskManagers without which its subtasks are nowhere."""
    applied: str | None = None
    """Text of the plan it has."""

    @property
    def placement(self) -> dict[str, tuple[str | None, ...]]:
        return {v.id: tuple(v.places) for v in self.vertices}

    def place(self, placement: dict[str, tuple[str, ...]]) -> None:
        is_rescaled = any(len(v.places) != len(placement[v.id]) for v in self.vertices)
        for v in self.vertices:
            v.places = list(placement[v.id])
        self.vertex_state = "RUNNING"
        self.waiting_for = []
        self.restart()
        if is_rescaled:
            # Another scheduler, which counts anew.
            self.attempt = 0
            self.exceptions = []
        self.moves += 1

    def restart(self) -> None:
        self.deployed_ms = now_ms()
        self.attempt += 1


@dataclass
class FakeTaskManager:
    id: str
    host: str
    slots: int


def wordcount(name: str = "wordcount", job_id: str = "a" * 32) -> FakeJob:
    """Two sources and two maps that share slots on pi-1 and pi-2, a sink on the server."""
    return FakeJob(
        job_id,
        name,
        [
            FakeVertex(f"{1:032x}", "Source: lines", ["pi-1", "pi-2"]),
            FakeVertex(f"{2:032x}", "map", ["pi-1", "pi-2"]),
            FakeVertex(f"{3:032x}", "Sink: out", ["server"]),
        ],
    )
