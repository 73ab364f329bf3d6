"""`edgeplace flink collect`."""

import argparse
import dataclasses
import re
from contextlib import closing

from edgeplace.adapters.flink.collect import (
    Collected,
    CollectEnd,
    LogFile,
    LogFolder,
    collect,
    followed_job,
    polling_interval_s,
)
from edgeplace.adapters.flink.rest import LiveFlink, is_job_id
from edgeplace.cli.connection import measuring, session
from edgeplace.cli.console import Bar, Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.options import add_rest_or_prometheus, duration_s, positive
from edgeplace.cli.quantities import size
from edgeplace.cli.signals import ended_like_ctrl_c
from edgeplace.commands.flink.collect_range import (
    add_range_arguments,
    check_not_polled,
    run_range,
)
from edgeplace.commands.flink.collect_whisper import run_whisper

_INTERVAL_S = 10.0
_BYTES = {"": 1, "k": 1000, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST_LOG_BYTES = 10**6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Poll Flink's REST API for a job's metrics, places and checkpoints into a "
        "metric log, until --duration is over or Ctrl-C. Restarts of the job and the JobManager "
        "and network cuts are gaps in the log, after which it goes on; so does a log in a folder "
        "when this is started again. With --prometheus or --whisper, read the metrics of the past "
        "from a Prometheus server or from Graphite's files into a new log, and end."
    )
    parser.epilog = (
        "examples:\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --duration 10m\n"
        "  edgeplace flink collect --jobmanager http://localhost:8081 --job telemetry "
        "-o /var/log/edgeplace --max-bytes 200MB\n"
        "  edgeplace flink collect --prometheus http://localhost:9090 --job telemetry "
        "--duration 1h\n"
        "  edgeplace flink collect --whisper /var/lib/graphite/whisper --job telemetry\n"
        "  edgeplace costs metrics --cluster cluster.yaml -o costs.json\n\n" + EXIT_CODES
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_rest_or_prometheus(parser)
    parser.add_argument(
        "--job",
        metavar="NAME_OR_ID",
        help="a name is waited for, and followed when the job is submitted again; an id means this "
        "run (default: this run of the only job); with --prometheus, a name means all its runs",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PLACE",
        default="metrics",
        help="a folder of files, continued if it is there, or one new file if it ends in .gz "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--interval",
        type=positive,
        metavar="S",
        help="seconds between polls (default: 10); not below Flink's own "
        "metrics.fetcher.update-interval. With --prometheus, seconds between points "
        "(default: 15); best is the interval of the scrapes",
    )
    parser.add_argument(
        "--duration",
        dest="duration_s",
        type=duration_s,
        metavar="TIME",
        help="such as 90s, 30m, 1h, 2d (default: until Ctrl-C; with --prometheus: 1h)",
    )
    parser.add_argument(
        "--max-bytes",
        type=_log_bytes,
        default="1GB",
        metavar="SIZE",
        help="of the log on disk, such as 200MB: of a folder the oldest files are then removed, "
        "one file ends there (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print a summary as JSON at the end")
    add_range_arguments(parser)


def _log_bytes(text: str) -> int:
    hit = re.fullmatch(r"([0-9]{1,15})\s*([kMGT]?)B?", text)
    size = int(hit[1]) * _BYTES[hit[2]] if hit else 0
    if size < _LEAST_LOG_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is no size of 1MB or more, such as 200MB, 1GB")
    return size


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Collect until the end, and summarise the log."""
    if args.prometheus is not None:
        return run_range(args, console)
    if args.whisper is not None:
        return run_whisper(args, console)
    check_not_polled(args)
    name = None if args.job is None or is_job_id(args.job) else args.job
    with session(args) as client, ended_like_ctrl_c():
        live = LiveFlink(client)
        job = followed_job(live, args.job)
        interval_s = polling_interval_s(live, args.interval or _INTERVAL_S)
        if args.interval and interval_s > args.interval:
            console.problem(
                f"polling every {interval_s:g} s, not every {args.interval:g} s: Flink renews its "
                "metrics no faster (metrics.fetcher.update-interval)"
            )
        with closing(_log(args)) as log, console.progress("connected") as bar:
            watcher = _Watcher(args, console, bar, log)
            done = collect(
                client,
                log,
                watcher,
                job=job,
                name=name,
                interval_s=interval_s,
                duration_s=args.duration_s,
            )
    if args.json:
        console.json(_as_json(done, log, args))
    else:
        _show(console, done, log, args)
    if done.polls:
        return ExitStatus.OK
    return ExitStatus.INTERRUPTED if done.end is CollectEnd.INTERRUPT else ExitStatus.UNREACHABLE


class _Watcher:
    """Prints progress on a terminal, and important events everywhere."""

    def __init__(
        self, args: argparse.Namespace, console: Console, bar: Bar, log: LogFile | LogFolder
    ) -> None:
        self._args = args
        self._console = console
        self._bar = bar
        self._log = log
        self._said_removal = False

    def say(self, text: str) -> None:
        self._console.problem(text)

    def polled(self, so_far: Collected) -> None:
        poll, job = so_far.last, so_far.job
        if poll is None or job is None:
            return
        if so_far.polls == 1 and not self._args.json:
            self._console.text(
                f"collecting job {job.name!r} ({job.id}) into {self._log.where}: "
                f"{poll.operators} operators, {poll.subtasks} subtasks, {poll.requests} requests "
                f"every {so_far.interval_s:g} s"
                + ("" if self._args.duration_s else "; Ctrl-C ends it")
            )
        removed = isinstance(self._log, LogFolder) and self._log.removed > 0
        if removed and not self._said_removal:
            self._said_removal = True
            self.say(f"{self._log.where} has reached --max-bytes: its oldest files go from now on")
        checkpoint = "none yet" if poll.checkpoint is None else f"{poll.checkpoint}"
        share = None
        if self._args.duration_s and so_far.from_ms and so_far.to_ms:
            share = (so_far.to_ms - so_far.from_ms) / 1000 / self._args.duration_s
        self._bar(
            f"polls {so_far.polls:,}, values {so_far.values:,}, {size(self._log.written_bytes)}, "
            f"last checkpoint {checkpoint}",
            share,
        )


def _log(args: argparse.Namespace) -> LogFile | LogFolder:
    kind = LogFile if args.output.endswith(".gz") else LogFolder
    return kind(args.output, args.max_bytes)


def _show(
    console: Console, done: Collected, log: LogFile | LogFolder, args: argparse.Namespace
) -> None:
    if done.end_reason:
        console.text(f"ended: {done.end_reason}")
    if not done.polls:
        console.problem("edgeplace flink collect: nothing was collected")
        return
    lasted_s = ((done.to_ms or 0) - (done.from_ms or 0)) / 1000
    console.text(
        f"collected {done.values:,} metric values in {_polls(done.polls)} and {lasted_s:,.0f} s: "
        f"{size(log.written_bytes)} in {log.where}"
    )
    if done.gaps:
        lost_s = sum((g.to_ms or g.from_ms) - g.from_ms for g in done.gaps) / 1000
        console.text(f"gaps: {len(done.gaps)}, {lost_s:,.0f} s in all")
    if len(done.jobs) > 1:
        console.text(
            f"the log holds {len(done.jobs)} runs of the job: say which to `edgeplace costs` with "
            "--job, a job graph of `edgeplace flink discover --job-out`"
        )
    console.command("measure: ", measuring(log.where, args))


def _polls(count: int) -> str:
    return f"{count:,} poll" + ("" if count == 1 else "s")


def _as_json(
    done: Collected, log: LogFile | LogFolder, args: argparse.Namespace
) -> dict[str, object]:
    return {
        "jobmanager": args.jobmanager,
        "log": str(log.where),
        "end": done.end.value,
        "end_reason": done.end_reason,
        "jobs": [{"id": i, "name": name} for i, name in done.jobs.items()],
        "interval_s": done.interval_s,
        "requests_per_poll": done.last.requests if done.last else None,
        "polls": done.polls,
        "values": done.values,
        "from_ms": done.from_ms,
        "to_ms": done.to_ms,
        "last_checkpoint": done.last.checkpoint if done.last else None,
        "written_bytes": log.written_bytes,
        "files": log.files,
        "removed_files": log.removed if isinstance(log, LogFolder) else 0,
        "gaps": [dataclasses.asdict(gap) for gap in done.gaps],
    }
