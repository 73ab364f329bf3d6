"""`edgeplace flink collect --whisper`."""

import argparse
import dataclasses
import time
from pathlib import Path

from edgeplace.adapters.flink.collect import CollectedWhisper, RangeLog, collect_whisper
from edgeplace.cli.connection import discovering, measuring
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.quantities import size
from edgeplace.model import InvalidInputError

_SHOWN = 5
_NOT_HERE = ("jobmanager", "interval", "header", "credentials", "ca_file")


def run_whisper(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Collect from Whisper files, and summarise the log."""
    given = [name for name in _NOT_HERE if getattr(args, name) is not None]
    if given:
        raise InvalidInputError(
            f"--{given[0].replace('_', '-')} does not go with --whisper", "leave it out"
        )
    if not args.whisper:
        raise InvalidInputError(
            "--whisper has no place", "give Carbon's folder of Whisper files, or a tar file of it"
        )
    from_s, until_s = args.from_s, args.until_s
    if args.duration_s and from_s is not None and until_s is not None:
        raise InvalidInputError("--from, --until and --duration are all given", "leave one out")
    if args.duration_s and from_s is not None:
        until_s = from_s + args.duration_s
    elif args.duration_s:
        from_s = (until_s or time.time()) - args.duration_s
    log = RangeLog(args.output, args.max_bytes)
    try:
        with console.progress("reading") as bar:
            done = collect_whisper(
                Path(args.whisper),
                log,
                lambda share: bar(f"{size(log.written_bytes)}", share),
                job=args.job,
                from_s=from_s,
                until_s=until_s,
            )
        if done.values:
            log.close()
        else:
            log.discard()
    except BaseException:
        log.discard()
        raise
    if args.json:
        console.json(_as_json(done, log, args))
    _show(console, done, log, args)
    return ExitStatus.OK if done.values else ExitStatus.INVALID_INPUT


def _show(
    console: Console, done: CollectedWhisper, log: RangeLog, args: argparse.Namespace
) -> None:
    for path, reason in list(done.unreadable.items())[:_SHOWN]:
        console.problem(f"{path} was skipped: {reason}")
    if len(done.unreadable) > _SHOWN:
        console.problem(f"{len(done.unreadable) - _SHOWN} more files were skipped")
    if done.missing:
        console.problem(
            f"there is no {', '.join(done.missing)}: add them to filter.includes of Flink's "
            "reporter; there are no costs without them"
        )
    if not done.values:
        console.problem("edgeplace flink collect: nothing was collected: no point in this time")
    if args.json or not done.values:
        return
    lasted_s = ((done.to_ms or 0) - (done.from_ms or 0)) / 1000
    console.text(
        f"collected {done.values:,} metric values of {done.job!r} in {lasted_s:,.0f} s from "
        f"{done.series:,} files: {size(log.written_bytes)} in {log.where}"
    )
    if done.gaps:
        lost_s = sum(b - a for a, b in done.gaps) / 1000
        console.text(f"gaps: {len(done.gaps)}, {lost_s:,.0f} s in all")
    console.command("Graphite has no plan of the job: ", discovering(args))
    console.command("measure: ", measuring(log.where, args, "job.json"))


def _as_json(done: CollectedWhisper, log: RangeLog, args: argparse.Namespace) -> dict[str, object]:
    return {
        "whisper": args.whisper,
        "log": str(log.where),
        **dataclasses.asdict(done),
        "gaps": [{"from_ms": a, "to_ms": b} for a, b in done.gaps],
        "written_bytes": log.written_bytes,
        "files": len(log.files),
    }
