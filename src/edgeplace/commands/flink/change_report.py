"""The report of `flink apply` and `flink drain`: text for people, or one JSON document."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress

from edgeplace.adapters.flink.apply import (
    ApplyEnd,
    ApplyOutcome,
    MovePrice,
    Obstacle,
    Proposal,
    carry_out,
)
from edgeplace.adapters.flink.plans import PlansFolder
from edgeplace.adapters.flink.rest import LiveFlink
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.quantities import size
from edgeplace.model import first_few

_MOST_NAMED = 8
_STATUS_OF = {
    ApplyEnd.UNCHANGED: ExitStatus.OK,
    ApplyEnd.APPLIED: ExitStatus.OK,
    ApplyEnd.REFUSED: ExitStatus.NOT_APPLIED,
    ApplyEnd.ROLLED_BACK: ExitStatus.NOT_APPLIED,
    ApplyEnd.UNVERIFIED: ExitStatus.UNREACHABLE,
    ApplyEnd.INTERRUPTED: ExitStatus.INTERRUPTED,
}
_TITLES = {
    ApplyEnd.REFUSED: "not applied; Flink shows the former placement running",
    ApplyEnd.ROLLED_BACK: "rolled back; Flink shows the former placement running again",
    ApplyEnd.UNVERIFIED: "not applied, and the former placement was not seen running again",
    ApplyEnd.INTERRUPTED: "interrupted; what came of it was not awaited, --dry-run shows it",
}


class Report:
    """The output of one command.

    What cannot be written, for its reader has left or the disk is full, is left out: a change
    that is under way comes to its end, and the exit status tells which.

    Parameters
    ----------
    command
        Its name, for messages.
    as_json
        One JSON document at the end, and no text.
    """

    def __init__(self, console: Console, command: str, as_json: bool) -> None:
        self._console = console
        self._command = command
        self._as_json = as_json
        self._jobs: dict[str, dict[str, object]] = {}
        self._problems: list[Obstacle] = []
        self.facts: dict[str, object] = {}
        """What stands at the top of the JSON document."""

    def say(self, text: str, style: str = "") -> None:
        """Print a line for people."""
        if not self._as_json:
            with _unless_unread():
                self._console.text(text, style)

    def warn(self, text: str) -> None:
        """Print a warning for people."""
        if not self._as_json:
            self._problem(f"warning: {text}")

    def proposals(self, proposals: Iterable[Proposal]) -> None:
        """Show what would change."""
        for proposal in proposals:
            self._jobs[proposal.now.job.id] = _plain(proposal)
            if not self._as_json:
                with _unless_unread():
                    _show(self._console, proposal)
            for warning in proposal.warnings:
                self.warn(warning)

    def problems(self, problems: Sequence[Obstacle]) -> None:
        """Show what is in the way, all of it."""
        self._problems += problems
        if not self._as_json:
            self._problem(f"edgeplace flink {self._command}: nothing was changed")
            for problem in problems:
                self._problem(f"  {problem.what}\n    cure: {problem.cure}")

    def carry_out(
        self, live: LiveFlink, folder: PlansFolder, proposal: Proposal, timeout_s: float
    ) -> ApplyOutcome:
        """Apply a proposal, and show what came of it."""
        outcome = carry_out(live, folder, proposal, timeout_s=timeout_s, tell=self.say)
        entry = self._jobs.setdefault(proposal.now.job.id, _plain(proposal))
        entry |= {"end": outcome.end.value, "reasons": list(outcome.reasons)}
        entry["warnings"] = list(outcome.warnings)
        job = proposal.now.job.name
        for warning in set(outcome.warnings) - set(proposal.warnings):
            self.warn(warning)
        if outcome.end is ApplyEnd.UNCHANGED:
            self.say(f"{job}: nothing to do: {proposal.change.path} says so already")
        elif outcome.end is ApplyEnd.APPLIED:
            self.say(f"{job}: done", style="green")
        elif not self._as_json:
            self._problem(f"edgeplace flink {self._command}: {job}: {_TITLES[outcome.end]}")
            for reason in outcome.reasons:
                self._problem(f"  {reason}")
        return outcome

    def end(self, end: ApplyEnd | str) -> ExitStatus:
        """Print the JSON document if it is wanted, and return the exit status.

        Parameters
        ----------
        end
            How it ended in all; `dry run` where nothing was to be done.
        """
        if self._as_json:
            document = {
                **self.facts,
                "end": str(end),
                "jobs": list(self._jobs.values()),
                "problems": [problem._asdict() for problem in self._problems],
            }
            with _unless_unread():
                self._console.json(document)
        return _STATUS_OF[end] if isinstance(end, ApplyEnd) else ExitStatus.OK

    def _problem(self, text: str) -> None:
        with _unless_unread():
            self._console.problem(text)


def _unless_unread() -> AbstractContextManager[None]:
    # rich ends the process where it sees that the reader has left.
    return suppress(OSError, SystemExit)


def _show(console: Console, proposal: Proposal) -> None:
    job, moved = proposal.now.job, proposal.moves
    total = sum(op.parallelism for op in proposal.now.graph.operators)
    console.heading(f"{job.name} ({job.id})")
    if not moved:
        console.text(f"none of its {total} subtasks is to move")
        return
    rows: dict[tuple[str, str, str, str], list[int]] = {}
    for m in moved:
        rows.setdefault((m.operator, m.name, m.source, m.target), []).append(m.subtask + 1)
    console.table(
        ("operator", "subtasks", "from", "to"),
        [
            (name, _listed(numbers), source, target)
            for (_, name, source, target), numbers in rows.items()
        ],
    )
    console.text(f"{len(moved)} of {total} subtasks are to move")
    state = proposal.price.state_bytes
    console.text(
        "state that moves: unknown, no checkpoint tells"
        if state is None
        else f"state that moves: {size(state)} by the last checkpoint"
    )
    _show_pause(console, proposal.price)


def _show_pause(console: Console, price: MovePrice) -> None:
    read = price.read_bytes
    if read:
        most = max(read, key=lambda task_manager: read[task_manager])
        console.text(
            f"state read back from the checkpoint storage: {size(sum(read.values()))}, most of it "
            f"by {most}: {size(read[most])}"
        )
    if price.pause_ms is None:
        console.text("expected pause: unknown, no checkpoint has completed")
        return
    pause = (
        f"expected pause: about {price.pause_ms / 1000:,.1f} s, an estimate: the last checkpoint's "
        "duration, 2 s to redeploy"
    )
    console.text(
        f"{pause}; reading state back over slow links is not counted: give --cluster, with links "
        "and checkpoint_storage"
        if price.read_s is None
        else f"{pause}, and {price.read_s:,.1f} s to read state back over the slowest link"
    )


def _plain(proposal: Proposal) -> dict[str, object]:
    return {
        "id": proposal.now.job.id,
        "name": proposal.now.job.name,
        "subtasks": sum(op.parallelism for op in proposal.now.graph.operators),
        "moves": [
            {
                "operator": m.operator,
                "name": m.name,
                "subtask": m.subtask,
                "from": m.source,
                "to": m.target,
            }
            for m in proposal.moves
        ],
        "state_bytes": proposal.price.state_bytes,
        "read_bytes": proposal.price.read_bytes,
        "read_s": proposal.price.read_s,
        "expected_pause_ms": proposal.price.pause_ms,
        "plan_file": str(proposal.change.path),
        "warnings": list(proposal.warnings),
    }


def _listed(numbers: list[int]) -> str:
    return first_few(list(map(str, numbers)), _MOST_NAMED)
