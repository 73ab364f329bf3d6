"""`edgeplace solve`."""

import argparse
import dataclasses
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.plans import SUFFIX, key
from edgeplace.case import what_if
from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.files import inputs_of, read_case
from edgeplace.case.parallelism import asked_parallelism
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import GAP_HELP, add_backend, add_case, preset_of
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import size
from edgeplace.cli.whole_call import share_s, time_is_over, within_time_limit
from edgeplace.instances.instance import Instance
from edgeplace.model import (
    Case,
    InvalidInputError,
    JobGraph,
    Limit,
    Plan,
    Result,
    Rules,
    Status,
    StoppedBy,
)
from edgeplace.views.bill import show_bill
from edgeplace.views.tables import (
    CURRENT,
    parallelism,
    proof,
    show_conflict,
    show_plan,
    show_policies,
    show_proof,
)
from edgeplace.views.terms import Terms

if TYPE_CHECKING:
    from edgeplace.solver import Advice, Policy

_OUT_OF_TIME = (
    "the time limit was over before everything was compared: placements of others, and changes to "
    "the job that would help, may be missing"
)

_PLAN, _SCHEDULERCFG, _REPORT = "-o", "--schedulercfg", "--report"

LOADS = ("edgeplace.solver",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Place every subtask: fewest WAN bytes first, then latency, server cores and "
        "moves, within slots, CPU, memory, links and rules; with a proof, or a conflict that "
        "names what clashes and what would cure it."
    )
    parser.epilog = (
        "example:\n  edgeplace solve job.json cluster.yaml --costs costs.json "
        "--schedulercfg schedulercfg\n"
        "  edgeplace solve first.yaml second.yaml cluster.yaml -o plan.json\n"
        "  edgeplace solve third.yaml cluster.yaml --taken plan.json\n"
        "  edgeplace solve -o plan.json            in a folder with edgeplace.yaml\n"
        "  edgeplace solve job.json cluster.yaml --parallelism window=1..8\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_case(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="WHAT=VALUE",
        help="ask what if, side by side with now: rate:SOURCE=N (records/s over all its subtasks), "
        "rate:SOURCE=x2, rate=x2 (all sources), site:ID=lost, link:A-B=0.5 (times, both ways; "
        "A->B: one way), class:OLD=NEW (all nodes of a class are of another), node+=CLASS@SITE "
        "(one more node like those)",
    )
    parser.add_argument(
        "--pareto",
        nargs="?",
        const="",
        metavar="FILE.svg",
        help="show the plans that trade WAN bytes, latency and server cores for one another, and "
        "draw them into a file (time limit of all searches: 60 s unless said)",
    )
    parser.add_argument(
        "--parallelism",
        action="append",
        default=[],
        metavar="OPERATOR=RANGE",
        help="choose how many subtasks an operator has, together with the places: window=1..8 or "
        "window=2,4,8; all: every other operator that may change, up to its max parallelism "
        "(all=1..16: up to 16)",
    )
    parser.add_argument("--time-limit", metavar="S", help="wall time of the search")
    parser.add_argument("--gap", default="0", help=GAP_HELP)
    add_backend(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the plan (JSON or YAML; -: standard output)"
    )
    parser.add_argument(
        "--schedulercfg",
        metavar="FILE",
        help="write the plan for Flink; of several jobs, into a folder: a file for each, named as "
        "the agent's folder of plans has it",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write what was decided and why as a page (HTML)"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="show the TaskManager of every subtask, the busiest links and the bounds",
    )
    parser.add_argument("--json", action="store_true", help="print result and comparison as JSON")


