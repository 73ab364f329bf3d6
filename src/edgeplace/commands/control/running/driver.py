"""Runs the loop: brings events in, puts them on record, and does what they lead to.

All that decides is in `control/loop`. What is here has clocks, files, processes and the network.
"""

import contextlib
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from edgeplace import __version__
from edgeplace.adapters.flink.apply import ApplyEnd
from edgeplace.adapters.flink.collect import LogFolder
from edgeplace.adapters.flink.errors import (
    AgentMissingError,
    FlinkUnreachableError,
    PlanNotWrittenError,
)
from edgeplace.adapters.flink.plans import clock, find_plans_folder
from edgeplace.adapters.flink.rest import FlinkClient, LiveFlink
from edgeplace.cli.console import Console
from edgeplace.commands.control.running import request_files
from edgeplace.commands.control.running.applying import apply
from edgeplace.commands.control.running.flink_polls import FlinkPolls
from edgeplace.commands.control.running.lease import Lease
from edgeplace.commands.control.running.measuring import Measuring
from edgeplace.commands.control.running.serving import served
from edgeplace.commands.control.running.solving import Solving
from edgeplace.commands.control.running.weighing import WeightsInForce, weigh
from edgeplace.control.loop.events import (
    AnyEvent,
    Apply,
    Ended,
    Polled,
    Reloaded,
    Solve,
    Started,
    Stopped,
    Weigh,
)
from edgeplace.control.loop.journal_file import Journal, JournalFullError
from edgeplace.control.loop.rescue import is_due
from edgeplace.control.loop.sites import by_site
from edgeplace.control.loop.step import Stepped
from edgeplace.control.settings import ControlSettings, refuse_periods
from edgeplace.model import Cluster, InvalidInputError, Rules, read

_TICK_S = 0.2
_FIXED = ("folder", "plans", "credentials", "ca_file")
_FIXED_KEYS = ("jobmanager", "job", "listen")
"""What a loop that runs cannot change: it would be another one."""
_LOOK_S = 1.0
"""Between looks at the TaskManagers, where the loss of a site is to be survived."""
_LOG_BYTES = 10**9
_AT_ONCE = 4


@dataclass(frozen=True)
class Files:
    """The settings, and where their files are."""

    path: Path
    settings: ControlSettings
    folder: Path
    cluster: Path
    costs: Path | None
    rules: Path | None
    credentials: Path | None
    ca_file: Path | None
    plans: Path | None


def read_files(path: str) -> Files:
    """Read a control file; the files that it names are found from its folder.

    Raises
    ------
    InvalidInputError
        If it is none; the message has file and line.
    """
    settings = read(path, ControlSettings)
    base = Path(path).resolve().parent

    def found(name: str | None) -> Path | None:
        return None if name is None else base / name

    return Files(
        Path(path),
        settings,
        folder=base / settings.folder,
        cluster=base / settings.cluster,
        costs=found(settings.costs),
        rules=found(settings.rules),
        credentials=found(settings.credentials),
        ca_file=found(settings.ca_file),
        plans=found(settings.plans),
    )


