"""Tables of costs, policies, plans and proofs."""

import shlex
from collections.abc import Mapping, Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import (
    count,
    factor,
    milliseconds,
    percent,
    seconds,
    size,
)
from edgeplace.model import (
    RATED,
    Case,
    Chosen,
    ClassCost,
    Costs,
    Evaluation,
    JobGraph,
    Limit,
    Plan,
    Result,
    SourceDemand,
    Status,
    StoppedBy,
    StreamCost,
)
from edgeplace.views.cpu_costs import show_cpu_costs
from edgeplace.views.terms import Terms

CURRENT = "current"
"""Name of the current placement in the comparison."""
_PROVED = {"throughput": "throughput (1 / headroom)"}
"""Titles of levels whose name says too little: of `throughput`, less is better."""
_MOST_LINKS = 6
_MOST_SIDE_BY_SIDE = 4
"""Most placements that have a column each on a narrow terminal."""


def show_costs(console: Console, costs: Costs) -> None:
    """Print the costs of a job per operator and node class, and the unknown figures."""
    names = {op.operator: op.name or op.operator for op in costs.operators}
    rows = []
    for op in costs.operators:
        outgoing = [s for s in costs.streams if s.source == op.operator]
        own = (
            "source" if op.demand else count(op.selectivity),
            " / ".join(size(s.bytes_per_record) for s in outgoing) or "-",
            size(op.state_bytes),
            size(op.checkpointed_bytes),
        )
        for i, c in enumerate(op.classes or (None,)):
            name = names[op.operator] if i == 0 else ""
            rows.append((name, *_of_class(c), *(own if i == 0 else ("",) * len(own))))
    console.table(
        (
            "operator",
            "node class",
            ">records/busy s",
            ">spread",
            ">samples",
            ">selectivity",
            ">bytes/record out",
            ">state",
            ">checkpoint",
        ),
        rows,
        keys=(0,),
    )
    show_cpu_costs(console, costs)
    for op in costs.operators:
        name = names[op.operator]
        if op.demand:
            console.text(f"{name} emits {_demand(op.demand)}")
        for c in op.classes:
            if not c.stationary:
                quarters = ", ".join(count(q) for q in c.by_quarter_per_s)
                console.text(f"{name} on {c.node_class}: not stationary, by quarter: {quarters}")
    weak = [
        f"{names[op.operator]} on {c.node_class} ({c.weak})"
        for op in costs.operators
        for c in op.classes
        if c.weak
    ]
    if weak:
        console.text(f"weak: {', '.join(weak)}", style="yellow")
    for s in costs.streams:
        if s.flush_law:
            console.text(f"{names[s.source]} puts out by the {_flush_law(s)}")
    for note, subjects in _notes(costs, names).items():
        console.text(f"note on {', '.join(subjects)}: {note}", style="dim")
    console.notes(costs.notes)


def _flush_law(stream: StreamCost) -> str:
    """Return the law of a stream behind a combiner or a window in words."""
    law, seen = stream.flush_law, stream.by_rate
    if law is None:
        return ""
    keys = f"{count(law.keys)} keys" if law.form == "zipf" else f"{count(law.keys)} hot keys"
    shape = f"exponent {law.shape:.3g}" if law.form == "zipf" else f"{percent(law.shape)} cold"
    return (
        f"flush law ({law.form}: {keys}, {shape}), fitted to {len(seen)} rates of "
        f"{count(seen[0].rate_per_s)} to {count(seen[-1].rate_per_s)} records/s into a subtask"
    )


def _of_class(c: ClassCost | None) -> tuple[str, str, str, str]:
    """Return node class, rate, spread and number of samples as text."""
    if c is None:
        return "-", "-", "-", "-"
    marks = [" drifts"] * (not c.stationary) + [" weak"] * bool(c.weak)
    marks += [" estimated"] * (c.origin == "estimated")
    spread = "-" if c.relative_spread is None else percent(c.relative_spread)
    return c.node_class, count(c.true_rate_per_s) + "".join(marks), spread, count(c.samples)


