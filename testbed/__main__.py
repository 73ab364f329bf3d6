"""Command line of the testbed."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from edgeplace.control.rehearsal import read_rehearsal
from edgeplace.model import InvalidInputError
from testbed.brokers.kafka import kafka
from testbed.brokers.mqtt import FAULTS, mqtt
from testbed.errors import TestbedError
from testbed.experiments.headline import WAN_MBIT_PER_S, headline
from testbed.experiments.load_curve import Producer, of_trace, write_curve
from testbed.experiments.record_demo import POLL_SECONDS, WARM_UP_SECONDS, record
from testbed.experiments.soak import KILLS, MOVES, soak
from testbed.experiments.workloads import HEADLINE, WORKLOADS
from testbed.flink.home import FLINK_VERSION
from testbed.rehearsal.rehearse import rehearse
from testbed.up import down, run, run_jar, up
from testbed.world import Wan


def main() -> int:
    """Run the command given and return the exit code."""
    arguments = parse()
    try:
        return _run(arguments)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    except InvalidInputError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the words of a command line ask for; by default, those of this process.

    Raises
    ------
    SystemExit
        If they are no command of the testbed. The usage is on standard error.
    """
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the demo log (needs root)")
    recording.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl.gz")
    recording.add_argument("--seconds", type=_seconds, default=180.0, help="default: 180")
    recording.add_argument("--warm-up", type=_seconds, default=WARM_UP_SECONDS, metavar="SECONDS")
    soaking = commands.add_parser("soak", help="move a counting job about and kill what runs it")
    soaking.add_argument("--flink", default=FLINK_VERSION, metavar="VERSION")
    soaking.add_argument("--moves", type=int, default=MOVES)
    soaking.add_argument("--kills", type=int, default=KILLS, help="of TaskManagers")
    telling = commands.add_parser("mqtt", help="data born at the edge, and a site that is away")
    keeping = commands.add_parser("kafka", help="offsets in checkpoints, and replay (Kafka 0.9)")
    for reading in (telling, keeping):
        reading.add_argument("--flink", default=FLINK_VERSION, metavar="VERSION")
        reading.add_argument(
            "--away", type=_at_least_one, default=30, metavar="SECONDS", help="default: 30"
        )
        reading.add_argument(
            "--rate",
            type=_at_least_one,
            default=400,
            metavar="N",
            help="messages/s of a site; default: 400",
        )
    telling.add_argument(
        "--fault",
        choices=FAULTS,
        default="kill",
        help="a TaskManager is killed, a site's WAN is cut, or a broker is out of reach of its "
        "source; default: kill; the others need root",
    )
    heading = commands.add_parser("headline", help="does placement pay? (needs root)")
    heading.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="of the results")
    heading.add_argument(
        "--workloads",
        nargs="*",
        default=[],
        metavar="NAME",
        help=f"some of {', '.join(w.name for w in WORKLOADS)}; default: the first {len(HEADLINE)}",
    )
    heading.add_argument("--wan", type=float, nargs="*", default=WAN_MBIT_PER_S, metavar="MBIT/S")
    upping = commands.add_parser("up", help="a Flink over a WAN until Ctrl-C (needs root)")
    upping.add_argument("--wan", type=float, default=4.0, metavar="MBIT/S", help="default: 4")
    upping.add_argument("--delay", type=float, default=25.0, metavar="MS", help="default: 25")
    upping.add_argument("--jitter", type=float, default=0.0, metavar="MS", help="default: 0")
    upping.add_argument("--loss", type=float, default=0.0, metavar="SHARE", help="default: 0")
    running = commands.add_parser(
        "run", help="start a workload, or your job, in the Flink that is up"
    )
    running.add_argument("workload", nargs="?", choices=[w.name for w in WORKLOADS])
    running.add_argument(
        "--jar",
        type=Path,
        metavar="FILE",
        help="your own job: it is measured, placed by each policy, and watched",
    )
    running.add_argument(
        "--class",
        dest="main_class",
        metavar="NAME",
        help="its class with the main method; default: as the jar says",
    )
    running.add_argument(
        "--args",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="ARGUMENT",
        help="of its main method: all that follows",
    )
    running.add_argument(
        "--rate",
        help="of a workload: records/s of each source subtask, max, or a file with a curve; "
        "default: 500",
    )
    _add_curve(commands.add_parser("curve", help="write a load curve for `run --rate`"))
    rehearsing = commands.add_parser(
        "rehearse", help="let a schedule of failures happen to a job that is watched (needs root)"
    )
    rehearsing.add_argument("schedule", type=Path, metavar="SCHEDULE")
    rehearsing.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    commands.add_parser("down", help="take it down, and remove what a killed one has left")
    arguments = parser.parse_args(words)
    if arguments.command == "run":
        _check_run(running, arguments)
    return arguments


