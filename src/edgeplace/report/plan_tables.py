"""The plan on a page: every subtask at its site, who moves, what the page is made from."""

import argparse
import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from urllib.parse import quote

from edgeplace.case.files import inputs_of
from edgeplace.cli.console import visible
from edgeplace.cli.quantities import counted
from edgeplace.instances.instance import Instance
from edgeplace.model import JobGraph, Plan
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.parts import Section, facts, long_table, paragraph, table
from edgeplace.solver import shifts, site_kinds, sites_of
from edgeplace.views.plan_summary import name_of, operators_of
from edgeplace.views.tables import ranges

_FINDER = "plan_finder.js"
_MOST_SUBTASKS = 2_000
"""Beyond this many, a page would be slow to open."""


@dataclass(frozen=True)
class Origin:
    """What a page was made from."""

    command: str
    made: str
    """Date and time, UTC."""
    inputs: tuple[tuple[str, str], ...]
    """Each file, and the SHA-256 of what it holds."""

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Origin":
        """Return it for a command that runs now, with its arguments."""
        return cls.now(shlex.join(["edgeplace", *args.argv]), inputs_of(args))

    @classmethod
    def now(cls, command: str, inputs: Sequence[str]) -> "Origin":
        """Return it for a command that runs now; what is no file has no digest."""
        made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        return cls(command, made, tuple((name, _digest(Path(name))) for name in inputs))


def _digest(file: Path) -> str:
    """Return the SHA-256 of a file, empty if it is none."""
    if not file.is_file():
        return ""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def plan_section(case: Instance, plan: Plan) -> Section:
    """Return the section with the TaskManager of every subtask, folded by site.

    A script makes one table of all, to filter and to sort.
    """
    sites = sites_of(case.cluster)
    kinds = site_kinds(case.jobs, case.cluster, plan)
    several = len(case.jobs) > 1
    # By operator, not by its name, which another may have.
    held: dict[str, dict[tuple[str, int, int], list[int]]] = {}
    for j, job in enumerate(case.jobs):
        for o, op in enumerate(job.operators):
            for i, tm in enumerate(plan.of(job.name)[op.id], start=1):
                held.setdefault(sites[tm], {}).setdefault((tm, j, o), []).append(i)
    n = sum(len(own) for site in held.values() for own in site.values())
    if n > _MOST_SUBTASKS:
        text = f"{counted(n, 'subtasks')} are too many for a page; -o plan.json has them all."
        return Section("plan", "The plan", paragraph(text))
    columns = ("TaskManager", *(["job"] if several else []), "operator", ">of", "subtasks")
    parts = []
    for kind in kinds:
        runs = "; ".join(
            f"{job}: {ops}" if several else ops
            for job, ops in operators_of(kind, case.jobs).items()
        )
        parts.append(element("h3", name_of(kind)))
        parts.append(paragraph(runs, "note"))
        for site in kind.sites:
            rows = []
            for (tm, j, o), own in sorted(held[site].items(), key=lambda e: e[0][0]):
                job, op = case.jobs[j], case.jobs[j].operators[o]
                # Markup is never cut: every subtask is on the page.
                subtasks = fragment([ranges(own)])
                name = [job.name] if several else []
                rows.append((tm, *name, op.name, f"{op.parallelism:,}", subtasks))
            summary = f"{site}: {counted(sum(map(len, held[site].values())), 'subtasks')}"
            parts.append(
                element(
                    "details",
                    element("summary", summary),
                    table(f"What runs at {site}", columns, rows),
                    id=f"site-{quote(site, safe='')}",
                )
            )
    return Section("plan", "The plan", fragment([*parts, _data(case, plan, sites)]), _FINDER)


def _data(case: Instance, plan: Plan, sites: Mapping[str, str]) -> Markup:
    """Return every subtask for the script, in the order of the jobs."""
    nodes = {t.id: t.node for t in case.cluster.task_managers}
    running = {job.name for job in _running(case)}
    subtasks = []
    for job in case.jobs:
        now = case.current.of(job.name) if case.current and job.name in running else {}
        for op in job.operators:
            tms = plan.of(job.name)[op.id]
            for i, (tm, was) in enumerate(zip(tms, now.get(op.id, tms), strict=True), start=1):
                subtask = f"{op.name} ({i}/{op.parallelism})"
                moved = was if was != tm else ""
                subtasks.append((subtask, job.name, sites[tm], nodes[tm], tm, moved))
    columns = {
        "subtask": True,
        "job": len(case.jobs) > 1,
        "site": True,
        "node": any(tm != node for tm, node in nodes.items()),
        "TaskManager": True,
        "moves from": any(row[-1] for row in subtasks),
    }
    data = {
        "columns": list(compress(columns, columns.values())),
        "subtasks": [[visible(cell) for cell in compress(r, columns.values())] for r in subtasks],
    }
    # Nothing in it may end the element; JSON has such letters in strings alone.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(text), type="application/json", id="plan-data")


def _running(case: Instance) -> list[JobGraph]:
    """Return the jobs of which it is known where each subtask runs now."""
    current = case.current
    if current is None:
        return []
    return [
        job
        for job in case.jobs
        if all(
            len(current.jobs.get(job.name, {}).get(op.id, ())) == op.parallelism
            for op in job.operators
        )
    ]


def moves_section(case: Instance, plan: Plan) -> list[Section]:
    """Return the section on who moves, if it is known where subtasks run now."""
    if case.current is None:
        return []
    found = shifts(_running(case), case.current, plan, sites_of(case.cluster))
    rows = [
        (
            f"{s.job}: {s.name}" if len(case.jobs) > 1 else s.name,
            f"within {s.source}" if s.source == s.target else f"{s.source} -> {s.target}",
            ranges([i + 1 for i in s.subtasks]),
            ", ".join(dict.fromkeys(a for a, _ in s.machines)),
            ", ".join(dict.fromkeys(b for _, b in s.machines)),
        )
        for s in found
    ]
    columns = ("operator", "site", "subtasks", "before", "after")
    body = long_table("Subtasks that change their TaskManager", columns, rows)
    nobody = paragraph("No subtask changes its TaskManager.")
    return [Section("moves", "Who moves", body if rows else nobody)]


def origin_section(origin: Origin) -> Section:
    """Return the section on what the page was made from, and how."""
    rows = [(name, digest or "not a file") for name, digest in origin.inputs]
    made = facts([("made", origin.made, "")])
    command = element("p", element("code", origin.command))
    digests = table("The files, and the SHA-256 of each", ("file", "SHA-256"), rows)
    return Section("origin", "What this page is made from", fragment([made, command, digests]))
