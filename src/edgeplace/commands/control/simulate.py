"""`edgeplace control simulate`: simulate scaling policies on a load."""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.adapters.flink import load_job
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import count, percent, size
from edgeplace.model import Cluster, Costs, InvalidInputError, Rules, read

if TYPE_CHECKING:
    from edgeplace.control.fluid import PolicyOutcome
    from edgeplace.control.load import Load
    from edgeplace.control.options import Options

_PICTURE = "--svg"
_LEVELS = tuple(0.25 * 1.25**k for k in range(16))
"""Rates of the searched plans, as multiples of today's: 0.25 to 7.1."""
_PLAN_S = 10.0
"""Wall time of the search for one plan."""
_NAMES = (
    "static",
    "hpa",
    "autoscaler",
    "ds2",
    "thesis",
    "demeter",
    "edgeplace",
    "no-forecast",
    "no-regret",
)
"""Names of the default policies, as in `control.policies`."""

LOADS = ("edgeplace.control.fluid", "edgeplace.control.policies")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the load, the configurations and the cost of changes, and the help."""
    parser.description = (
        "Simulate scaling policies on a load: records flow, wait while the job restarts, drain. "
        "All policies have the same pause and the same choices, so the table compares decisions."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace control simulate --load load.csv --svg policies.svg\n"
        "  edgeplace control simulate job.yaml cluster.yaml --load load.csv --pause 30\n\n"
        + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "case",
        nargs="*",
        metavar="JOB CLUSTER",
        help="choose between proved plans of this job, at 0.25 to 7 times its rates; without them, "
        "between 1 to --units equal units",
    )
    parser.add_argument("--costs", metavar="FILE", help="costs made by `edgeplace costs`")
    parser.add_argument("--rules", metavar="FILE", help="rules (YAML or JSON): pin, match, ...")
    parser.add_argument(
        "--load",
        dest="loads",
        action="append",
        required=True,
        metavar="FILE",
        help="two columns, time and records per second; may be given several times",
    )
    parser.add_argument("--days", type=_positive, metavar="N", help="only the first N days")
    parser.add_argument(
        "--day",
        type=int,
        default=86_400,
        metavar="S",
        help="seconds after which the load may repeat (default: %(default)s)",
    )
    parser.add_argument(
        "--units", type=int, default=24, metavar="N", help="equal units (default: %(default)s)"
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=2.0,
        metavar="S",
        help="how long a change stops the job, for all policies (default: %(default)s)",
    )
    parser.add_argument(
        "--late",
        type=float,
        default=2.0,
        metavar="S",
        help="a second is late if a record that comes in it waits longer (default: %(default)s)",
    )
    parser.add_argument(
        "--failures-every",
        type=int,
        metavar="S",
        help="let the job fail so often, for 25 s each time (default: never)",
    )
    parser.add_argument(
        "--policies",
        default="static,hpa,autoscaler,ds2,thesis,demeter,edgeplace",
        metavar="LIST",
        help=f"of {', '.join(_NAMES)}, or all (default: %(default)s)",
    )
    parser.add_argument(
        _PICTURE, metavar="FILE", help="draw the load and each policy's capacity (SVG)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Run every policy on every load, and compare lateness, units and changes."""
    from edgeplace.control.fluid import simulate
    from edgeplace.control.policies import POLICIES
    from edgeplace.views.control_picture import Strip, as_svg

    names = _names(args.policies)
    outputs = Outputs(console, {_PICTURE: args.svg}, (*args.loads, *args.case), args.json)
    loads = [_load(path, args) for path in args.loads]
    strips: list[Strip] = []
    rows: list[dict[str, object]] = []
    with console.progress("simulating") as tell:
        for i, load in enumerate(loads):
            load, options = _asked(load, args)
            failures = _failures(args.failures_every, len(load.rates_per_s))
            for j, name in enumerate(names):
                done = (i + j / len(names)) / len(loads)
                policy = POLICIES[name](args.day)
                tell(f"{load.name}: {policy.name}", done)
                outcome = simulate(load, options, policy, args.pause, args.late, failures)
                rows.append({"load": load.name, **_plain(outcome, options)})
                strips.append(Strip(load, options, outcome))
    outputs.text(_PICTURE, as_svg(strips))
    if args.json:
        console.raw(json.dumps({"pause_s": args.pause, "runs": rows}, indent=1) + "\n")
    else:
        _show(console, rows, args)
    outputs.say_written(_PICTURE, "picture")
    return ExitStatus.OK


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e4:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days: give one above 0")
    return value