@within_time_limit
def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Solve, compare with where the job runs now and with all-server, and write the plan."""
    if args.pareto is not None:
        from edgeplace.commands import pareto

        return pareto.run(args, console)
    if args.set and args.schedulercfg is not None:
        raise InvalidInputError(
            "--schedulercfg writes what Flink obeys, and --set supposes what is not there",
            "write the plan with -o, which says what it supposes; once it is so, solve again "
            "without --set",
        )
    now = read_case(args)
    texts = _schedulercfgs(args.schedulercfg, now.jobs)
    files = {_PLAN: args.output, _REPORT: args.report, **{o: path for o, path, _ in texts}}
    outputs = Outputs(console, files, inputs_of(args), args.json)
    asked = what_if.apply(now, args.set)
    with console.progress("searching") as tell:
        case, result, unset = _answered(now, asked, args, tell)
    if plan := result.plan:
        if outputs.wants(_PLAN) or args.json:
            plan = _told(case, plan, args.set)
            result = result.model_copy(update={"plan": plan})
            outputs.document(_PLAN, plan)
        for (option, _, _), job in zip(texts, case.jobs, strict=False):
            outputs.text(option, schedulercfg.render(plan.of(job.name), job, case.cluster))
    others: list[Policy] = []
    local: tuple[Advice, ...] = ()
    # After Ctrl-C there is no time to compare.
    if result.stopped_by is not StoppedBy.INTERRUPT:
        result, others, local = _compared(asked, case, result, chosen=args.objective_chosen)
    if args.report:
        outputs.text(_REPORT, _page(case, result, others, local, args.objective.split(",")))
    if args.json:
        plain = as_json(result, others, local, unset)
        console.json(plain)
    else:
        if args.optimise:
            console.text(preset_of(args), style="dim")
        _show(console, case, result, others, local, unset, args.full)
        if unset:
            _show_changes(console, now, case, unset, result)
    titles = {_PLAN: "plan", **{option: "schedulercfg" for option, _, _ in texts}}
    _say_where(outputs, titles, result, args.json)
    if result.plan and not args.json:
        console.text(f"next: {_next(args)}")
    return status_of(result)


def _answered(
    now: Case, asked: Case, args: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[Case, Result, Result | None]:
    """Solve a case, and without `--set` if it has any.

    Returns
    -------
    The case in the parallelism of the plan, its answer with all notes, and that without `--set`.
    """
    from edgeplace.solver import nearest_alike

    case, result = asked, _solved(asked, args, tell)
    compare = args.set and result.stopped_by is not StoppedBy.INTERRUPT
    unset, unknown = _unset(now, args, tell) if compare else (None, ())
    chosen = result.chosen
    if result.plan:
        case = case.in_parallelism_of(result.plan)
    if unset and unset.plan and unset.chosen == chosen:
        result = nearest_alike(
            case.jobs, case.cluster, result, unset.plan, case.rules, case.current
        )
    notes = (*case.notes, *cluster_notes(now.cluster), *result.notes, *unknown)
    return case, result.model_copy(update={"notes": notes}), unset


def _told(case: Case, plan: Plan, supposing: Sequence[str]) -> Plan:
    """Return a plan that says what it supposes and what its jobs use."""
    from edgeplace.solver import job_uses

    uses = job_uses(case.jobs, case.cluster, plan)
    return plan.model_copy(update={"supposing": tuple(supposing), "uses": uses})


def _compared(
    asked: Case, case: Case, result: Result, chosen: bool
) -> tuple[Result, list["Policy"], tuple["Advice", ...]]:
    """Return an answer with notes of what it was compared with, and that: policies and advice.

    Parameters
    ----------
    asked, case
        In the parallelism that runs, and in that of the plan.
    chosen
        Whether the objective is one that the user asked for.
    """
    from edgeplace.solver import advice, policies
    from edgeplace.views.unpaid import unpaid_bytes

    jobs, cluster, rules, current = case.jobs, case.cluster, case.rules, case.current
    found = policies(jobs, cluster, rules, current)
    if result.chosen and current:
        # What runs now has the parallelism that runs now.
        was = policies(asked.jobs, cluster, asked.rules, asked.current)
        found = tuple(next((q for q in was if q.name == p.name == CURRENT), p) for p in found)
    others = [p for p in found if p.name in (CURRENT, "all-server")]
    local = advice(jobs, cluster, result, rules, current)
    more: list[str] = []
    if result.status is Status.INFEASIBLE:
        more.extend(map(_doubt, _doubted(others)))
    elif result.plan and time_is_over():
        more.append(_OUT_OF_TIME)
    if said := unpaid_bytes(case.cluster, result, others, chosen):
        more.append(said)
    return result.model_copy(update={"notes": (*result.notes, *more)}), others, local


def _page(
    case: Case,
    result: Result,
    others: Sequence["Policy"],
    local: Sequence["Advice"],
    objective: Sequence[str],
) -> str:
    from edgeplace.report.solution import solution_page

    instance = Instance(
        name=case.name,
        jobs=case.jobs,
        cluster=case.cluster,
        rules=case.rules or Rules(),
        current=case.current,
    )
    return solution_page(instance, result, others, local, objective)


def _schedulercfgs(path: str | None, jobs: Sequence[JobGraph]) -> list[tuple[str, str, JobGraph]]:
    """Return what the file of each job is called in messages, its path and the job."""
    if path is None:
        return []
    if len(jobs) == 1:
        return [(_SCHEDULERCFG, path, jobs[0])]
    if not Path(path).is_dir():
        raise InvalidInputError(
            f"{_SCHEDULERCFG} {path}: there are {len(jobs)} jobs, and this is no folder",
            f"make it (mkdir -p {path}): each job gets a file there",
        )
    return [
        (f"{_SCHEDULERCFG} of {job.name!r}", str(Path(path, key(job.name) + SUFFIX)), job)
        for job in jobs
    ]


def _say_where(outputs: Outputs, titles: Mapping[str, str], result: Result, json: bool) -> None:
    """Say which files were written, and which were not and may be older."""
    for option, title in titles.items():
        if result.plan is None:
            outputs.say_not_written(option, title, "no plan was found")
        elif not json:
            outputs.say_written(option, title)
    if not json:
        outputs.say_written(_REPORT, "report")


def _next(args: argparse.Namespace) -> str:
    """Return what to do with a plan: keep it, or ask why it is so."""
    if not (args.output and Path(args.output).is_file()):
        return "-o plan.json keeps this plan; --full shows every subtask"
    given = args.given
    files = [*given.jobs, given.cluster] if given.jobs else []
    files.append(args.output)
    options = {"--costs": given.costs, "--rules": [given.rules] if given.rules else []}
    options |= {"--current": given.current, "--taken": given.taken}
    for option, values in options.items():
        files += [text for value in values for text in (option, value)]
    return shlex.join(["edgeplace", "explain", *files])


def _doubted(others: Sequence["Policy"]) -> Iterator[Limit]:
    """Yield the limits that what runs exceeds by less than costs varied as they were measured."""
    for p in others:
        if p.name == CURRENT and p.evaluation.within_measurement:
            yield from p.evaluation.violations


def _doubt(found: Limit) -> str:
    over = found.utilisation - 1
    return (
        f"the current placement exceeds {found.kind} {found.where} by {over:.2%}, and the costs "
        f"behind it varied by {found.spread:.2%} as they were measured: it may well hold. Ask at a "
        f"little less than was measured (--set rate=x{1 / (1 + over) - 0.0005:.3f}), or with "
        "--objective throughput,wan"
    )


def _solved(case: Case, args: argparse.Namespace, tell: Callable[[str], None]) -> Result:
    from edgeplace.solver import solve_case

    return solve_case(
        case,
        objective=args.objective.split(","),
        # The rest is for the case without the what_if, and for what is compared.
        time_limit_s=share_s(0.6 if args.set else 0.9),
        gap=args.gap,
        backend=args.backend,
        progress=tell,
        parallelism=asked_parallelism(args.parallelism),
    )


def _unset(
    now: Case, args: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[Result | None, tuple[str, ...]]:
    """Return the answer without the settings; where they complete the input, a note instead."""
    try:
        result = _solved(now, args, tell)
    except InvalidInputError as e:
        return None, (f"there is no answer without --set to compare with: {e.what}",)
    if status_of(result) is ExitStatus.NOT_PROVED:
        return result, (
            f"the plan without --set was not proved best: stopped by {result.stopped_by.value}",
        )
    return result, ()


def _show_changes(console: Console, now: Case, then: Case, unset: Result, result: Result) -> None:
    """Print which subtasks the settings move."""
    from edgeplace.solver import shifts, sites_of
    from edgeplace.views.explain_tables import show_shifts

    if unset.plan is None:
        console.text(f"without the settings: {unset.status.value}, no plan to compare with")
    elif unset.chosen != result.chosen and unset.chosen:
        console.text(f"without the settings, the parallelism is {parallelism(now, unset)}")
    elif result.plan:
        now = now.in_parallelism_of(result.plan)
        console.heading("what the settings change")
        sites = sites_of(now.cluster, then.cluster)
        show_shifts(console, shifts(now.jobs, unset.plan, result.plan, sites))


def status_of(result: Result) -> ExitStatus:
    """Return the exit status that stands for a result."""
    if result.stopped_by is StoppedBy.INTERRUPT:
        return ExitStatus.INTERRUPTED
    if result.status is Status.INFEASIBLE:
        return ExitStatus.INFEASIBLE
    if result.status is Status.UNKNOWN:
        return ExitStatus.NO_PLAN
    if result.status is Status.OPTIMAL or result.stopped_by is StoppedBy.GAP:
        return ExitStatus.OK
    return ExitStatus.NOT_PROVED


def as_json(
    result: Result,
    others: Sequence["Policy"],
    local: Sequence["Advice"] = (),
    unset: Result | None = None,
) -> dict[str, object]:
    """Return result and comparison as plain data; `unset` is the result without `--set`."""
    levels = [{**level.model_dump(mode="json"), "gap": level.gap} for level in result.levels]
    return {
        **result.model_dump(mode="json"),
        "levels": levels,
        "bound": result.bound,
        "gap": result.gap,
        "headroom": _finite(result.evaluation.headroom) if result.evaluation else None,
        "compared": {
            p.name: {
                **p.evaluation.model_dump(mode="json"),
                "headroom": _finite(p.evaluation.headroom),
            }
            for p in others
        },
        "advice": [dataclasses.asdict(a) for a in local],
        "without_settings": unset.model_dump(mode="json") if unset else None,
    }


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None


def _show(
    console: Console,
    case: Case,
    result: Result,
    others: Sequence["Policy"],
    local: Sequence["Advice"],
    unset: Result | None,
    full: bool,
) -> None:
    from edgeplace.views.plan_summary import fullest, gain, show_places

    compared = [(p.name, p.evaluation) for p in others]
    if unset and unset.evaluation:
        compared.insert(0, ("without --set", unset.evaluation))
    if result.plan and result.evaluation:
        rows = [("edgeplace", result.evaluation), *compared]
        if full:
            show_plan(console, case.jobs, result.plan)
        else:
            show_places(console, case.jobs, case.cluster, result.plan)
        console.heading("compared, at the stated demand")
        terms = Terms.of(case.cluster)
        show_policies(console, rows, terms, by_link=full)
        for p in others[:1]:
            console.text(gain(p.name, p.evaluation, result.evaluation, terms), style="bold")
        if said := terms.explanation():
            console.text(said, style="dim")
        if full:
            show_bill(console, case.cluster, result.evaluation)
        console.text(fullest(case.cluster, result.evaluation, case.rules))
        if result.chosen:
            console.text(f"parallelism: {parallelism(case, result)}", style="bold")
        if full:
            console.heading("proof")
            show_proof(console, result)
        else:
            proved = result.status is Status.OPTIMAL
            console.text(proof(result), style="green" if proved else "yellow")
        for a in local:
            now, then = size(a.wan_bytes_per_s, "/s"), size(a.local_wan_bytes_per_s, "/s")
            console.text(
                f"a change to the job {a.job} would help: with {a.source} -> {a.target} as "
                f"{a.local.value} instead of {a.now.value}, the WAN would carry {then} instead of "
                f"{now}"
            )
        if result.evaluation.headroom < 1:
            console.text(
                f"this plan sustains {100 * result.evaluation.headroom:.3g} % of the demand",
                style="bold yellow",
            )
    elif result.status is Status.INFEASIBLE:
        show_conflict(console, result)
        if compared:
            console.heading("for comparison, at the stated demand")
            show_policies(console, compared, Terms.of(case.cluster), by_link=full)
    else:
        console.text(f"no plan found: stopped by {result.stopped_by.value}", style="yellow")
    for note in result.notes:
        console.text(f"note: {note}", style="dim")