class Driver:
    """One loop, from its start to its end.

    Parameters
    ----------
    journal
        Of the folder that the files name; closed by the caller.
    strict
        End when only a person can go on.
    """

    def __init__(
        self, files: Files, client: FlinkClient, journal: Journal, console: Console, strict: bool
    ) -> None:
        self._files = files
        self._journal = journal
        self._console = console
        self._strict = strict
        self._live = LiveFlink(client)
        self._cluster = read(files.cluster, Cluster)
        self._measuring = Measuring(files.folder, files.cluster, files.settings.measure_s)
        self._solving = self._new_solving()
        self._client = client
        self._plans = str(files.plans) if files.plans else None
        self._weights = WeightsInForce(self._live, self._plans)
        # Steady: it goes on where the journal's clock is, and never back.
        self._began_s = max(time.time(), journal.memory.now_s) - time.monotonic()
        self._full = ""
        self._shown = ""
        self._interrupted = False
        self._lease: Lease | None = None
        self._reread = False
        self._by = f"{socket.gethostname()}:{os.getpid()}"

    def _new_solving(self) -> Solving:
        files = self._files
        return Solving(self._live, files.cluster, files.costs, self._measuring.costs, files.rules)

    def reread(self) -> None:
        """Read the control file anew, before the next poll."""
        self._reread = True

    def run(self, duration_s: float | None, i_know: bool) -> bool:
        """Run until Ctrl-C or the time is over; return whether a person is needed.

        Raises
        ------
        NotLeaderError
            If somebody else has written the journal.
        """
        settings = self._files.settings
        deadline_s = None if duration_s is None else time.monotonic() + duration_s
        why = "Ctrl-C or a signal"
        with (
            contextlib.closing(LogFolder(self._files.folder / "metrics", _LOG_BYTES)) as log,
            served(settings.listen, lambda: (self._journal.memory, self._now_s())) as page,
            ThreadPoolExecutor(_AT_ONCE) as pool,
        ):
            if page:
                self._say(f"{page} shows what it does, {page}metrics the figures for Prometheus")
            polls = FlinkPolls(self._client, settings.job, self._cluster, log, pool)
            try:
                self._handle(self._started(i_know), polls)
                next_s = look_s = time.monotonic()
                while not self._interrupted and not self._needs_a_person():
                    if self._reread:
                        self._reread = False
                        self._handle(self._reloaded(polls), polls)
                        settings = self._files.settings
                    self._take_requests(polls)
                    solved = self._solving.answer(self._now_s())
                    if solved is not None:
                        self._handle(solved, polls)
                    self._measuring.begin(log)
                    measured = self._measuring.ended(self._now_s())
                    if measured is not None:
                        self._handle(measured, polls)
                    if settings.survive and time.monotonic() >= look_s:
                        if polls.others_registered():
                            next_s = time.monotonic()
                        look_s = time.monotonic() + _LOOK_S
                    if time.monotonic() >= next_s:
                        if self._lease is not None:
                            self._lease.renew()
                        self._handle(self._polled(polls), polls)
                        soon = is_due(self._journal.memory)
                        wait_s = min(_LOOK_S, settings.poll_s) if soon else settings.poll_s
                        next_s = max(next_s + wait_s, time.monotonic())
                    if deadline_s is not None and time.monotonic() >= deadline_s:
                        why = "its time is over"
                        break
                    time.sleep(_TICK_S)
            except KeyboardInterrupt:
                pass
            finally:
                self._solving.close()
                self._measuring.close()
                if self._lease is not None:
                    self._lease.leave()
            self._handle(Stopped(at_s=self._now_s(), why=why), polls)
        return self._needs_a_person()

    def _needs_a_person(self) -> bool:
        return self._strict and bool(self._journal.memory.fallen)

    def _now_s(self) -> float:
        return round(self._began_s + time.monotonic(), 3)

    def _took_lease(self) -> bool:
        """Return whether the lease is held; no change is made without it.

        Raises
        ------
        NotLeaderError
            If another loop holds it.
        """
        if self._lease is None and self._files.settings.mode != "recommend":
            try:
                folder = find_plans_folder(self._live, self._plans)
                lease = Lease(folder, self._files.settings.job, self._by)
                lease.take(self._journal.memory.epoch)
            except (
                AgentMissingError,
                FlinkUnreachableError,
                InvalidInputError,
                PlanNotWrittenError,
            ) as e:
                self._say(f"nobody can be kept from changing the job yet: {e.what}")
                return False
            self._lease = lease
        return self._lease is not None

    def _reloaded(self, polls: FlinkPolls) -> Reloaded:
        """Read the control file anew: all of it is taken, or nothing."""
        before = self._files
        try:
            files = checked(read_files(str(before.path)))
            fixed = [k for k in _FIXED if getattr(files, k) != getattr(before, k)]
            fixed += [
                k for k in _FIXED_KEYS if getattr(files.settings, k) != getattr(before.settings, k)
            ]
            if fixed:
                raise InvalidInputError(
                    f"{', '.join(fixed)} cannot change while the loop runs", "start it again"
                )
            cluster = read(files.cluster, Cluster)
        except InvalidInputError as e:
            return Reloaded(at_s=self._now_s(), problem=f"{e.what} ({e.cure})")
        self._files, self._cluster, polls.cluster = files, cluster, cluster
        self._measuring.cluster = files.cluster
        self._measuring.every_s = files.settings.measure_s
        self._solving.close()
        self._solving = self._new_solving()
        return Reloaded(at_s=self._now_s(), settings=files.settings, sites=by_site(cluster))

    def _started(self, i_know: bool) -> Started:
        epoch = self._journal.memory.epoch + 1
        if self._took_lease() and self._lease is not None:
            epoch = self._lease.epoch
        return Started(
            at_s=self._now_s(),
            epoch=epoch,
            settings=self._files.settings,
            by=self._by,
            release=__version__,
            i_know=i_know,
            mended=self._journal.mended,
            sites=by_site(self._cluster),
        )

    def _polled(self, polls: FlinkPolls) -> Polled:
        answer = polls.poll(0.0, round(time.time(), 3))
        # When the answers were there, not when they were asked for.
        weights = self._weights.tell(polls.job_id)
        return answer.model_copy(update={"at_s": self._now_s(), "weights": weights})

    def _take_requests(self, polls: FlinkPolls) -> None:
        for path in request_files.waiting(self._files.folder):
            asked = request_files.read(path, self._now_s(), round(time.time(), 3))
            if asked is None:
                self._say(f"{path} is no request: ignored")
            elif not self._handle(asked, polls):
                continue
            request_files.take_away(path)

    def _handle(self, event: AnyEvent, polls: FlinkPolls) -> bool:
        """Put an event on record, then do what follows; return whether it is on record."""
        try:
            stepped = self._journal.append(event)
        except JournalFullError as e:
            # Nothing that is not on record is done.
            polls.tell_all()
            self._weights.tell_all()
            if e.what != self._full:
                self._full = e.what
                self._console.problem(f"{e.what}: nothing is decided or changed; {e.cure}")
            return False
        if self._full:
            self._full = ""
            self._say("the journal can be written again")
        self._show(event, stepped)
        for effect in stepped.effects:
            if isinstance(effect, Solve):
                self._solving.ask(effect, polls.job_id)
            elif isinstance(effect, Apply | Weigh):
                self._handle(self._applied(effect), polls)
        return True

    def _applied(self, effect: Apply | Weigh) -> Ended:
        if not self._took_lease() or self._lease is None:
            why = ("there is no folder of plans to hold the lease in",)
            return Ended(at_s=self._now_s(), id=effect.id, end=ApplyEnd.REFUSED, reasons=why)
        name, epoch = self._files.settings.job, self._lease.epoch
        if isinstance(effect, Weigh):
            ended = weigh(effect, self._live, name, self._plans, epoch)
            # The loop has forgotten those before.
            self._weights.tell_all()
        else:
            ended = apply(effect, self._live, name, self._cluster, self._plans, epoch, self._say)
            self._interrupted = ended.end == ApplyEnd.INTERRUPTED
        return ended.model_copy(update={"at_s": self._now_s()})

    def _show(self, event: AnyEvent, stepped: Stepped) -> None:
        """Say what is new; that all goes on as before stands in the journal only."""
        plain = isinstance(event, Polled) and not stepped.effects
        kind = stepped.says.split(":")[0] if plain else stepped.says
        if not plain or kind != self._shown:
            self._say(stepped.says)
        self._shown = kind

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError, SystemExit):
            self._console.text(f"{clock(time.time())}  {text}")


def checked(files: Files) -> Files:
    """Return files of which those that have to be there are there, and suit a loop.

    Raises
    ------
    InvalidInputError
        If one is not there, or the rules have a demand with periods.
    """
    known = {site.id for site in read(files.cluster, Cluster).sites}
    for site in files.settings.survive:
        if site not in known:
            raise InvalidInputError(
                f"survive: {files.cluster} has no site {site!r}",
                f"its sites are {', '.join(sorted(known))}",
            )
    for path in (files.rules, files.credentials, files.ca_file):
        if path is not None and not path.is_file():
            raise InvalidInputError(f"{path}: no such file", "correct its name in the control file")
    if files.rules is not None:
        refuse_periods(read(files.rules, Rules))
    return files
