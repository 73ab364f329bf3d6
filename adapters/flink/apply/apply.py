"""Carrying out a proposal: write the plan, watch the agent, verify by REST, or go back.

Success is never claimed of what was not seen: each subtask at its place by Flink's own answers,
RUNNING or FINISHED, and a checkpoint completed since. Everything else leads back to the former
placement; but a job that fails after the move may do so for a reason of its own, so that its
recovery is awaited once.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from edgeplace.adapters.flink.apply.proposal import Proposal, once_more
from edgeplace.adapters.flink.apply.rollback import FormerPlan
from edgeplace.adapters.flink.errors import (
    FlinkNotFoundError,
    FlinkUnreachableError,
    PlanNotWrittenError,
)
from edgeplace.adapters.flink.plans.agent_files import JobStatus
from edgeplace.adapters.flink.plans.folder import PlansFolder, sha256
from edgeplace.adapters.flink.plans.plan_file import Places
from edgeplace.adapters.flink.rest.job_states import TERMINAL
from edgeplace.adapters.flink.rest.live import Checkpoints, JobException, LiveFlink, Subtask
from edgeplace.model import EdgeplaceError, InvalidInputError
from edgeplace.model.text import first_few

_LOOK_S = 0.1
"""Between looks at the agent's files."""
_ASK_S = 0.5
"""Between questions to Flink, which answers from a cache of some seconds."""
_AGENTS_LOOKS_S = 2.0
"""By then the agent has looked at its folder, and judged what it saw."""
_AGAIN_S = 3.0
"""Between attempts to get back."""
_AGENTS_OWN = "placement plan changed"
_DUE_AFTER_INTERVALS = 3
_MOST_SHOWN = 3

Tell = Callable[[str], None]


class ApplyEnd(StrEnum):
    """How it ended."""

    UNCHANGED = "unchanged"
    """The job ran as planned already, with its plan in the folder."""
    APPLIED = "applied"
    """Every subtask was seen at its place, and the job healthy there."""
    REFUSED = "refused"
    """Nothing was moved: the former placement was seen running."""
    ROLLED_BACK = "rolled back"
    """The job was moved, and was seen back at the former placement."""
    UNVERIFIED = "unverified"
    """A plan was written, and the former placement was not seen running again."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or a signal: the former plan was put back, what came of it was not awaited."""


@dataclass(frozen=True)
class ApplyOutcome:
    """What came of a proposal."""

    end: ApplyEnd
    reasons: tuple[str, ...] = ()
    """Why it is not applied, and what is known."""
    warnings: tuple[str, ...] = ()


def carry_out(
    live: LiveFlink,
    folder: PlansFolder,
    proposal: Proposal,
    *,
    timeout_s: float,
    tell: Tell = lambda text: None,
) -> ApplyOutcome:
    """Write the plan of a proposal without problems, and see the job run by it, or go back.

    The caller holds `folder.locked()`.

    Parameters
    ----------
    timeout_s
        Wall time until the job has to run as planned, and again for the way back.
    tell
        Called with a line of text when something has been reached.

    Raises
    ------
    PlanNotWrittenError
        If the plan cannot be written: nothing has changed then.
    FlinkUnreachableError
        If Flink does not answer before anything is written.
    """
    if proposal.nothing_to_do:
        return ApplyOutcome(ApplyEnd.UNCHANGED, warnings=proposal.warnings)
    return _Transition(live, folder, proposal, timeout_s, tell).run()


