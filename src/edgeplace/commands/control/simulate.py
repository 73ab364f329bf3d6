"""`edgeplace control simulate`: simulate scaling policies on a load."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.adapters.flink import load_job
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import duration_s
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import count, percent, size
from edgeplace.model import Cluster, Costs, InvalidInputError, JobGraph, Rules, read

if TYPE_CHECKING:
    from edgeplace.control.fluid import PolicyOutcome
    from edgeplace.control.load import Load
    from edgeplace.control.options import Options

_PICTURE = "--svg"
_LEVELS = tuple(0.25 * 1.25**k for k in range(16))
"""Rates of the searched plans, as multiples of today's: 0.25 to 7.1."""
_PLAN_S = 10.0
"""Wall time of the search for one plan."""
_BINS = 48
"""Half hours of a day."""
_QUANTILE = 0.9
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
        "--loop",
        metavar="CONTROL",
        help="instead of policies, run the loop of this control file on the load, with JOB CLUSTER "
        "in a simulated Flink, and show each change and why",
    )
    parser.add_argument(
        "--lose",
        action="append",
        default=[],
        type=_outage,
        metavar="SITE@AT+FOR",
        help="with --loop: a site is lost for a time, such as hall@2h+10m; may be given several "
        "times",
    )
    parser.add_argument(
        _PICTURE, metavar="FILE", help="draw the load and each policy's capacity (SVG)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Run every policy on every load, and compare lateness, units and changes."""
    from edgeplace.control.fluid import simulate
    from edgeplace.control.policies import POLICIES
    from edgeplace.views.pictures.control_picture import Strip, as_svg

    names = _names(args.policies)
    outputs = Outputs(console, {_PICTURE: args.svg}, (*args.loads, *args.case), args.json)
    loads = [_load(path, args) for path in args.loads]
    if args.loop:
        return _loop(args, console, loads)
    strips: list[Strip] = []
    rows: list[dict[str, object]] = []
    forecasts = [{"load": load.name, **_forecast(load)} for load in loads]
    with console.progress("simulating") as tell:
        for i, load in enumerate(loads):
            load, options = _asked(load, args)
            failures = _failures(args.failures_every, len(load.rates_per_s))
            for j, name in enumerate(names):
                done = (i + j / len(names)) / len(loads)
                policy = POLICIES[name](args.day, args.pause)
                tell(f"{load.name}: {policy.name}", done)
                outcome = simulate(load, options, policy, args.pause, args.late, failures)
                rows.append({"load": load.name, **_plain(outcome, options)})
                strips.append(Strip(load, options, outcome))
    outputs.text(_PICTURE, as_svg(strips))
    if args.json:
        console.json({"pause_s": args.pause, "runs": rows, "forecasts": forecasts})
    else:
        _show(console, rows, args)
        for scores in forecasts:
            _show_forecast(console, scores)
    outputs.say_written(_PICTURE, "picture")
    return ExitStatus.OK


def _loop(args: argparse.Namespace, console: Console, loads: "Sequence[Load]") -> ExitStatus:
    from edgeplace.commands.control.loop_on_load import run_loop

    if len(args.case) != 2 or len(loads) != 1:
        raise InvalidInputError(
            "--loop places the subtasks of one job under one load",
            "give JOB CLUSTER and one --load",
        )
    return run_loop(args, console, loads[0], *_case(args))


def _outage(text: str) -> tuple[str, int, int]:
    """Return site, begin and end in seconds."""
    site, at, rest = text.rpartition("@")
    from_text, plus, for_text = rest.partition("+")
    if not (site and at and plus):
        raise argparse.ArgumentTypeError(f"{text!r} is no loss of a site; write hall@2h+10m")
    from_s = duration_s(from_text)
    return site, from_s, from_s + duration_s(for_text)


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
    job, cluster, rules = _case(args)
    options = proved_plans(job, cluster, rules, _LEVELS, _PLAN_S)
    # The load keeps its shape and is scaled to 80 % of the capacity of the largest plan.
    return load.scaled_to(0.8 * options[len(options) - 1].capacity_per_s), options


def _case(args: argparse.Namespace) -> tuple[JobGraph, Cluster, Rules | None]:
    job, _ = load_job(args.case[0])
    if args.costs:
        job = job.with_costs(read(args.costs, Costs))
    return job, read(args.case[1], Cluster), read(args.rules, Rules) if args.rules else None


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


def _forecast(load: "Load") -> dict[str, float]:
    """Return how good the forecast of each half hour's peak would have been, from day 2 on."""
    from edgeplace.control.forecast_scores import scores

    width = load.day_s // _BINS
    bins = len(load.rates_per_s) // width
    peaks = load.rates_per_s[: bins * width].reshape(bins, width).max(axis=1)
    found = scores(peaks, (_BINS, 7 * _BINS), _QUANTILE, 7 * _BINS, first=_BINS)
    return dataclasses.asdict(found) if found else {}


def _show_forecast(console: Console, scores: Mapping[str, object]) -> None:
    if "coverage" not in scores:
        return
    held, said, error = (float(str(scores[k])) for k in ("coverage", "quantile", "mase"))
    console.text(
        f"forecast of {scores['load']}: its bound of {said:.0%} held {held:.0%} of the time; its "
        f"error is {error:.2f} times that of the same time a day or a week ago",
        style="dim",
    )


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