def _run(arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "record":
            record(arguments.out, arguments.seconds, arguments.warm_up)
        case "soak":
            return 0 if soak(arguments.flink, arguments.moves, arguments.kills) else 1
        case "mqtt":
            return (
                0 if mqtt(arguments.flink, arguments.fault, arguments.away, arguments.rate) else 1
            )
        case "kafka":
            return 0 if kafka(arguments.flink, arguments.away, arguments.rate) else 1
        case "headline":
            headline(arguments.out, arguments.workloads, arguments.wan)
        case "up":
            up(Wan(arguments.wan, arguments.delay, arguments.jitter, arguments.loss))
        case "run":
            if arguments.jar:
                run_jar(arguments.jar, arguments.main_class, arguments.args)
            else:
                run(arguments.workload, arguments.rate or "500")
        case "curve":
            _write_curve(arguments)
        case "rehearse":
            rehearse(read_rehearsal(arguments.schedule), arguments.out)
        case "down":
            down()
    return 0


def _add_curve(parser: argparse.ArgumentParser) -> None:
    """Add the options of a recorded load, and those of a producer in steps."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    parser.add_argument(
        "--seconds", type=_above_zero, default=600.0, help="duration of the curve; default: 600"
    )
    recorded = parser.add_argument_group("a recorded load")
    recorded.add_argument("--trace", type=Path, metavar="FILE.csv", help="times and loads")
    recorded.add_argument(
        "--peak", type=_above_zero, default=1000.0, help="largest rate, in records/s; default: 1000"
    )
    recorded.add_argument("--steps", action="store_true", help="each load holds until the next one")
    producer = parser.add_argument_group("a producer in steps, if no load is given")
    for name, default, meaning in (
        ("start", 100.0, "events of the first step"),
        ("max", 1000.0, "most events of a step"),
        ("low", 100.0, "least events of a step"),
        ("pause", 1.0, "seconds of a step"),
        ("change", 20.0, "seconds until the events of a step change"),
        ("growth", 0.05, "share by which they grow and then shrink"),
    ):
        producer.add_argument(
            f"--{name}", type=_above_zero, default=default, help=f"{meaning}; default: {default:g}"
        )


def _write_curve(arguments: argparse.Namespace) -> None:
    a = arguments
    if a.trace:
        points = of_trace(a.trace, a.seconds, a.peak, a.steps)
    else:
        steps = Producer(a.start, a.max, a.low, a.growth, a.pause, a.change)
        points = steps.curve(a.seconds)
    write_curve(points, a.out)


def _check_run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with the usage if a workload and a jar are mixed."""
    if (arguments.workload is None) == (arguments.jar is None):
        parser.error("say a workload or --jar FILE, one of the two")
    if arguments.jar and arguments.rate:
        parser.error("--rate is a workload's: your own job goes at its own rate")
    if arguments.workload and (arguments.main_class or arguments.args):
        parser.error("--class and --args belong to --jar")


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _above_zero(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("above 0")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if seconds < POLL_SECONDS:
        raise argparse.ArgumentTypeError(f"at least {POLL_SECONDS:.0f} seconds")
    return seconds


if __name__ == "__main__":
    # SIGTERM raises an exception, so that the cluster is taken down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