def _names(text: str) -> list[str]:
    names = list(_NAMES) if text == "all" else text.split(",")
    for name in names:
        if name not in _NAMES:
            raise InvalidInputError(
                f"--policies: there is no policy {name!r}",
                f"choose of {', '.join(_NAMES)}, or all",
            )
    return names


def _load(path: str, args: argparse.Namespace) -> "Load":
    from edgeplace.control.load import read_load

    if not 4800 <= args.day <= 86_400 or args.day % 480:
        raise InvalidInputError(
            f"--day {args.day}: a day has 48 bins of tens of seconds",
            "give a multiple of 480 between 4800 and 86400",
        )
    load = read_load(Path(path), args.day)
    return load.first(args.days) if args.days else load


def _failures(every_s: int | None, seconds: int) -> Sequence[int]:
    if every_s is None:
        return ()
    if every_s < 60:
        raise InvalidInputError(
            f"--failures-every {every_s}: a failure takes 25 s", "give 60 seconds or more"
        )
    return range(every_s, seconds, every_s)


def _asked(load: "Load", args: argparse.Namespace) -> tuple["Load", "Options"]:
    """Return the load and the options: proved plans, or equal units for the load's peak."""
    from edgeplace.control.options import equal_units, proved_plans

    if not args.case:
        return load, equal_units(args.units, float(load.rates_per_s.max()))
    if len(args.case) != 2:
        raise InvalidInputError(
            f"{len(args.case)} files stand for JOB CLUSTER", "give both, or none for equal units"
        )
    job, _ = load_job(args.case[0])
    if args.costs:
        job = job.with_costs(read(args.costs, Costs))
    cluster = read(args.case[1], Cluster)
    rules = read(args.rules, Rules) if args.rules else None
    options = proved_plans(job, cluster, rules, _LEVELS, _PLAN_S)
    # The load keeps its shape and is scaled to 80 % of the capacity of the largest plan.
    return load.scaled_to(0.8 * options[len(options) - 1].capacity_per_s), options


def _plain(outcome: "PolicyOutcome", options: "Options") -> dict[str, object]:
    """Return an outcome as plain data, without its arrays."""
    kept = {
        f.name: getattr(outcome, f.name)
        for f in dataclasses.fields(outcome)
        if f.name not in ("option", "decided_s")
    }
    return {
        **kept,
        "late_s": outcome.late_s,
        "changes_per_day": outcome.changes_per_day,
        "reversals_per_day": outcome.reversals_per_day,
        "options": len(options),
    }


def _show(console: Console, rows: Sequence[dict[str, object]], args: argparse.Namespace) -> None:
    wan = any(row["wan_bytes"] for row in rows)
    shown = [
        (
            str(row["load"]),
            str(row["policy"]),
            f"{float(str(row['late_s'])) / 60:,.1f} min",
            percent(float(str(row["late_share"]))),
            percent(float(str(row["unit_share"]))),
            count(float(str(row["changes_per_day"]))),
            count(float(str(row["reversals_per_day"]))),
            *((size(float(str(row["wan_bytes"]))),) if wan else ()),
        )
        for row in rows
    ]
    columns = ("load", "policy", ">late", ">of time", ">units", ">changes/day", ">back/day")
    console.table((*columns, *((">WAN",) if wan else ())), shown)
    console.text(
        f"late: a record waits more than {args.late:g} s; every change stops the job for "
        f"{args.pause:g} s; units: share of those that the peak needs; back: against the change "
        "before, within an hour",
        style="dim",
    )
