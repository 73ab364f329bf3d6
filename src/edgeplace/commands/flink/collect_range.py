"""`edgeplace flink collect --prometheus`."""

import argparse
import dataclasses
import logging
import re
import time
from datetime import UTC, datetime

from edgeplace.adapters.flink.collect import (
    PROMETHEUS_VARIABLES,
    CollectedRange,
    PrometheusClient,
    RangeLog,
    collect_range,
)
from edgeplace.adapters.flink.rest import find_credentials
from edgeplace.cli.connection import discovering, measuring
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.quantities import size
from edgeplace.model import InvalidInputError

_STEP_S = 15.0
_RANGE_S = 3600.0
_LEAST_STEP_S = 1.0
_SPAN_OPTIONS = ("from_s", "until_s", "header")


def add_range_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that belong to the past only."""
    group = parser.add_argument_group("with --prometheus or --whisper")
    group.add_argument(
        "--from",
        dest="from_s",
        type=_instant_s,
        metavar="TIME",
        help="the first time, such as 2026-11-23T06:00Z (default: --duration before --until; "
        "without both, an hour, or with --whisper all that the finest archives have)",
    )
    group.add_argument(
        "--until", dest="until_s", type=_instant_s, metavar="TIME", help="the last (default: now)"
    )
    group.add_argument(
        "--header",
        action="append",
        type=_header,
        metavar="'NAME: VALUE'",
        help="with --prometheus, of each request, such as 'X-Scope-OrgID: plant-3' for a tenant; "
        "repeatable",
    )


def check_not_polled(args: argparse.Namespace) -> None:
    """Refuse the options for the past if Flink itself is polled.

    Raises
    ------
    InvalidInputError
        If there is one.
    """
    given = [name for name in _SPAN_OPTIONS if getattr(args, name) is not None]
    if given:
        raise InvalidInputError(
            f"--{given[0].removesuffix('_s')} belongs to --prometheus"
            + (" and --whisper" if given[0].endswith("_s") else ""),
            "leave it out, or give --prometheus in place of --jobmanager",
        )


def run_range(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Collect a range of time from Prometheus, and summarise the log."""
    # The warnings about retries repeat what our errors say.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    from_s, until_s = _range(args)
    credentials = find_credentials(args.credentials, variables=PROMETHEUS_VARIABLES)
    headers = dict(args.header or ())
    with PrometheusClient(args.prometheus, credentials, args.ca_file, headers) as client:
        log = RangeLog(args.output, args.max_bytes)
        try:
            with console.progress("connected") as bar:
                done = collect_range(
                    client,
                    log,
                    lambda share: bar(f"{size(log.written_bytes)}", share),
                    job=args.job,
                    from_s=from_s,
                    until_s=until_s,
                    step_s=args.interval or _STEP_S,
                )
                log.close()
        except BaseException:
            log.discard()
            raise
    if not done.jobs:
        log.discard()
    if args.json:
        console.json(_as_json(done, log, args))
    _show(console, done, log, args)
    return ExitStatus.OK if done.jobs else ExitStatus.UNREACHABLE


def _range(args: argparse.Namespace) -> tuple[float, float]:
    step_s = args.interval or _STEP_S
    if step_s < _LEAST_STEP_S:
        raise InvalidInputError(
            f"--interval {step_s:g} is less than a second", "give the interval of the scrapes"
        )
    if args.from_s is not None and args.duration_s and args.until_s is not None:
        raise InvalidInputError("--from, --until and --duration are all given", "leave one out")
    length_s = args.duration_s or _RANGE_S
    from_s, until_s = args.from_s, args.until_s
    if until_s is None:
        now_s = time.time()
        until_s = min(now_s, from_s + args.duration_s) if from_s and args.duration_s else now_s
    if from_s is None:
        from_s = until_s - length_s
    if from_s >= until_s:
        raise InvalidInputError(
            f"--from {_clock(from_s)} is not before --until {_clock(until_s)}", "change one of them"
        )
    return from_s, until_s


def _show(console: Console, done: CollectedRange, log: RangeLog, args: argparse.Namespace) -> None:
    if done.missing:
        console.problem(
            f"Prometheus has no {', '.join(done.missing)}: add them to filter.includes of Flink's "
            "reporter and to what Prometheus keeps; there are no costs without them"
        )
    if not done.jobs:
        console.problem(
            "edgeplace flink collect: nothing was collected: Prometheus has no point of the job in "
            "this time"
        )
    if args.json or not done.jobs:
        return
    runs = ", ".join(f"{name!r} ({i})" for i, name in sorted(done.jobs.items()))
    lasted_s = ((done.to_ms or 0) - (done.from_ms or 0)) / 1000
    console.text(
        f"collected {done.values:,} metric values of {runs} in {lasted_s:,.0f} s by "
        f"{done.requests:,} requests: {size(log.written_bytes)} in {log.where}"
    )
    if done.gaps:
        lost_s = sum(b - a for a, b in done.gaps) / 1000
        console.text(f"gaps: {len(done.gaps)}, {lost_s:,.0f} s in all")
    console.command("Prometheus has no plan of the job: ", discovering(args))
    console.command("measure: ", measuring(log.where, args, "job.json"))


def _as_json(done: CollectedRange, log: RangeLog, args: argparse.Namespace) -> dict[str, object]:
    return {
        "prometheus": args.prometheus,
        "log": str(log.where),
        **dataclasses.asdict(done),
        "jobs": [{"id": i, "name": name} for i, name in sorted(done.jobs.items())],
        "gaps": [{"from_ms": a, "to_ms": b} for a, b in done.gaps],
        "interval_s": args.interval or _STEP_S,
        "written_bytes": log.written_bytes,
        "files": len(log.files),
    }


def _instant_s(text: str) -> float:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None or when.timestamp() <= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time with a zone; write 2026-11-23T06:00Z or 2026-11-23T07:00+01:00"
        )
    return when.timestamp()


def _header(text: str) -> tuple[str, str]:
    hit = re.fullmatch(r"([A-Za-z0-9-]+): *([!-~](?:[ -~]*[!-~])?)", text)
    if not hit:
        raise argparse.ArgumentTypeError("a header has the form 'X-Scope-OrgID: plant-3'")
    if hit[1].lower() in ("authorization", "proxy-authorization", "cookie"):
        # The command line is visible to all users of this machine.
        raise argparse.ArgumentTypeError(
            f"{hit[1]} is a secret: give --credentials FILE, or {PROMETHEUS_VARIABLES}_TOKEN"
        )
    return hit[1], hit[2]


def _clock(when_s: float) -> str:
    return datetime.fromtimestamp(when_s, UTC).isoformat(timespec="seconds")
