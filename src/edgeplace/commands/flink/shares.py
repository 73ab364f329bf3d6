"""`edgeplace flink shares`."""

import argparse

from edgeplace.adapters.flink.plans import find_plans_folder, key_of
from edgeplace.adapters.flink.rest import choose
from edgeplace.adapters.flink.split import (
    KeysReport,
    SplitReport,
    read_keys_report,
    read_shares,
    weigh,
)
from edgeplace.cli.connection import connected
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_connection, positive
from edgeplace.model import InvalidInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Give the workers of a job's split aggregates other weights while it runs, and wait until "
        "every router uses them. Without a file, show the weights in force and the load of each "
        "worker. A file that is wrong changes nothing. docs/keys.md has its lines."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink shares --jobmanager http://localhost:8081\n"
        "  edgeplace flink shares weights.shares --jobmanager http://localhost:8081 --job words\n\n"
        + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "shares", nargs="?", metavar="FILE", help="lines `combine (i/n); weight`; default: show"
    )
    add_connection(parser)
    parser.add_argument("--job", metavar="NAME|ID", help="default: the only one that runs")
    parser.add_argument(
        "--timeout",
        type=positive,
        default=30.0,
        metavar="S",
        help="seconds for the routers to use them (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Write the weights, or show those in force."""
    shares = read_shares(args.shares) if args.shares else None
    with connected(args) as live:
        jobs = live.jobs()
        job = choose(jobs, args.job)
        if job is None:
            raise InvalidInputError(f"no job {args.job or ''} runs", "submit the job first")
        folder = find_plans_folder(live, args.plans)
        if shares is None:
            return _show(console, args.json, read_keys_report(folder, job.id), job.name)
        with folder.locked():
            key = key_of(job.id, {each.id: each.name for each in jobs})
            done = weigh(folder, key, job.id, shares, args.timeout)
        if done.followed:
            return _show(console, args.json, done.report, job.name)
        console.problem(f"edgeplace flink shares: the weights of {job.name} are not in force")
        for reason in done.reasons:
            console.problem(f"  {reason}")
        return ExitStatus.NOT_APPLIED


def _show(console: Console, as_json: bool, report: KeysReport | None, job: str) -> ExitStatus:
    if report is None:
        raise InvalidInputError(
            f"no router of job {job!r} reports in the folder of plans",
            "SplitAggregate.of(...).spread(n) makes routers: docs/keys.md",
        )
    if as_json:
        console.json(report.model_dump(mode="json"))
        return ExitStatus.OK
    for split in report.splits:
        console.heading(f"{split.combine} of {job}")
        console.table(("worker", "weight", "records/s"), list(_rows(split)))
        console.text(
            f"{split.routers_following} of {split.routers} routers use these weights; the fullest "
            f"worker is {split.imbalance:.1%} above its share; {split.frequent_keys} frequent "
            f"keys at {split.fan_out:.1f} workers each"
        )
    for reason in report.refused:
        console.problem(f"{report.shares_file} is refused: {reason}")
    return ExitStatus.OK


def _rows(split: SplitReport) -> list[tuple[str, str, str]]:
    """Return the rows of a table; weights that differ by router are given as their range."""
    weights = split.weights or {"*": (1.0,) * split.workers}
    rows = []
    for i in range(split.workers):
        found = sorted({row[i] for row in weights.values()})
        shown = f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g} to {found[-1]:g}"
        rows.append((f"{i + 1}/{split.workers}", shown, f"{split.load_records_per_s[i]:,.0f}"))
    return rows