class _FailedError(Exception):
    """The proposal cannot be brought to its end; the reasons are for the user."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class _JobFailedError(_FailedError):
    """The job failed at its new places, for whatever reason."""


class _Transition:
    def __init__(
        self,
        live: LiveFlink,
        folder: PlansFolder,
        proposal: Proposal,
        timeout_s: float,
        tell: Tell,
    ) -> None:
        self._live = live
        self._folder = folder
        self._proposal = proposal
        self._job = proposal.now.job
        self._timeout_s = timeout_s
        self._tell = tell
        self._begun = False
        self._judged = False
        """The agent has said what it thinks of the new plan."""
        self._last_exception_ms = -1
        self._forget_exceptions()
        self._former = FormerPlan(folder, proposal.change)

    def run(self) -> ApplyOutcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            if not self._begun:
                raise
            words = self._put_back(self._moved())
            return ApplyOutcome(ApplyEnd.INTERRUPTED, (words, self._where(), self._agents_words()))
        finally:
            # After a bug of ours too: what was written does not stay unwatched.
            if self._former.needed:
                self._former.restore(self._moved())
            self._former.discard()

    def _run(self) -> ApplyOutcome:
        p = self._proposal
        change = p.change
        staged = None if change.text is None else self._folder.stage(change.text)
        # From here on: an interruption may come before or after the change.
        self._begun = self._former.needed = True
        if staged is None:
            self._folder.remove(change.path)
        else:
            self._folder.put(staged, change.path)
        self._tell(f"{change.path} {'removed' if change.text is None else 'written'}")
        deadline = time.monotonic() + self._timeout_s
        try:
            self._await_agent(change.follows, change.text, deadline)
            arrived = self._verify(p.after, deadline)
            self._tell(f"Flink shows every subtask of {self._job.name!r} where it is planned")
            warnings = self._prove(arrived, deadline) if p.moves else ()
        except _FailedError as e:
            return self._go_back(e.reasons)
        self._former.needed = False
        return ApplyOutcome(ApplyEnd.APPLIED, (), (*p.warnings, *warnings))

    def _prove(
        self, arrived: Mapping[str, tuple[Subtask, ...]], deadline: float
    ) -> tuple[str, ...]:
        """See a checkpoint of the new placement, and forgive one failure; return warnings."""
        try:
            return self._await_checkpoint(arrived, deadline)
        except _JobFailedError as e:
            what = "; ".join(e.reasons)
        self._tell(f"{what}: its recovery is awaited once")
        change = self._proposal.change
        self._await_agent(change.follows, change.text, deadline)
        arrived = self._verify(self._proposal.after, deadline)
        self._wait(self._forget_exceptions, deadline, _ASK_S)
        again = self._await_checkpoint(arrived, deadline)
        return (f"{what}, and has recovered there", *again)

    def _go_back(self, reasons: tuple[str, ...]) -> ApplyOutcome:
        p = self._proposal
        moved = self._moved()
        for reason in reasons:
            self._tell(reason)
        words = self._put_back(moved)
        if not moved and not self._judged:
            # The agent may have read the new plan just before it was taken back.
            moved = self._wait(self._moved, time.monotonic() + _AGENTS_LOOKS_S, _LOOK_S)
            if moved:
                words = self._put_back(moved)
        self._tell(words)
        deadline = time.monotonic() + self._timeout_s
        try:
            if moved:
                self._await_return(deadline)
            self._verify(p.now.places, deadline)
        except _FailedError as e:
            known = (*reasons, words, *e.reasons, self._where(), self._agents_words())
            return ApplyOutcome(ApplyEnd.UNVERIFIED, known, p.warnings)
        end = ApplyEnd.ROLLED_BACK if moved else ApplyEnd.REFUSED
        return ApplyOutcome(end, (*reasons, words), p.warnings)

    def _put_back(self, moved: bool) -> str:
        """Restore the plan file, and say what stands there now."""
        path = self._proposal.change.path
        try:
            text = self._former.restore(moved)
        except PlanNotWrittenError as e:
            return f"the plan file {path} could not be put back: {e.what} ({e.cure})"
        if text is None:
            return f"the plan file {path} was removed again"
        if text == self._proposal.change.former:
            return f"the former plan was put back into {path}"
        return f"{path} now holds the former placement as a plan"

    def _moved(self) -> bool:
        """Tell whether the agent has moved the job by the new plan, or has begun to."""
        try:
            said = self._folder.status(self._job.id)
        except InvalidInputError:
            return False
        if not self._proposal.moves or said is None:
            return False
        new = sha256(self._proposal.change.follows)
        return said.applied_sha256 == new or (said.plan_sha256 == new and said.state == "moving")

    def _await_agent(self, text: str, in_file: str | None, deadline: float) -> None:
        """Wait until the agent has placed all of a job by a plan, while the file stays as it is."""
        said: JobStatus | None = None

        def placed() -> bool:
            nonlocal said
            self._check_file(in_file)
            status = self._status()
            if status is None:
                # The agent forgets a job that has ended.
                self._check_state()
                return False
            if status.plan_sha256 != sha256(text):
                return False
            said = status
            self._judged = True
            if said.state in ("rejected", "pending"):
                verdict = "rejects" if said.state == "rejected" else "cannot use now"
                why = said.reasons or ("see the JobManager's log",)
                raise _FailedError(*(f"the agent {verdict} the plan: {r}" for r in why))
            return said.state == "placed" and said.applied_sha256 == said.plan_sha256

        if not self._wait(placed, deadline, _LOOK_S):
            raise _FailedError(self._unplaced(said))

    def _await_return(self, deadline: float) -> None:
        """Wait until the agent has placed the job by the plan that leads back.

        A refusal is not the end: checkpoints that fail may succeed the next time, and a job that
        fails takes its plan when it restarts.
        """
        change = self._proposal.change
        follows, in_file = change.returns_to, change.way_back
        while True:
            try:
                return self._await_agent(follows, in_file, deadline)
            except _FailedError:
                if time.monotonic() + _AGAIN_S >= deadline:
                    raise
            time.sleep(_AGAIN_S)
            self._check_file(in_file)
            if in_file is not None:
                follows = in_file = once_more(in_file)
                try:
                    self._folder.put(self._folder.stage(in_file), change.path)
                except PlanNotWrittenError as e:
                    raise _FailedError(e.what) from e

    def _unplaced(self, said: JobStatus | None) -> str:
        within = f"within {self._timeout_s:g} s"
        if said is None:
            return f"the agent has not judged the plan {within}"
        if said.state == "waiting":
            return f"the job waits for {', '.join(said.waiting_for) or 'slots'}: not there {within}"
        if said.state == "away":
            away = [f"{a.task} at {a.runs_at}, not at {a.planned}" for a in said.away]
            return f"subtasks run elsewhere: {first_few(away, _MOST_SHOWN, '; ')}"
        return f"the agent has not placed the job {within}: {said.state}"

    def _where(self) -> str:
        """Say where Flink shows the job now."""
        p = self._proposal
        try:
            state = self._live.state(self._job.id)
            if state in TERMINAL:
                return f"Flink shows the job {state}"
            seen = self._live.placement(self._job.id)
        except (FlinkUnreachableError, FlinkNotFoundError, InvalidInputError) as e:
            return f"Flink could not be asked where the job runs: {e.what}"
        there = {"the new": p.after, "the former": p.now.places}
        for name, places in there.items():
            if seen == places:
                return f"Flink shows every subtask at {name} place"
        return "Flink shows subtasks at neither all of the former nor all of the new places"

    def _agents_words(self) -> str:
        try:
            said = self._folder.status(self._job.id)
        except InvalidInputError as e:
            return e.what
        if said is None:
            return f"the agent says nothing of job {self._job.id}"
        return (
            f"the agent's last word on job {self._job.id}: {said.state}, {said.exact} of "
            f"{said.subtasks} subtasks where its plan says"
        )

    def _check_file(self, text: str | None) -> None:
        path = self._proposal.change.path
        try:
            there = self._folder.read(path)
        except InvalidInputError as e:
            raise _FailedError(e.what) from e
        if there != text:
            what = "removed" if there is None else "replaced" if text else "written"
            raise _FailedError(f"the plan file {path} was {what} by somebody else meanwhile")

    def _status(self) -> JobStatus | None:
        try:
            return self._folder.status(self._job.id)
        except InvalidInputError as e:
            raise _FailedError(e.what) from e

    def _verify(self, places: Places, deadline: float) -> dict[str, tuple[Subtask, ...]]:
        """Wait until Flink shows every subtask RUNNING or FINISHED at its place."""
        seen: dict[str, tuple[Subtask, ...]] = {}
        wrong: list[str] = []

        def all_there() -> bool:
            nonlocal seen, wrong
            self._check_state()
            seen = self._live.subtasks(self._job.id)
            wrong = [
                f"{op.name} ({i + 1}/{len(places[op.id])}) "
                + (f"is {s.state} at {s.task_manager}" if s else "is not there")
                + (f", not at {place}" if s and s.task_manager != place else "")
                for op in self._proposal.now.graph.operators
                for i, (s, place) in enumerate(zip_longest(seen[op.id], places[op.id]))
                if s is None or not s.is_up or s.task_manager != place
            ]
            return not wrong

        if not self._wait(all_there, deadline, _ASK_S):
            raise _FailedError(f"Flink shows: {first_few(wrong, _MOST_SHOWN, '; ')}")
        return seen

    def _check_state(self) -> None:
        state = self._live.state(self._job.id)
        if state in TERMINAL:
            raise _FailedError(f"job {self._job.name!r} is {state}")

    def _await_checkpoint(
        self, arrived: Mapping[str, tuple[Subtask, ...]], deadline: float
    ) -> tuple[str, ...]:
        """Wait for a checkpoint of the new placement while the job runs on; return warnings."""
        job_id = self._job.id
        since_ms = max(s.started_ms for subtasks in arrived.values() for s in subtasks)
        began = time.monotonic()
        seen: Checkpoints | None = None

        def completed() -> bool:
            nonlocal seen
            self._check_file(self._proposal.change.text)
            self._check_state()
            for e in self._failures_since_move():
                raise _JobFailedError(f"the job failed at its new places: {e.text}")
            if _attempts(self._live.subtasks(job_id)) != _attempts(arrived):
                raise _JobFailedError("subtasks were restarted at their new places")
            seen = self._live.checkpoints(job_id)
            return seen.last is not None and seen.last.triggered_ms >= since_ms

        if self._wait(completed, deadline, _ASK_S):
            self._tell("a checkpoint has completed there")
            return ()
        waited_s = time.monotonic() - began
        if seen is None or (seen.last_failed_ms or 0) >= since_ms:
            why = seen.last_failure if seen else "unknown"
            raise _FailedError(f"checkpoints fail at the new places: {why[:300]}")
        interval_s = (seen.interval_ms or 0.0) / 1000
        usual_s = seen.last.duration_ms / 1000 if seen.last else 0.0
        if waited_s >= _DUE_AFTER_INTERVALS * (interval_s + usual_s):
            raise _FailedError(f"no checkpoint has completed within {waited_s:.0f} s of the move")
        return (
            f"none of the checkpoints (every {interval_s:g} s) was due within {waited_s:.0f} s of "
            "the move: whether they complete at the new places was not seen",
        )

    def _forget_exceptions(self) -> bool:
        """Count no failure up to now against the new places."""
        seen = self._live.exceptions(self._job.id, 0)
        self._last_exception_ms = max((e.at_ms for e in seen), default=-1)
        return True

    def _failures_since_move(self) -> Iterator[JobException]:
        """Yield what the job's history has after the agent's own entry, newest first."""
        for e in self._live.exceptions(self._job.id, self._last_exception_ms + 1):
            if _AGENTS_OWN in e.text:
                return
            yield e

    def _wait(self, met: Callable[[], bool], deadline: float, pause_s: float) -> bool:
        """Ask until it is met; return whether it was when the deadline passed.

        Raises
        ------
        _FailedError
            If Flink did not answer at the deadline.
        """
        while True:
            unanswered: EdgeplaceError | None = None
            try:
                if met():
                    return True
            except (FlinkUnreachableError, FlinkNotFoundError, InvalidInputError) as e:
                # A JobManager that restarts refuses, then does not know the job, then answers
                # with half of it.
                unanswered = e
            if time.monotonic() >= deadline:
                if unanswered:
                    raise _FailedError(f"Flink could not be asked: {unanswered.what}")
                return False
            time.sleep(pause_s)


def _attempts(subtasks: Mapping[str, tuple[Subtask, ...]]) -> list[tuple[int, int]]:
    return [(s.attempt, s.started_ms) for of in subtasks.values() for s in of]
