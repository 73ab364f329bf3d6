r"""`KEY.shares`: the weights of the subtasks that combine in a split aggregate.

Grammar (UTF-8, every line ends in LF, nothing is escaped)::

    file   = ["# epoch: " number LF] *(line LF)
    line   = task " (" i "/" n ")" [" <- (" r "/" m ")"] "; " weight
    task   = the name of the combining task, as Flink shows it
    i      = its subtask, from 1            ; n = its parallelism
    r      = subtask of the routers, from 1 ; m = their parallelism
    weight = 0, or a number from 1e-9 to 1e9, such as 0.25 or 1e-3

A task that is named has a line for each of its subtasks. Lines with `<-` are for one router, such
as that of a site; a router without lines of its own uses those without `<-`. A worker gets its
weight over the sum of the weights. Weight 0 gives it nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgeplace.adapters.flink.schedulercfg.names import INDEXED, is_plain
from edgeplace.adapters.flink.schedulercfg.problems import Problems, quoted
from edgeplace.adapters.flink.schedulercfg.settings import (
    EPOCH,
    is_setting,
    rendered,
    settings_of,
)
from edgeplace.model import InvalidInputError
from edgeplace.model.parsing.content import bytes_of

_WEIGHT = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_SMALLEST, _LARGEST = 1e-9, 1e9
_MOST_WORKERS = 2**15
_FROM = " <-"
_EPOCH_LINE = re.compile(r"# epoch: [0-9]{1,15}")


@dataclass(frozen=True)
class TaskShares:
    """The weights of one combining task.

    Parameters
    ----------
    of_all
        Weight of each subtask; empty if every router has its own.
    of_router
        Router subtask, from 0 -> weight of each subtask.
    routers
        Parallelism of the routers; 0 if no line names one.
    """

    of_all: tuple[float, ...] = ()
    of_router: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    routers: int = 0

    @property
    def workers(self) -> int:
        """Parallelism of the task."""
        return len(self.of_all or next(iter(self.of_router.values()), ()))

    def of(self, router: int) -> tuple[float, ...]:
        """Return the weights that a router uses."""
        return self.of_router.get(router, self.of_all)


@dataclass(frozen=True)
class Shares:
    """The content of a file of weights.

    Parameters
    ----------
    tasks
        By name.
    epoch
        Number of whoever wrote it: the routers refuse a lower one than before.
    """

    tasks: Mapping[str, TaskShares]
    epoch: int | None = None

    def text(self) -> str:
        """Return the file.

        Raises
        ------
        InvalidInputError
            If a name cannot stand in it, or a weight is none.
        """
        settings = {} if self.epoch is None else {EPOCH: self.epoch}
        lines = [line for name, task in self.tasks.items() for line in _lines(name, task)]
        text = rendered(settings) + "".join(f"{line}\n" for line in lines)
        for name in self.tasks:
            if not is_plain(name):
                raise InvalidInputError(
                    f"the task {name!r} cannot stand in a file of weights",
                    "name the split aggregate without `; ` and line breaks: named(...)",
                )
        parse_shares(text, "weights")
        return text


def read_shares(path: str | Path) -> Shares:
    """Read and validate a file; see `parse_shares`.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, and as for `parse_shares`.
    """
    try:
        text = bytes_of(path).decode()
    except UnicodeDecodeError as e:
        raise InvalidInputError(f"{path}: not UTF-8", "save the file as UTF-8") from e
    return parse_shares(text, str(path))


def parse_shares(text: str, origin: str = "shares") -> Shares:
    """Return what a file says.

    Raises
    ------
    InvalidInputError
        If anything in it is wrong, with all problems, their lines and their cures.
    """
    problems = Problems()
    found: dict[str, _Found] = {}
    if not text.strip("\n"):
        raise InvalidInputError(f"{origin}: the file is empty", "write a line for each subtask")
    if not text.endswith("\n"):
        problems.add(None, "the last line has no end, as in a file half written", "end it in LF")
    lines = text.rstrip("\n").split("\n")
    top = 0
    while top < len(lines) and is_setting(lines[top]):
        top += 1
        if top > 1 or not _EPOCH_LINE.fullmatch(lines[0]):
            problems.add(top, f"{quoted(lines[top - 1])} is no setting", "there is `# epoch: N`")
    for number, line in enumerate(lines[top:], top + 1):
        _add(number, line, found, problems)
    tasks = {name: each.complete(name, problems) for name, each in found.items()}
    if not tasks and not problems:
        problems.add(None, "no line has a weight", "write a line for each subtask")
    if problems:
        raise problems.error(origin)
    return Shares(tasks, settings_of(text).get(EPOCH))


class _Found:
    """What the lines have said of a task."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.routers = 0
        self._weights: dict[int | None, dict[int, float]] = {}

    def of(self, router: int | None) -> dict[int, float]:
        """Return the weights of the subtasks, to be added to."""
        return self._weights.setdefault(router, {})

    def complete(self, name: str, problems: Problems) -> TaskShares:
        rows: dict[int | None, tuple[float, ...]] = {}
        for router, weights in self._weights.items():
            of = quoted(name) + ("" if router is None else f" from router {router + 1}")
            missing = self.workers - len(weights)
            rows[router] = tuple(weights.get(i, 0.0) for i in range(self.workers))
            if missing:
                what = f"{missing} of the {self.workers} subtasks of {of} have no weight"
                problems.add(None, what, "write a line for each")
            elif not any(rows[router]):
                problems.add(None, f"all weights of {of} are 0", "leave it a worker")
        of_all = rows.pop(None, ())
        of_router = {router: row for router, row in rows.items() if router is not None}
        if not of_all and len(of_router) < self.routers:
            what = f"only {len(of_router)} of the {self.routers} routers of {quoted(name)} have any"
            problems.add(None, what, "add lines without `<-` for the others")
        return TaskShares(of_all, of_router, self.routers)


