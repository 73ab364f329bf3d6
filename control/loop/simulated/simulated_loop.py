"""The real `step` in a simulated Flink: a driver without a clock, killed wherever it may be."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgeplace.control.loop.events import (
    AnyEffect,
    AnyEvent,
    Asked,
    Ended,
    Solve,
    Solved,
    Started,
    Weigh,
)
from edgeplace.control.loop.journal import FIRST, digest, written
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.simulated.simulated_flink import SimulatedFlink
from edgeplace.control.loop.sites import by_site
from edgeplace.control.loop.step import Stepped, step
from edgeplace.control.settings import ControlSettings

SOLVER_S = 3.0


class KilledError(Exception):
    """The loop was killed between two of its acts."""


@dataclass
class SimulatedLoop:
    """A loop, its journal, and what people ask of it.

    Parameters
    ----------
    requests
        What people ask, in the order of time.
    """

    flink: SimulatedFlink
    settings: ControlSettings
    requests: list[Asked] = field(default_factory=list)
    i_know: bool = False
    memory: Memory = field(default_factory=Memory)
    lines: list[str] = field(default_factory=list)
    steps: list[tuple[AnyEvent, Memory, Stepped]] = field(default_factory=list)
    """Each event, the memory before it, and what came of it."""
    kills: int = 0
    _before: str = FIRST
    _answers: list[Solved] = field(default_factory=list)

    def run(self) -> None:
        """Run until the load is over."""
        polls = self._polls()
        while not self.flink.over:
            try:
                self._start()
                for _ in polls:
                    self._cycle()
            except KilledError:
                self.kills += 1

    def _polls(self) -> Iterator[None]:
        while not self.flink.over:
            self.flink.advance(round(self.settings.poll_s))
            yield

    def _start(self) -> None:
        self._answers.clear()
        self.flink.forget()
        self._handle(
            Started(
                at_s=self.flink.now_s,
                epoch=self.memory.epoch + 1,
                settings=self.settings,
                i_know=self.i_know,
                sites=by_site(self.flink.cluster),
            )
        )

    def _cycle(self) -> None:
        now_s = self.flink.now_s
        while self._answers and self._answers[0].at_s <= now_s:
            self._handle(self._answers.pop(0))
        while self.requests and self.requests[0].at_s <= now_s:
            asked = self.requests.pop(0)
            if asked.what in ("approve", "reject") and not asked.id and self.memory.proposal:
                asked = asked.model_copy(update={"id": self.memory.proposal.id})
            self._handle(asked.model_copy(update={"wall_s": now_s + self.flink.skew_s}))
        if not self._handle(self.flink.poll()):
            # What was not put on record was not told.
            self.flink.forget()

    def _handle(self, event: AnyEvent) -> bool:
        if self.flink.disk_is_full():
            return False
        self._maybe_killed()
        stepped = step(self.memory, event)
        line = written(stepped, event, self._before)
        self.lines.append(line)
        self._before = digest(line)
        self.steps.append((event, self.memory, stepped))
        self.memory = stepped.memory
        self._maybe_killed()
        for effect in stepped.effects:
            self._do(effect)
        return True

    def _do(self, effect: AnyEffect) -> None:
        if isinstance(effect, Solve):
            solved = self.flink.solve(effect)
            if solved is not None:
                at_s = self.flink.now_s + SOLVER_S
                self._answers = [solved.model_copy(update={"at_s": at_s})]
            return
        if isinstance(effect, Weigh):
            ended: Ended = self.flink.weigh(effect)
        else:
            ended = self.flink.apply(effect)
        self._maybe_killed()
        self._handle(ended)
        self._maybe_killed()

    def _maybe_killed(self) -> None:
        if self.flink.killed():
            raise KilledError