def _notes(costs: Costs, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return note -> the operators and streams that it is on."""
    about: dict[str, list[str]] = {}
    for op in costs.operators:
        missing = (f"not in this log: {', '.join(op.not_in_log)}",) if op.not_in_log else ()
        for note in (*missing, *op.notes):
            about.setdefault(note, []).append(names[op.operator])
    for s in costs.streams:
        ends = " -> ".join(names.get(end, end) for end in (s.source, s.target))
        for note in s.notes:
            about.setdefault(note, []).append(ends)
    return about


def _demand(demand: SourceDemand) -> str:
    text = f"{count(sum(demand.rates_per_s))} records/s"
    if not demand.throttled:
        return text
    share = demand.back_pressured_share
    held = f"back pressured {percent(share)} of the time" if share is not None else "back pressured"
    return f"{text}, throttled ({held}): a lower bound of demand"


def show_policies(
    console: Console,
    rows: Sequence[tuple[str, Evaluation]],
    terms: Terms,
    best: str = "edgeplace",
    by_link: bool = True,
) -> None:
    """Print evaluations side by side: WAN traffic by link, latency, server cores, headroom.

    If a terminal is too narrow for a row for each placement, a few placements have a column each,
    and many are printed without the links.

    Parameters
    ----------
    terms
        Of the cluster: if it has a currency, the cost has a column.
    by_link
        Whether the busiest links and the bottleneck have columns, too.
    """
    if not by_link:
        _show_briefly(console, rows, best, terms)
        return
    links = _busiest([e for _, e in rows])
    columns, lines = _policy_rows(rows, links, terms)
    if not console.has_room(columns, lines):
        if len(rows) <= _MOST_SIDE_BY_SIDE:
            turned = zip((c.lstrip(">") for c in columns), *lines, strict=True)
            (first, *names), *measures = turned
            console.table((first, *(f">{name}" for name in names)), measures)
            _say_violations(console, rows, terms)
            return
        columns, lines = _policy_rows(rows, [], terms)
    styles = ["green" if name == best else "" if found.feasible else "dim" for name, found in rows]
    console.table(columns, lines, styles)
    _say_violations(console, rows, terms)


def show_periods(console: Console, found: Evaluation, terms: Terms) -> None:
    """Print what a plan comes to in each period of a demand that varies over a day."""
    if not found.periods:
        return
    console.heading("in each period, as if it were always so")
    rows = [(f"{p.name}, {percent(p.share)}", p.evaluation) for p in found.periods]
    _show_briefly(console, rows, "", terms, "period")


def _show_briefly(
    console: Console,
    rows: Sequence[tuple[str, Evaluation]],
    best: str,
    terms: Terms,
    what: str = "placement",
) -> None:
    cost = _cost_column(terms)
    console.table(
        (what, ">WAN", *cost, ">latency", ">server cores", ">headroom", "holds"),
        [
            (
                name,
                terms.rate(e.wan_bytes_per_s),
                *(terms.cost(e) for _ in cost),
                milliseconds(e.latency_ms),
                count(e.server_cores),
                factor(e.headroom),
                holding(name, e),
            )
            for name, e in rows
        ],
        ["green" if name == best else "" if e.feasible else "dim" for name, e in rows],
    )
    _say_violations(console, rows, terms)


def _cost_column(terms: Terms) -> tuple[str, ...]:
    """Return the title of the cost, if it is in money."""
    return (f">{terms.money}",) if terms.currency else ()


def _policy_rows(
    rows: Sequence[tuple[str, Evaluation]], links: Sequence[str], terms: Terms
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the titles of the comparison and a row for each placement."""
    cost = _cost_column(terms)
    columns = ["placement", ">WAN", *cost, *(f">{name}" for name in links), ">worst path"]
    columns += [">server cores", ">headroom", "bottleneck", "holds"]
    lines: list[tuple[str, ...]] = []
    for name, e in rows:
        used = {a.where: a.used for a in e.links}
        lines.append(
            (
                name,
                terms.rate(e.wan_bytes_per_s),
                *(terms.cost(e) for _ in cost),
                # The links of a lost site are missing here; the placement to compare with has
                # them.
                *(terms.rate(used.get(link)) for link in links),
                milliseconds(e.latency_ms),
                count(e.server_cores),
                factor(e.headroom),
                binding(e.binding),
                holding(name, e),
            )
        )
    return columns, lines


def _say_violations(console: Console, rows: Sequence[tuple[str, Evaluation]], terms: Terms) -> None:
    for name, e in rows:
        if e.violations:
            more = f" and {len(e.violations) - 1} more" if len(e.violations) > 1 else ""
            how = "does not hold" if holding(name, e) == "no" else "holds within measurement only"
            console.text(f"{name} {how}: {terms.limit(e.violations[0])}{more}", style="dim")


def holding(name: str, found: Evaluation) -> str:
    """Return whether a placement is valid.

    The current one may break limits within the spread of its costs.
    """
    if found.feasible:
        return "yes"
    return "within measurement" if name == CURRENT and found.within_measurement else "no"


def _busiest(evaluations: Sequence[Evaluation]) -> list[str]:
    most: dict[str, float] = {}
    for e in evaluations:
        for link in e.links:
            most[link.where] = max(most.get(link.where, 0.0), link.used)
    used = [name for name, used in most.items() if used > 0]
    kept = set(sorted(used, key=lambda n: -most[n])[:_MOST_LINKS])
    return [name for name in used if name in kept]


def binding(found: Limit | None) -> str:
    """Return the limit that stops the sources from growing, in a few words."""
    return f"{found.kind} {found.where}" if found else "nothing"


def show_proof(console: Console, result: Result, terms: Terms) -> None:
    """Print status, and value, bound and gap of each level."""
    console.text(_ended(result), style="green" if result.status is Status.OPTIMAL else "yellow")
    console.table(
        ("objective", ">value", ">bound", ">gap"),
        [
            (
                _PROVED.get(v.name, v.name),
                terms.exactly(v.name, v.value),
                terms.exactly(v.name, v.bound),
                percent(v.gap),
            )
            for v in result.levels
        ],
    )


def proof(result: Result, terms: Terms) -> str:
    """Return status and levels, those that are not proved with value and gap, in a sentence."""
    levels = ", ".join(
        _PROVED.get(v.name, v.name)
        + (
            f" {terms.exactly(v.name, v.value)} (bound {terms.exactly(v.name, v.bound)}, "
            f"gap {percent(v.gap)})"
            if percent(v.gap) != "0 %"
            else ""
        )
        for v in result.levels
    )
    return f"{_ended(result)}: {levels}"


def _ended(result: Result) -> str:
    """Return the status, why the search ended, when, and by which back end."""
    why = "proved" if result.stopped_by is StoppedBy.PROOF else f"stopped by {result.stopped_by}"
    return f"{result.status.value}, {why} after {seconds(result.runtime_s)} ({result.backend})"


def parallelism(case: Case, result: Result) -> str:
    """Return the parallelism that was chosen, and over how many combinations."""
    found = result.chosen
    if found is None:
        return ""
    tried = f"{found.searched:,} of {found.vectors:,} combinations searched"
    left = (
        f"{found.open:,} neither searched nor ruled out" if found.open else "all others ruled out"
    )
    return f"{subtasks_chosen(case, found)} ({tried}, {left})"


def subtasks_chosen(case: Case, chosen: Chosen) -> str:
    """Return how many subtasks each operator has of which that was to choose."""
    names = {(job.name, op.id): op.name for job in case.jobs for op in job.operators}
    prefix = len(case.jobs) > 1
    return ", ".join(
        f"{f'{job}: ' if prefix else ''}{names[job, op]} x{n}"
        for job, own in chosen.parallelism.items()
        for op, n in own.items()
    )


def show_plan(console: Console, jobs: Sequence[JobGraph], plan: Plan) -> None:
    """Print the TaskManagers of each operator."""
    rows = []
    for job in jobs:
        prefix = f"{job.name}: " if len(jobs) > 1 else ""
        for op in job.operators:
            places = plan.of(job.name)[op.id]
            by_tm: dict[str, list[int]] = {}
            for i, tm in enumerate(places):
                by_tm.setdefault(tm, []).append(i + 1)
            where = ", ".join(f"{tm} ({ranges(own)})" for tm, own in by_tm.items())
            rows.append((prefix + op.name, str(op.parallelism), where))
    console.table(("operator", ">subtasks", "TaskManager (subtask)"), rows)


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: `1-3, 7`."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and parts[-1][-1] == n - 1:
            parts[-1][1:] = [n]
        else:
            parts.append([n])
    return ", ".join("-".join(map(str, p)) for p in parts)


def show_conflict(
    console: Console, result: Result, terms: Terms, settings: Sequence[str] = ()
) -> None:
    """Print why there is no plan, and what would cure it.

    Parameters
    ----------
    settings
        The cure as texts for `--set`.
    """
    found = result.conflict
    if found is None:
        console.text("no plan exists; time ran out before the reason was found", style="red")
        return
    console.text("no plan exists", style="bold red")
    near = "the nearest plan exceeds:" if found.nearest else "a plan that is near exceeds:"
    console.heading(near)
    for v in found.shortfalls:
        console.text(f"  {terms.limit(v)}")
    if not found.nearest:
        console.text("it was not proved that no other plan is nearer", style="dim")
    console.text()
    state = "confirmed: with it a plan exists" if found.confirmed else "not confirmed"
    if not found.minimal:
        state += "; whether less is enough is not known"
    console.text(f"cure ({state}): {found.cure}", style="bold")
    if settings:
        options = " ".join(f"--set {shlex.quote(text)}" for text in settings)
        console.text(f"the plan and its figures with the cure: solve again with {options}")
    if found.members:
        known = (
            "drop any one of them and the others can all hold"
            if found.irreducible
            else "fewer of them may be enough"
        )
        console.heading(f"these cannot all hold ({known}):")
        for member in found.members:
            console.text(f"  {member}")
    elif found.not_narrowed:
        console.text(
            f"it was not found out which of the {found.not_narrowed:,} limits and rules conflict",
            style="dim",
        )
    if all(v.kind in RATED for v in found.shortfalls):
        console.text("--objective throughput,wan shows the share of the demand that can be served")
