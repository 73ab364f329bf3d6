"""Tables of the bench."""

from collections.abc import Mapping, Sequence

from edgeplace.bench.record import Run
from edgeplace.bench.summary import Summary
from edgeplace.cli.console import Console
from edgeplace.cli.quantities import count, percent, seconds, size
from edgeplace.model import is_backend
from edgeplace.views.terms import Terms

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Columns, `>` for those aligned to the right, and rows."""


def runs_table(runs: Sequence[Run], terms: Mapping[str, Terms]) -> Table:
    """Return a row for each run; `terms` has the words of each instance by its name."""
    columns = (
        "instance",
        ">subtasks",
        ">nodes",
        ">sites",
        "back end",
        "status",
        ">wan",
        ">bound",
        ">gap",
        ">run",
        ">build",
        ">memory",
        "evaluator",
    )
    return columns, [
        (
            r.instance,
            f"{r.subtasks:,}",
            f"{r.nodes:,}",
            f"{r.sites:,}",
            r.backend,
            *_claim(r, terms[r.instance]),
            seconds(r.run_s),
            seconds(r.build_s),
            size(r.memory_bytes),
            "no plan" if r.holds is None else "holds" if r.holds else f"breaks {r.breaks[0]}",
        )
        for r in runs
    ]


def title(backend: str) -> str:
    """Return the title of a policy in the comparison; edgeplace's own back ends are marked."""
    return f"edgeplace ({backend})" if is_backend(backend) else backend


def proofs_table(runs: Sequence[Run], terms: Terms) -> Table:
    """Return the claims of each policy on one case, and its time."""
    columns = ("policy", "status", f">{terms.title('wan')}", ">bound", ">gap", ">run")
    return columns, [(title(r.backend), *_claim(r, terms), seconds(r.run_s)) for r in runs]


def _claim(r: Run, terms: Terms) -> tuple[str, ...]:
    return (
        "WRONG" if r.wrong else r.status.value,
        "-" if r.wan is None else terms.exactly("wan", r.wan),
        "-" if r.bound is None else terms.exactly("wan", r.bound),
        "-" if r.gap is None else percent(r.gap),
    )


def show_runs(console: Console, runs: Sequence[Run], terms: Mapping[str, Terms]) -> None:
    """Print a line for each run."""
    styles = ["red" if r.wrong else "green" if r.solved else "" for r in runs]
    columns, rows = runs_table(runs, terms)
    keys = (columns.index("instance"), columns.index("back end"))
    console.table(columns, rows, styles, keys)
    for r in runs:
        for said in r.wrong:
            console.text(f"WRONG: {r.backend} on {r.instance}: {said}", style="bold red")
        if r.message:
            console.text(f"{r.backend} on {r.instance}: {r.message}", style="yellow")


def summaries_table(summaries: Sequence[Summary]) -> Table:
    """Return a row for each back end."""
    columns = (
        "back end",
        ">runs",
        ">solved",
        ">feasible",
        ">wrong",
        ">without",
        ">mean (1 s)",
        ">mean (10 s)",
        ">to fastest",
        ">PAR-2",
        ">wan to best",
        ">primal integral",
        ">memory",
    )
    return columns, [
        (
            s.backend,
            str(s.runs),
            str(s.solved),
            str(s.feasible),
            str(s.wrong),
            f"{s.without} ({s.failed} failed)" if s.failed else str(s.without),
            seconds(s.mean_1_s),
            seconds(s.mean_10_s),
            _factor(s.to_virtual_best),
            seconds(s.par_2_s),
            _factor(s.to_best_value),
            seconds(s.primal_integral_s),
            size(s.memory_bytes),
        )
        for s in summaries
    ]


def summary_notes(time_limit_s: float) -> tuple[str, ...]:
    """Return a sentence on the runs that the averages cover."""
    return (
        "mean: shifted geometric mean of the time to proof, over the instances that the back end "
        "solved; to fastest: geometric mean of the ratio of its time to the fastest time, over the "
        f"same instances. PAR-2: mean over all its runs, {2 * time_limit_s:g} s for each unsolved "
        "one. wan to best: over runs with a valid plan.",
        "Published methods report only their answer. Until then they count as without a plan, so "
        "their primal integrals are upper bounds.",
    )


def show_summaries(console: Console, summaries: Sequence[Summary], time_limit_s: float) -> None:
    """Print a line for each back end, and the runs that the averages cover."""
    console.heading("by back end")
    console.table(*summaries_table(summaries), keys=(0,))
    for note in summary_notes(time_limit_s):
        console.text(note, style="dim")


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{count(value)}x" if value >= 1.995 else f"{value:.4f}x"