def _add(number: int, line: str, found: dict[str, _Found], problems: Problems) -> None:
    key, split, value = line.rpartition("; ")
    hit = INDEXED.fullmatch(key)
    router: int | None = None
    routers = 0
    if hit and hit[1].endswith(_FROM):
        router, routers = int(hit[2]) - 1, int(hit[3])
        hit = INDEXED.fullmatch(hit[1].removesuffix(_FROM))
    if not split or not hit or not is_plain(hit[1]):
        problems.add(number, f"{quoted(line)} is no line", "write `Task name (i/n); weight`")
        return
    name, worker, workers = hit[1], int(hit[2]) - 1, int(hit[3])
    if not 0 <= worker < workers <= _MOST_WORKERS or not 0 <= (router or 0) < max(1, routers):
        problems.add(number, f"{quoted(key)}: there is no such subtask", "they are numbered 1 to n")
        return
    weight = float(value) if _WEIGHT.fullmatch(value) else -1.0
    if weight != 0 and not _SMALLEST <= weight <= _LARGEST:
        problems.add(
            number, f"{quoted(value)} is no weight", "write 0, or a number from 1e-9 to 1e9"
        )
        return
    task = found.setdefault(name, _Found(workers))
    if task.workers != workers or (routers and task.routers not in (0, routers)):
        problems.add(number, f"lines above give {quoted(name)} other numbers", "keep one of them")
        return
    task.routers = routers or task.routers
    if worker in task.of(router):
        problems.add(number, f"{quoted(key)} has a line already", "keep one of the two")
    task.of(router)[worker] = weight


def _lines(name: str, task: TaskShares) -> Iterator[str]:
    rows = [("", task.of_all)]
    rows += [(f"{_FROM} ({r + 1}/{task.routers})", row) for r, row in task.of_router.items()]
    for suffix, row in rows:
        for i, weight in enumerate(row, 1):
            yield f"{name} ({i}/{len(row)}){suffix}; {weight!r}"
