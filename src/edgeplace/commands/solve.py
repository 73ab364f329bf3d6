"""`edgeplace solve`."""

import argparse
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.plans import SUFFIX, key
from edgeplace.case import what_if
from edgeplace.case.files import inputs_of, read_case
from edgeplace.case.sweep import is_sweep
from edgeplace.case.told import told
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import GAP_HELP, add_backend, add_case, preset_of
from edgeplace.cli.outcome import status_of
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.whole_call import share_s, within_time_limit
from edgeplace.instances.instance import Instance
from edgeplace.model import Case, InvalidInputError, JobGraph, Result, Rules, StoppedBy

if TYPE_CHECKING:
    from edgeplace.solver import WishPrice
    from edgeplace.views.solved_case import SolvedCase

_PLAN, _SCHEDULERCFG, _REPORT, _SHARES = "-o", "--schedulercfg", "--report", "--key-shares"

_WISHES_S = 10.0
"""Time for the prices of wishes on the report, if the command has no limit."""

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
        "rate:SOURCE=x2, rate=x2 (all sources), site:ID=lost, node:ID=lost, link:A-B=lost, "
        "link:A-B=0.5 (times, both ways; A->B: one way) or +5Mbit/s, price:A-B='2 EUR/GB', "
        "slots:PLACE=8 or +8, cores:PLACE=8 (of a site, node, class or pattern), "
        "class:OLD=NEW (all nodes of a class are of another), node+=CLASS@SITE or "
        "node+=3*CLASS@SITE (more nodes like those), "
        "site+=NEW@LIKE (another site like one). A range is a sweep, a row for each, "
        "which --report draws: rate=x1..x5",
    )
    parser.add_argument(
        "--each-site-lost",
        action="store_true",
        help="solve without each site in turn: what is lost, what the rest costs then, or why "
        "there is no plan",
    )
    parser.add_argument(
        "--survive",
        action="append",
        default=[],
        metavar="SITE",
        help="accept a plan only if one exists without this site, too, for the data that remains, "
        "and show what it costs then: a site, a pattern such as 'region-*', or any; where there is "
        "none, say what it takes",
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
        "--pick",
        type=int,
        metavar="N",
        help="with --pareto: -o writes the plan of the point of this number in the table",
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
    parser.add_argument(
        "--confidence",
        metavar="P",
        help="plan with CPU costs that are not exceeded with this probability, each by itself "
        "(0.9 or 90%%)",
    )
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="OPERATOR",
        help="choose the weights by which a router deals records to the subtasks of an operator, "
        "together with the places; wan comes first (docs/splitting.md)",
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
        "--key-shares",
        metavar="FILE",
        help="write the weights of --split for the router of a running job, as KEY.shares in the "
        "agent's folder of plans; of one job",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write what was decided and why as a page (HTML)"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="show the TaskManager of every subtask, the busiest links, the bounds, and the "
        "intervals of the CPU costs",
    )
    parser.add_argument("--json", action="store_true", help="print result and comparison as JSON")


