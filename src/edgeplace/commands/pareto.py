"""`edgeplace solve --pareto`: the Pareto front of WAN bytes, latency and server cores."""

import argparse
from pathlib import Path

from edgeplace.case import what_if
from edgeplace.case.cluster_notes import cluster_notes
from edgeplace.case.files import inputs_of, read_case
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import count, milliseconds
from edgeplace.model import Cluster, InvalidInputError, Status
from edgeplace.solver import Front, held_at_lost_sites, pareto
from edgeplace.views.pareto_picture import as_svg, as_text
from edgeplace.views.tables import show_conflict
from edgeplace.views.terms import Terms

_SECONDS = 60.0
_PICTURE = "--pareto"


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Compute the Pareto front, print it as a table and a picture, and write the SVG picture."""
    if args.output or args.schedulercfg or args.report:
        raise InvalidInputError(
            "--pareto finds several plans, and -o, --schedulercfg and --report write one",
            "choose a point, then ask for it: --objective wan:10%,latency, or max_latency_ms in "
            "the rules; or take its plan from --pareto --json",
        )
    if args.parallelism:
        raise InvalidInputError(
            "--pareto shows the trade-off of one parallelism, and --parallelism asks for several",
            "choose the parallelism first (without --pareto), then ask for the front with it in "
            "the job file",
        )
    if args.pareto and args.pareto != "-" and Path(args.pareto).suffix.lower() != ".svg":
        raise InvalidInputError(
            f"--pareto {args.pareto}: the picture is SVG, and the file's name does not end so",
            "name the file FILE.svg; a browser shows it, and converts it by printing",
        )
    outputs = Outputs(console, {_PICTURE: args.pareto or None}, inputs_of(args), args.json)
    case = what_if.apply(read_case(args), args.set)
    said = (*case.notes, *cluster_notes(case.cluster))
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
            )
        )
    if args.pareto and front.points:
        outputs.text(_PICTURE, as_svg(front.points, Terms.of(case.cluster)))
    if args.json:
        found = {**as_json(front), "notes": said}
        console.json(found)
    else:
        _show(console, front, case.cluster)
        for note in said:
            console.text(f"note: {note}", style="dim")
        if front.points:
            outputs.say_written(_PICTURE, "picture")
    if not front.points:
        outputs.say_not_written(_PICTURE, "picture", "no plan was found")
    return _status(front)


def as_json(front: Front) -> dict[str, object]:
    """Return the Pareto front as plain data, for JSON."""
    points = [
        {
            "asked": p.asked,
            "proved": p.proved,
            "plan": p.plan.model_dump(mode="json"),
            "evaluation": p.evaluation.model_dump(mode="json"),
        }
        for p in front.points
    ]
    conflict = front.infeasible.conflict if front.infeasible else None
    return {
        "points": points,
        "unasked": front.unasked,
        "conflict": conflict.model_dump(mode="json") if conflict else None,
    }


def _show(console: Console, front: Front, cluster: Cluster) -> None:
    if front.infeasible:
        show_conflict(console, front.infeasible)
        return
    if not front.points:
        console.text("no plan found in this time: give more with --time-limit", style="yellow")
        return
    terms = Terms.of(cluster)
    rows = [
        (
            str(i),
            terms.value("wan", p.evaluation.wan_cost),
            milliseconds(p.evaluation.latency_ms),
            count(p.evaluation.server_cores),
            p.asked,
            "yes" if p.proved else "no",
        )
        for i, p in enumerate(front.points, start=1)
    ]
    console.table(
        ("", f">{terms.title('wan')}", ">worst path", ">server cores", "asked for", "proved"), rows
    )
    console.text("proved: no plan is as good in all three and better in one", style="dim")
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
