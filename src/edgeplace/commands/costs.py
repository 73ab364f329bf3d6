"""`edgeplace costs`."""

import argparse
import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeplace.adapters.flink import load_job, schedulercfg
from edgeplace.case import what_if
from edgeplace.case.flushes import flushes
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.options import COSTS, add_project, duration_s
from edgeplace.cli.outputs import Outputs
from edgeplace.cli.quantities import count
from edgeplace.cli.signals import ended_like_ctrl_c
from edgeplace.model import (
    Cluster,
    Costs,
    EdgeplaceError,
    InvalidInputError,
    dump,
    needing,
    read,
)
from edgeplace.views.cpu_costs import show_doubt
from edgeplace.views.tables import show_costs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from edgeplace.spark_stats import Measurement, Quarantine

_SHOWN = 5
_COSTS, _QUARANTINE = "-o", "--quarantine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command, and its help."""
    parser.description = (
        "Turn metric logs into costs per operator and node class: true processing "
        "rate, selectivity, bytes, state. Reads edgeplace's metric log, Prometheus text and "
        "query_range JSON, Flink's slf4j reporter, InfluxDB line protocol, OpenTelemetry JSON "
        "lines and the flink-placement project's metrics JSON lines, each also gzipped; the format "
        "is found by content."
    )
    parser.epilog = (
        "examples:\n  edgeplace costs metrics.jsonl.gz --cluster cluster.yaml -o costs.json\n"
        "  edgeplace costs 's3a://logs/2026-11-*/' --master spark://spark:7077 \\\n"
        "    --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0\n"
        "  edgeplace costs metrics.0317.jsonl.gz --ledger ledger --cluster cluster.yaml --last 2h\n"
        "  edgeplace costs ledger --between 2026-11-01T08:00 2026-11-01T20:00"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOG",
        help="log files or folders of them; URIs and patterns that Spark reads (s3a://, hdfs://)",
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help="says on which class of node each TaskManager runs (default: that of edgeplace.yaml "
        "in the current folder)",
    )
    add_project(parser, COSTS)
    parser.add_argument("--job", metavar="FILE", help="the job graph, for logs that hold no plan")
    parser.add_argument(
        "--placement",
        metavar="SCHEDULERCFG",
        help="where the subtasks ran, for logs that do not say (needs --job and --cluster)",
    )
    parser.add_argument(
        "--rate",
        action="append",
        default=[],
        metavar="SOURCE=N",
        help="demand of a source in records/s, if the log shows it throttled",
    )
    parser.add_argument(
        "--flushes",
        action="append",
        default=[],
        metavar="OPERATOR=TIME[,records=N][,keys=N][,checkpoint=TIME]",
        help="a combiner or mini-batch sends what it has gathered each TIME, or after N records: "
        "from a log with three rates, its output at any rate (tumbling windows need no "
        "--flushes). keys: of one record; checkpoint: interval of checkpoints, if the log has none",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the costs (JSON or YAML; -: standard output)"
    )
    parser.add_argument(
        "--parquet", metavar="FOLDER", help="write the costs per operator and class as Parquet"
    )
    parser.add_argument(
        "--quarantine",
        metavar="FILE",
        help="write bad lines with file, line and reason (JSON lines)",
    )
    ledger = parser.add_argument_group(
        "ledger", "sums of closed segments of a log: costs of any time without the logs"
    )
    ledger.add_argument(
        "--ledger",
        metavar="FOLDER",
        help="add the logs to this ledger, each sample once; the costs are those of the ledger. "
        "Later, give the folder in place of a log",
    )
    window = ledger.add_mutually_exclusive_group()
    window.add_argument(
        "--last",
        type=duration_s,
        metavar="TIME",
        help="costs of the last 90s, 30m, 2h or 7d before the last sample",
    )
    window.add_argument(
        "--between",
        nargs=2,
        metavar=("FROM", "TO"),
        help="costs between two times, such as 2026-11-01T08:00 (UTC)",
    )
    spark = parser.add_argument_group(
        "Spark",
        "the default is no Spark for a log under 100 MB on this machine (a gzip file counts "
        "tenfold), and else Spark on this machine; the costs are the same",
    )
    place = spark.add_mutually_exclusive_group()
    place.add_argument(
        "--master",
        metavar="URL",
        help="a cluster: spark://HOST:PORT, k8s://https://HOST:PORT, yarn; local[*]: this machine",
    )
    place.add_argument("--remote", metavar="sc://HOST", help="a Spark Connect server")
    spark.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="K=V",
        help="a setting of Spark, such as spark.executor.memory=4g",
    )
    spark.add_argument(
        "--package-python",
        action="store_true",
        help="bring pyarrow along for workers that lack it (for damaged gzip files; they start it "
        "with their own Python, of the minor version of this one)",
    )
    parser.add_argument("--json", action="store_true", help="print the costs as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Measure, show, and write costs and quarantine."""
    if args.master or args.remote or args.ledger or args.parquet or args.package_python:
        # A small log needs less, whatever is missing: these need Spark in any case.
        with needing("spark"):
            import_module("pyspark")
    from edgeplace.spark_stats import costs_from_ledger, is_ledger, largest_doubt, measure

    outputs = Outputs(
        console,
        {_COSTS: args.output, _QUARANTINE: args.quarantine},
        (*args.logs, args.ledger, args.cluster, args.job, args.placement),
        args.json,
    )
    ledgers = [log for log in args.logs if is_ledger(log)]
    _refuse_mixed(args, ledgers)
    between_ms = _times_ms(*args.between) if args.between else None
    if args.parquet and Path(args.parquet).exists():
        raise InvalidInputError(
            f"--parquet {args.parquet}: exists already", "choose another folder, or remove it"
        )
    cluster = read(args.cluster, Cluster) if args.cluster else None
    job = load_job(args.job)[0] if args.job else None
    placement = None
    if args.placement:
        if job is None or cluster is None:
            raise InvalidInputError(
                "--placement names subtasks and TaskManagers of a job and a cluster",
                "give --job and --cluster too",
            )
        placement = schedulercfg.read(args.placement, job=job, cluster=cluster)
    if cluster is None:
        console.problem(
            "without --cluster all machines count as one class, 'default': the costs of a Pi and "
            "of a server are one mean"
        )
    rates = what_if.rates(args.rate, "--rate")
    case: dict[str, Any] = {
        "cluster": cluster,
        "job": job,
        "placement": placement,
        "rates": rates,
        "flushes": flushes(args.flushes, "--flushes"),
    }
    if ledgers or args.ledger:
        window = {"last_s": args.last, "between_ms": between_ms}
        costs = _from_ledger(args, console, partial(costs_from_ledger, **window, **case))
        outputs.document(_COSTS, costs)
    else:
        costs = _from_logs(args, console, outputs, partial(measure, **case))
    if args.json:
        console.raw(dump(costs))
        return ExitStatus.OK
    show_costs(console, costs)
    if doubt := largest_doubt(costs):
        show_doubt(console, doubt)
    outputs.say_written(_COSTS, "costs")
    return ExitStatus.OK


def _from_logs(
    args: argparse.Namespace,
    console: Console,
    outputs: Outputs,
    measure: "Callable[..., Measurement]",
) -> Costs:
    """Measure logs, and write costs, bad lines and Parquet."""
    # The JVM and its files end with the session.
    with ended_like_ctrl_c():
        with console.progress("reading the log") as report:
            session = _session(args)
            measured = measure(args.logs, spark=session, progress=report)
        # First of all, as what comes next can fail: it reads the log again, or writes elsewhere.
        outputs.document(_COSTS, measured.costs)
        try:
            if args.parquet:
                from edgeplace.spark_stats.parquet import write_parquet

                write_parquet(measured.costs, args.parquet, session)
            if args.quarantine:
                bad = map(dataclasses.asdict, measured.quarantine.lines())
                outputs.text(_QUARANTINE, (json.dumps(b, ensure_ascii=False) + "\n" for b in bad))
            _tell(measured.quarantine, console, bool(args.quarantine))
        except EdgeplaceError:
            outputs.say_written(_COSTS, "costs")
            raise
    return measured.costs


def _tell(bad_lines: "Quarantine", console: Console, kept: bool) -> None:
    """Say how many lines could not be read, and show the first ones."""
    if not len(bad_lines):
        return
    console.problem(f"{count(len(bad_lines))} bad lines were set aside, such as")
    for bad in islice(bad_lines.lines(), _SHOWN):
        console.problem(f"  {bad.file}:{bad.line}: {bad.reason}")
    if not kept:
        console.problem("  --quarantine FILE keeps them all")


def _from_ledger(
    args: argparse.Namespace,
    console: Console,
    costs_from_ledger: Callable[..., Costs],
) -> Costs:
    """Add the logs to the ledger, if there are any, and return the costs that it gives."""
    from edgeplace.spark_stats import add_to_ledger

    if args.ledger:
        with ended_like_ctrl_c(), console.progress("reading the log") as report:
            notes = add_to_ledger(args.ledger, args.logs, spark=_session(args), progress=report)
        for note in notes:
            console.problem(note)
    return costs_from_ledger(args.ledger or args.logs[0])


def _refuse_mixed(args: argparse.Namespace, ledgers: Sequence[str]) -> None:
    """Raise an error if logs and ledgers are mixed, or options for the ones and the others."""
    if ledgers and (args.ledger or len(args.logs) > 1):
        logs = [log for log in args.logs if log != ledgers[0]] or args.logs[1:]
        other = f"--ledger {args.ledger}" if args.ledger else logs[0]
        raise InvalidInputError(
            f"{ledgers[0]} is a ledger, and {other} stands beside it",
            "give one ledger alone, or logs and --ledger FOLDER, which adds them to that ledger",
        )
    if ledgers or args.ledger:
        wrong = {"--quarantine": args.quarantine, "--parquet": args.parquet}
        why = "of logs alone, and these costs come from a ledger"
        cure = "leave it out, or give the logs without --ledger"
    else:
        wrong = {"--last": args.last, "--between": args.between}
        why = f"of a ledger, and {args.logs[0]} is none"
        cure = "give the folder of a ledger; --ledger FOLDER makes one of logs"
    for option, value in wrong.items():
        if value:
            raise InvalidInputError(f"{option} is an option {why}", cure)


def _session(args: argparse.Namespace) -> "SparkSession | None":
    """Return the session that the options ask for; None: the log decides whether it needs one."""
    settings = _settings(args.conf)
    asked = args.master or args.remote or settings or args.parquet or args.package_python
    if not (asked or "PYSPARK_GATEWAY_PORT" in os.environ):
        return None
    from edgeplace.spark_stats import open_session

    return open_session(args.master, args.remote, settings, args.package_python)


def _times_ms(start: str, end: str) -> tuple[int, int]:
    """Return the times of `--between` as ms since the epoch."""
    times_ms = _instant_ms(start), _instant_ms(end)
    if times_ms[0] >= times_ms[1]:
        raise InvalidInputError(
            f"--between {start} {end}: the second time is not after the first one",
            "give the start, then the end",
        )
    return times_ms


def _instant_ms(text: str) -> int:
    """Return a time as ms since the epoch; UTC if it has no zone."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as e:
        raise InvalidInputError(
            f"--between {text!r} is no time", "write it like 2026-11-01T08:00"
        ) from e
    return int((instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() * 1000)


def _settings(given: list[str]) -> dict[str, str]:
    """Return Spark's settings from `K=V`."""
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise InvalidInputError(
                f"--conf {text!r} is no setting of Spark", "write it like spark.executor.memory=4g"
            )
        settings[key] = value
    return settings