@within_time_limit
def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Solve, compare with where the job runs now and with all-server, and write the plan."""
    _refuse_contradictions(args)
    if args.pareto is not None:
        from edgeplace.commands import pareto

        return pareto.run(args, console)
    if _many(args):
        from edgeplace.commands import variations

        return variations.run(args, console)
    # They load the solver.
    from edgeplace.case.answering import compared, solved
    from edgeplace.commands import survival
    from edgeplace.solver import certainty
    from edgeplace.views.confidence import confidence_note, show_certainty
    from edgeplace.views.solved_case import as_json, show_next, show_solved

    measured = read_case(args)
    now = measured.at_confidence(args.confidence) if args.confidence else measured
    if args.key_shares is not None and len(now.jobs) > 1:
        raise InvalidInputError(
            f"--key-shares is a file of one job, and there are {len(now.jobs)}",
            "write the plan with -o, and ask again for each job by itself with --taken",
        )
    texts = _schedulercfgs(args.schedulercfg, now.jobs)
    files = {
        _PLAN: args.output,
        _REPORT: args.report,
        _SHARES: args.key_shares,
        **{o: path for o, path, _ in texts},
    }
    outputs = Outputs(console, files, inputs_of(args), args.json)
    asked = what_if.apply(now, args.set)
    to_survive = args.survive = survival.patterns(asked, args)
    with console.progress("searching") as tell:
        found = solved(now, asked, args, tell)
    supposed, waiting = found.case, {w.job for w in found.waiting}
    if args.confidence:
        supposed = what_if.apply(measured, args.set).without_jobs(waiting)
        if found.result.plan:
            supposed = supposed.in_parallelism_of(found.result.plan)
        note = confidence_note(supposed, found.result, args.confidence)
        found = found.updated(notes=(note, *found.result.notes))
    titles = {
        _PLAN: "plan",
        _SHARES: "weights",
        **{option: "schedulercfg" for option, _, _ in texts},
    }
    rows: survival.Rows = []
    if to_survive and found.result.plan:
        rows = survival.survival(found.case, found.result, to_survive, args, console)
        if (short := survival.status(rows)) is not ExitStatus.OK:
            why = survival.why_no_plan(rows)
            if args.json:
                notes = (*found.result.notes, f"no plan is written: {why}")
                console.json(
                    {
                        **as_json(found.updated(plan=None, notes=notes)),
                        "survival": survival.as_plain(rows),
                    }
                )
            else:
                survival.show_survival(console, found.case, rows)
                console.notes(found.result.notes)
                console.text(f"no plan is written: {why}", style="yellow")
            for option, title in {**titles, _REPORT: "report"}.items():
                outputs.say_not_written(option, title, why)
            return short
    found = _write_plan(outputs, found, args, texts)
    # After Ctrl-C there is no time to compare.
    if found.result.stopped_by is not StoppedBy.INTERRUPT:
        found = compared(found, chosen=args.objective_chosen)
    if args.report:
        losses = survival.table_of(found.case, rows)
        with console.progress("solving again with each wish first"):
            wished = _wished(found, args)
        outputs.text(_REPORT, _page(found, supposed, args, losses, wished))
    if args.json:
        more = {"survival": survival.as_plain(rows)} if rows else {}
        console.json({**as_json(found), **more})
    else:
        if args.optimise:
            console.text(preset_of(args), style="dim")
        show_solved(console, found, args.full)
        if args.full and (plan := found.result.plan):
            sure = certainty(
                supposed.jobs, supposed.cluster, plan, supposed.rules, supposed.current
            )
            show_certainty(console, sure)
        if rows:
            survival.show_survival(console, found.case, rows)
    unplaced = {option for option, _, job in texts if job.name in waiting}
    _say_where(outputs, titles, unplaced, found.result, args.json)
    if found.result.plan and not args.json:
        show_next(console, args)
    return status_of(found.result)


def _write_plan(
    outputs: Outputs,
    found: "SolvedCase",
    args: argparse.Namespace,
    texts: Sequence[tuple[str, str, JobGraph]],
) -> "SolvedCase":
    """Write the plan, if there is one, in each form; return the answer with what the file says."""
    from edgeplace.views.split import key_shares

    case, plan = found.case, found.result.plan
    if plan is None:
        return found
    if outputs.wants(_PLAN) or args.json:
        plan = told(case, plan, args.set, found.result.evaluation)
        found = found.updated(plan=plan)
        outputs.document(_PLAN, plan)
    placed = {job.name: job for job in case.jobs}
    for option, _, asked in texts:
        if job := placed.get(asked.name):
            outputs.text(option, schedulercfg.render(plan.of(job.name), job, case.cluster))
    if args.key_shares is not None:
        outputs.text(_SHARES, key_shares(case.jobs, case.cluster, plan))
    return found


def _many(args: argparse.Namespace) -> bool:
    """Return whether several cases are asked for."""
    return args.each_site_lost or any(map(is_sweep, args.set))


def _refuse_contradictions(args: argparse.Namespace) -> None:
    """Refuse options that cannot be given together."""
    front = args.pareto is not None
    supposed = "; once it is so, solve again without --set"
    one_plan = not front and not _many(args)
    for both, what, cure in (
        (
            args.split and front,
            "--pareto trades WAN bytes for others, and --split chooses weights for the fewest",
            "give one of them",
        ),
        (
            args.survive and not one_plan,
            "--survive is about one plan, and --pareto, --each-site-lost and a range in --set "
            "make several",
            "ask one at a time",
        ),
        (
            args.pick is not None and not front,
            "--pick chooses a point of the front, and there is no --pareto",
            "add --pareto",
        ),
        (
            args.set and args.schedulercfg is not None and one_plan,
            "--schedulercfg writes what Flink obeys, and --set supposes what is not there",
            f"write the plan with -o, which says what it supposes{supposed}",
        ),
        (
            args.set and args.key_shares is not None and one_plan,
            "--key-shares writes what the router of a running job obeys, and --set supposes what "
            "is not there",
            f"write the plan with -o, which says what it supposes{supposed}",
        ),
        (
            args.key_shares is not None and not args.split and one_plan,
            "--key-shares writes the weights of an operator, and no --split names one",
            "add --split OPERATOR, or leave --key-shares out",
        ),
    ):
        if both:
            raise InvalidInputError(what, cure)


def _wished(found: "SolvedCase", args: argparse.Namespace) -> "tuple[WishPrice, ...]":
    """Return what it would cost to meet the wishes that the plan does not meet."""
    from edgeplace.solver import wish_prices

    case, plan, evaluation = found.case, found.result.plan, found.result.evaluation
    # Plans with weights of routers would be compared with some that have none.
    if not plan or not evaluation or not evaluation.unmet or plan.weights:
        return ()
    seconds = share_s(0.5)  # The rest is for the reasons.
    return wish_prices(
        case.jobs,
        case.cluster,
        plan,
        case.rules,
        case.current,
        args.objective.split(","),
        _WISHES_S if seconds is None else seconds,
        args.backend,
    )


def _page(
    found: "SolvedCase",
    measured: Case,
    args: argparse.Namespace,
    losses: tuple[Sequence[str], Sequence[Sequence[str]]] | None,
    wished: "Sequence[WishPrice]",
) -> str:
    from edgeplace.report.plan_tables import Origin
    from edgeplace.report.solution import solution_page

    case = found.case
    instance = Instance(
        name=case.name,
        jobs=case.jobs,
        cluster=case.cluster,
        rules=case.rules or Rules(),
        current=case.current,
    )
    origin = Origin.of(args)
    objective = args.objective.split(",")
    return solution_page(
        instance,
        found.result,
        found.others,
        found.advice,
        found.changes,
        objective,
        origin,
        measured.jobs,
        losses,
        wished,
    )


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


def _say_where(
    outputs: Outputs, titles: Mapping[str, str], unplaced: Set[str], result: Result, json: bool
) -> None:
    """Say which files were written, and which were not and may be older."""
    for option, title in titles.items():
        if result.plan is None:
            outputs.say_not_written(option, title, "no plan was found")
        elif option in unplaced:
            outputs.say_not_written(option, title, "the job is not placed")
        elif not json:
            outputs.say_written(option, title)
    if not json:
        outputs.say_written(_REPORT, "report")
