"""`edgeplace solve --pareto`: the Pareto front of WAN bytes, latency and server cores."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from edgeplace.case import what_if
from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.files import inputs_of, read_case
from edgeplace.case.parallelism import asked_parallelism
from edgeplace.case.sweep import is_sweep
from edgeplace.case.told import told
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outputs import Outputs
from edgeplace.model import Case, InvalidInputError, Status
from edgeplace.solver import Front, Point, Policy, held_at_lost_sites, pareto, policies
from edgeplace.views.pictures.pareto_picture import PROVED, as_svg, as_text, front_table
from edgeplace.views.tables import show_conflict, subtasks_chosen
from edgeplace.views.terms import Terms

_SECONDS = 60.0
_PICTURE, _PLAN, _REPORT = "--pareto", "-o", "--report"


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Compute the Pareto front, print it as a table and a picture, and write the SVG picture."""
    if args.schedulercfg or (args.output and args.pick is None):
        raise InvalidInputError(
            "--pareto finds several plans, and -o and --schedulercfg write one",
            "-o plan.json with --pick 3 writes the plan of the third point; for the others ask for "
            "it: --objective wan:10%,latency, or max_latency_ms in the rules",
        )
    if args.each_site_lost or any(map(is_sweep, args.set)) or args.confidence or args.key_shares:
        raise InvalidInputError(
            "--pareto asks for the front of one case at its measured costs, and --each-site-lost, "
            "a range in --set, --confidence and --key-shares ask something else",
            "ask one at a time; --pareto with --set site:ID=lost or rate=x2 is the front of that "
            "case",
        )
    if args.pick is not None and not args.output:
        raise InvalidInputError(
            "--pick chooses the plan that -o writes, and there is no -o", "add -o plan.json"
        )
    if args.pareto and args.pareto != "-" and Path(args.pareto).suffix.lower() != ".svg":
        raise InvalidInputError(
            f"--pareto {args.pareto}: the picture is SVG, and the file's name does not end so",
            "name the file FILE.svg; a browser shows it, and converts it by printing",
        )
    files = {_PICTURE: args.pareto or None, _PLAN: args.output, _REPORT: args.report}
    outputs = Outputs(console, files, inputs_of(args), args.json)
    case = what_if.apply(read_case(args), args.set)
    said = (*case.notes, *cluster_notes(case.cluster))
    wanted = args.pareto or args.report
    others = policies(case.jobs, case.cluster, case.rules, case.current) if wanted else ()
    with console.progress("searching") as tell:
        none = held_at_lost_sites(case, args.backend)
        front = (
            Front((), 0, none)
            if none
            else pareto(
                case.jobs,
                case.cluster,
                case.rules,
                case.current,
                time_limit_s=_SECONDS if args.time_limit is None else args.time_limit,
                backend=args.backend,
                progress=tell,
                parallelism=asked_parallelism(args.parallelism),
            )
        )
    chosen = _chosen(front, args.pick)
    if chosen:
        outputs.document(
            _PLAN,
            told(case.in_parallelism_of(chosen.plan), chosen.plan, args.set, chosen.evaluation),
        )
    if front.points and wanted:
        picked = None if args.pick is None else args.pick - 1
        picture = as_svg(front.points, Terms.of(case.cluster), others, picked)
        outputs.text(_PICTURE, picture)
        if args.report:
            outputs.text(_REPORT, _page(args, case, front, others, picture))
    if args.json:
        found = {**as_json(front), "notes": said}
        console.json(found)
    else:
        _show(console, front, case)
        console.notes(said)
        if front.points:
            outputs.say_written(_PICTURE, "picture")
            outputs.say_written(_REPORT, "report")
        if chosen:
            outputs.say_written(_PLAN, f"plan of point {args.pick}")
    if not front.points:
        outputs.say_not_written(_PICTURE, "picture", "no plan was found")
        outputs.say_not_written(_REPORT, "report", "no plan was found")
        outputs.say_not_written(_PLAN, "plan", "no plan was found")
    return _status(front)


def _page(
    args: argparse.Namespace, case: Case, front: Front, others: Sequence[Policy], picture: str
) -> str:
    from edgeplace.report.front_page import front_page
    from edgeplace.report.plan_tables import Origin

    origin = Origin.of(args)
    return front_page(case, front, others, picture, origin)


def _chosen(front: Front, pick: int | None) -> Point | None:
    """Return the point of a number in the table; None: none was asked for, or there is none."""
    if pick is None or not front.points:
        return None
    if not 1 <= pick <= len(front.points):
        raise InvalidInputError(
            f"--pick {pick}: the front has the points 1 to {len(front.points)}",
            "choose one of them; with more time (--time-limit) there may be more",
        )
    return front.points[pick - 1]


def as_json(front: Front) -> dict[str, object]:
    """Return the Pareto front as plain data, for JSON."""
    points = [
        {
            "asked": p.asked,
            "proved": p.proved,
            "plan": p.plan.model_dump(mode="json"),
            "evaluation": p.evaluation.model_dump(mode="json"),
            **({"parallelism": p.chosen.parallelism} if p.chosen else {}),
        }
        for p in front.points
    ]
    conflict = front.infeasible.conflict if front.infeasible else None
    return {
        "points": points,
        "unasked": front.unasked,
        "conflict": conflict.model_dump(mode="json") if conflict else None,
    }


def _show(console: Console, front: Front, case: Case) -> None:
    if front.infeasible:
        show_conflict(console, front.infeasible, Terms.of(case.cluster))
        return
    if not front.points:
        console.text("no plan found in this time: give more with --time-limit", style="yellow")
        return
    terms = Terms.of(case.cluster)
    console.table(*front_table(front.points, terms))
    console.text(PROVED, style="dim")
    for i, p in enumerate(front.points, start=1):
        if p.chosen:
            console.text(f"parallelism of {i}: {subtasks_chosen(case, p.chosen)}")
    if front.unasked:
        console.text(
            f"{front.unasked} of the questions were not asked, for want of time: there may be "
            "more plans between these",
            style="yellow",
        )
    if len(front.points) > 1:
        console.text()
        console.text(as_text(front.points, terms))
    if said := terms.explanation():
        console.text(said, style="dim")


def _status(front: Front) -> ExitStatus:
    if front.infeasible and front.infeasible.status is Status.INFEASIBLE:
        return ExitStatus.INFEASIBLE
    if not front.points:
        return ExitStatus.NO_PLAN
    return ExitStatus.OK
