"""`edgeplace bench JOB CLUSTER`: all policies on the user's own case."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgeplace.bench.record import Run, RunAnswer, RunOutcome
from edgeplace.bench.run_tables import proofs_table, title
from edgeplace.cli.console import Console
from edgeplace.cli.quantities import percent
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Case,
    Evaluation,
    InvalidInputError,
    ObjectiveName,
    Rules,
    load,
)
from edgeplace.solver import policies
from edgeplace.views.tables import show_policies
from edgeplace.views.terms import Terms


def is_case(words: Sequence[str]) -> bool:
    """Return whether words are jobs and a cluster, in any order, and not instances.

    Raises
    ------
    InvalidInputError
        If one of two is the name of a file that is not there.
    """
    if len(words) == 2 and sum(Path(w).is_file() for w in words) == 1:
        other = next(w for w in words if not Path(w).is_file())
        if Path(other).suffix in (".yaml", ".yml", ".json") and not Path(other).exists():
            raise InvalidInputError(f"{other}: no such file", "check the path")
    if len(words) < 2 or not all(Path(w).exists() for w in words) or Path(words[-1]).is_dir():
        return False
    data = load(words[-1])
    return isinstance(data, dict) and ("sites" in data or "operators" in data)


def user_case(case: Case) -> Instance:
    """Return the user's jobs on the user's cluster as an instance."""
    return Instance(
        name=case.name,
        jobs=case.jobs,
        cluster=case.cluster,
        rules=case.rules or Rules(),
        current=case.current,
    )


def compared(
    case: Instance, answers: Mapping[str, RunAnswer], by: ObjectiveName = "wan"
) -> list[tuple[str, Evaluation]]:
    """Return the current placement, if it is known, and the placement of each policy.

    Valid ones come first. Valid and invalid ones are sorted by a term of the objective.
    """
    others = policies(list(case.jobs), case.cluster, case.rules, case.current)
    rows = [(p.name, p.evaluation) for p in others if p.name == "current"]
    rows += [(title(b), a.evaluation) for b, a in answers.items() if a.evaluation is not None]
    return sorted(rows, key=lambda row: (not row[1].feasible, _value(row[1], by)))


def verdict(
    rows: Sequence[tuple[str, Evaluation]],
    runs: Sequence[Run],
    terms: Terms,
    by: ObjectiveName = "wan",
) -> str:
    """Return a sentence: which placement is best and by how much, or that none is valid.

    Parameters
    ----------
    rows
        The placements, the best first, as `compared` returns them.
    by
        The term that they are sorted by.
    """
    holding = [(name, _value(e, by)) for name, e in rows if e.feasible]
    if not holding:
        reason = "shows the limits that conflict, and a cure"
        if any(r.status is RunOutcome.INFEASIBLE and not r.wrong for r in runs):
            return (
                "it is proved that no valid placement exists: "
                f"`edgeplace solve JOB CLUSTER` {reason}"
            )
        return (
            "no policy found a valid placement: `edgeplace solve JOB CLUSTER` finds one, or "
            f"{reason}"
        )
    (best, least), *others = holding
    text = f"best: {best}, with the least {terms.title(by)} of all valid ones, "
    text += terms.value(by, least)
    if others:
        text += f"; {_less(least, *others[0])}"
    if all_server := [row for row in others[1:] if row[0] == "all-server"]:
        text += f", {_less(least, *all_server[0])}"
    elif any(name == "all-server" and not e.feasible for name, e in rows):
        text += "; all-server does not hold"
    return text


def _less(least: float, name: str, more: float) -> str:
    if more <= least:
        return f"as much as {name}"
    return f"{percent(1 - least / more)} less than {name}"


def _value(found: Evaluation, by: ObjectiveName) -> float:
    """Return a term, rounded, because equal plans may differ by floating point noise."""
    return float(f"{found.value(by):.9g}")


def show_case(
    console: Console,
    case: Instance,
    rows: Sequence[tuple[str, Evaluation]],
    runs: Sequence[Run],
    by: ObjectiveName,
) -> None:
    """Print placements side by side, sorted by a term, then the runs that found them."""
    terms = Terms.of(case.cluster)
    best = rows[0][0] if rows and rows[0][1].feasible else ""
    show_policies(console, rows, terms, best)
    console.text(verdict(rows, runs, terms, by), style="bold")
    if said := terms.explanation():
        console.text(said, style="dim")
    console.heading("proofs and times")
    console.table(*proofs_table(runs, terms))
    for r in runs:
        for said in (*r.wrong, *((r.message,) if r.message else ())):
            console.text(f"{'WRONG: ' if r.wrong else ''}{r.backend}: {said}", style="red")
